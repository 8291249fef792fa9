// SPDX-License-Identifier: GPL-2.0-only
/* Console, checks, host exceptions, TLBs, page tables, guests. */
#include "lvz.h"

#include <stdarg.h>

#define UART ((volatile u8 *)(WIN_DEVICE | 0x1fe001e0))
/* The sleep control register of the virt machine's ACPI device: S5 and go */
#define SLEEP_CTL ((volatile u8 *)(WIN_DEVICE | 0x100e001c))
#define SLEEP_S5 0x34

#define HEAP 0x1000000UL
#define HEAP_END 0x10000000UL

static int failures;
static const char *running;
static struct exception last_exc;
static int trying;
volatile u64 s2_misses, s2_last_badv;

void *memset(void *d, int c, u64 n)
{
	u8 *p = d;

	while (n--)
		*p++ = (u8)c;
	return d;
}

void *memcpy(void *d, const void *s, u64 n)
{
	u8 *p = d;
	const u8 *q = s;

	while (n--)
		*p++ = *q++;
	return d;
}

struct out {
	char *at, *end; /* the console when at is NULL */
};

static void put(struct out *o, char c)
{
	if (!o->at)
		*UART = (u8)c;
	else if (o->at < o->end)
		*o->at++ = c;
}

static void put_number(struct out *o, u64 v, u32 base)
{
	char digits[20];
	int n = 0;

	do {
		digits[n++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	while (n)
		put(o, digits[--n]);
}

/* %s %d %u %x with or without l */
static void format(struct out *o, const char *f, va_list ap)
{
	for (; *f; f++) {
		int is_long = 0;
		u64 v;

		if (*f != '%') {
			put(o, *f);
			continue;
		}
		if (*++f == 'l') {
			is_long = 1;
			f++;
		}
		if (*f == 's') {
			for (const char *s = va_arg(ap, const char *); *s; s++)
				put(o, *s);
			continue;
		}
		v = is_long ? va_arg(ap, u64) : *f == 'd' ? (u64)va_arg(ap, int) : va_arg(ap, u32);
		if (*f == 'd' && (long)v < 0) {
			put(o, '-');
			v = -v;
		}
		put_number(o, v, *f == 'x' ? 16 : 10);
	}
}

void print(const char *fmt, ...)
{
	struct out o = {0};
	va_list ap;

	va_start(ap, fmt);
	format(&o, fmt, ap);
	va_end(ap);
}

const char *name(const char *fmt, ...)
{
	static char buf[128];
	struct out o = {buf, buf + sizeof(buf) - 1};
	va_list ap;

	va_start(ap, fmt);
	format(&o, fmt, ap);
	va_end(ap);
	*o.at = 0;
	return buf;
}

_Noreturn void finish(void)
{
	print("%s %s\n", failures ? "FAIL" : "PASS", running);
	for (;;)
		*SLEEP_CTL = SLEEP_S5;
}

_Noreturn void fatal(const char *fmt, ...)
{
	struct out o = {0};
	va_list ap;

	va_start(ap, fmt);
	format(&o, fmt, ap);
	va_end(ap);
	print("\n");
	failures++;
	finish();
}

int check_eq(u64 found, u64 expected, const char *what, const char *file, int line)
{
	if (found == expected)
		return 1;
	print("%s:%d: %s: expected 0x%lx, found 0x%lx\n", file, line, what, expected, found);
	failures++;
	return 0;
}

void need_(int ok)
{
	if (!ok)
		finish();
}

u64 alloc(u64 size)
{
	static u64 next = HEAP;
	u64 p = (next + size - 1) & -size;

	if (p + size > HEAP_END)
		fatal("out of memory");
	next = p + size;
	memset(va(p), 0, size);
	return p;
}

/* Host exceptions */

void handle_host_exception(u64 vector)
{
	struct exception *e = &last_exc;

	e->vector = vector;
	e->estat = csrrd(CSR_ESTAT);
	e->ecode = vector == VEC_REFILL ? EC_REFILL : e->estat >> 16 & 0x3f;
	e->era = csrrd(CSR_ERA);
	e->badv = vector == VEC_REFILL ? csrrd(CSR_TLBRBADV) : csrrd(CSR_BADV);
	e->badi = csrrd(CSR_BADI);
	e->prmd = csrrd(CSR_PRMD);
	e->gstat = csrrd(CSR_GSTAT);
	e->count++;
	if (!trying)
		fatal("unexpected host exception: ecode 0x%lx ESTAT 0x%lx ERA 0x%lx BADV 0x%lx "
		      "BADI 0x%lx PRMD 0x%lx "
		      "GSTAT 0x%lx vector 0x%lx",
		      e->ecode, e->estat, e->era, e->badv, e->badi, e->prmd, e->gstat, vector);
	csrxchg(CSR_PRMD, 0, 3); /* goes on at PLV0: see lvz_needs_plv0 */
	if (e->ecode == EC_INT)
		csrxchg(CSR_PRMD, 0, PRMD_PIE); /* once is enough */
	else
		csrwr(CSR_ERA, e->era + 4);
}

void try_begin(void)
{
	memset(&last_exc, 0, sizeof(last_exc));
	trying = 1;
	asm volatile("" ::: "memory");
}

struct exception *caught(void)
{
	asm volatile("" ::: "memory");
	trying = 0;
	return &last_exc;
}

int host_insn_ecode(u32 word, u64 a0, u64 a1)
{
	try_begin();
	insn(word, a0, a1);
	return caught()->count ? (int)last_exc.ecode : -1;
}

/* TLBs */

void use_tgid(u32 gid)
{
	csrwr(CSR_GTLBC, GTLBC_USETGID | (u64)gid << GTLBC_TGID_SHIFT);
}

/* As the host: GTLBC is left with GID 0, as an exit of KVM's does. */
void tlb_write(enum bank b, const struct tlbe *e)
{
	u64 idx = e->index | (u64)e->ps << 24;

	use_tgid(e->gid);
	if (b == HOST) {
		csrwr(CSR_TLBIDX, idx);
		csrwr(CSR_TLBEHI, e->va);
		csrwr(CSR_TLBELO0, e->lo0);
		csrwr(CSR_TLBELO1, e->lo1);
		csrwr(CSR_ASID, e->asid);
		insn(TLBWR, 0, 0);
	} else {
		u64 asid = gcsrrd(CSR_ASID);

		gcsrwr(CSR_TLBRERA, 0);
		gcsrwr(CSR_TLBIDX, idx);
		gcsrwr(CSR_TLBEHI, e->va);
		gcsrwr(CSR_TLBELO0, e->lo0);
		gcsrwr(CSR_TLBELO1, e->lo1);
		gcsrwr(CSR_ASID, e->asid);
		insn(GTLBWR, 0, 0);
		gcsrwr(CSR_ASID, asid);
	}
	use_tgid(0);
}

void tlb_drop(enum bank b, u32 index)
{
	use_tgid(0);
	if (b == HOST) {
		csrwr(CSR_TLBIDX, 1UL << 31 | 12 << 24 | index);
		insn(TLBWR, 0, 0);
	} else {
		gcsrwr(CSR_TLBIDX, 1UL << 31 | 12 << 24 | index);
		insn(GTLBWR, 0, 0);
	}
}

int tlb_read(enum bank b, u32 index, struct tlbe *e)
{
	u64 idx, trgp;

	memset(e, 0, sizeof(*e));
	e->index = index;
	if (b == HOST) {
		csrwr(CSR_TLBIDX, index);
		insn(TLBRD, 0, 0);
		idx = csrrd(CSR_TLBIDX);
		e->va = csrrd(CSR_TLBEHI);
		e->lo0 = csrrd(CSR_TLBELO0);
		e->lo1 = csrrd(CSR_TLBELO1);
		e->asid = csrrd(CSR_ASID) & 0x3ff;
	} else {
		u64 asid = gcsrrd(CSR_ASID);

		gcsrwr(CSR_TLBIDX, index);
		insn(GTLBRD, 0, 0);
		idx = gcsrrd(CSR_TLBIDX);
		e->va = gcsrrd(CSR_TLBEHI);
		e->lo0 = gcsrrd(CSR_TLBELO0);
		e->lo1 = gcsrrd(CSR_TLBELO1);
		e->asid = gcsrrd(CSR_ASID) & 0x3ff;
		gcsrwr(CSR_ASID, asid);
	}
	trgp = csrrd(CSR_TRGP);
	e->gid = trgp >> 16 & 0xff;
	e->ps = idx >> 24 & 0x3f;
	return !(idx >> 31 & 1);
}

int tlb_search(enum bank b, u32 gid, u32 asid, u64 va)
{
	u64 idx;

	use_tgid(gid);
	if (b == HOST) {
		csrwr(CSR_ASID, asid);
		csrwr(CSR_TLBEHI, va);
		csrwr(CSR_TLBIDX, 0);
		insn(TLBSRCH, 0, 0);
		idx = csrrd(CSR_TLBIDX);
	} else {
		u64 old = gcsrrd(CSR_ASID);

		gcsrwr(CSR_ASID, asid);
		gcsrwr(CSR_TLBEHI, va);
		gcsrwr(CSR_TLBIDX, 0);
		insn(GTLBSRCH, 0, 0);
		idx = gcsrrd(CSR_TLBIDX);
		gcsrwr(CSR_ASID, old);
	}
	use_tgid(0);
	return idx >> 31 & 1 ? -1 : (int)(idx & 0xfff);
}

void s2_pair(u32 gid, u64 gpa, u64 lo0, u64 lo1, u32 way)
{
	struct tlbe e = {gpa & -0x2000UL, lo0, lo1, 12, 0, gid, stlb(gpa, way)};

	tlb_write(HOST, &e);
}

/* Only where it is missing: writing it again would drop what the emulator has cached, and hide what
 * the tests look for. */
void s2_image(u32 gid)
{
	struct tlbe e = {0, 0, 0x200000 | PTE_RW, 21, 0, gid, STLB_SIZE + gid}, there;

	if (!tlb_read(HOST, e.index, &there) || there.va != e.va || there.gid != gid ||
	    there.lo1 != e.lo1)
		tlb_write(HOST, &e);
}

/* Page tables */

static u64 zero_table;

static u64 new_table(u64 fill)
{
	u64 t = alloc(4096);

	for (int i = 0; i < 512; i++)
		write64(t + i * 8, fill);
	return t;
}

/* As Linux does: what is absent leads to a table of invalid PTEs. */
u64 pt_new(void)
{
	if (!zero_table)
		zero_table = alloc(4096);
	return new_table(new_table(zero_table));
}

u64 *pt_entry(u64 root, u64 a, int level)
{
	u64 none = read64(root + 511 * 8);
	u64 *p = (u64 *)va(root + (a >> 30 & 511) * 8);

	if (*p == none)
		*p = new_table(zero_table);
	p = (u64 *)va(*p + (a >> 21 & 511) * 8);
	if (level == 1)
		return p;
	if (*p == zero_table)
		*p = alloc(4096);
	return (u64 *)va(*p + (a >> 12 & 511) * 8);
}

/* Guests */

static u8 guest_stacks[3][8192] __attribute__((aligned(16)));

void guest_init_gid(struct vcpu *v, u32 gid, void *fn, u64 a0, u64 a1)
{
	memset(v, 0, sizeof(*v));
	v->gid = gid;
	v->pc = pa(fn);
	v->gpr[1] = pa(guest_done);
	v->gpr[3] = pa(guest_stacks[gid % 3] + sizeof(guest_stacks[0]));
	v->gpr[4] = a0;
	v->gpr[5] = a1;
	v->hprmd = PRMD_PIE;
	gcsrwr(CSR_CRMD, CRMD_DA);
	gcsrwr(CSR_PRMD, 0);
	gcsrwr(CSR_ECFG, 0);
	gcsrwr(CSR_EENTRY, pa(guest_exc));
	gcsrwr(CSR_TLBRENTRY, pa(guest_refill));
	gcsrwr(CSR_TLBRERA, 0);
	gcsrwr(CSR_PWCL, PWCL_4K);
	gcsrwr(CSR_PWCH, 0);
	gcsrwr(CSR_STLBPS, 12);
	s2_image(gid);
	csrwr(CSR_TLBRENTRY, pa(refill_exit));
}

void guest_init(struct vcpu *v, void *fn, u64 a0, u64 a1)
{
	guest_init_gid(v, 1, fn, a0, a1);
}

void guest_paging(struct vcpu *v)
{
	gcsrwr(CSR_DMW0, DMW_KERNEL);
	gcsrwr(CSR_DMW1, DMW_USER);
	gcsrwr(CSR_CRMD, CRMD_PG);
	gcsrwr(CSR_EENTRY, (u64)guest_exc);
	v->pc |= WIN_KERNEL;
	v->gpr[1] |= WIN_KERNEL;
	v->gpr[3] |= WIN_KERNEL;
}

void guest_user(struct vcpu *v)
{
	guest_paging(v);
	gcsrwr(CSR_CRMD, CRMD_PG | CRMD_PLV3);
	v->pc ^= WIN_KERNEL ^ WIN_USER;
	v->gpr[1] ^= WIN_KERNEL ^ WIN_USER;
	v->gpr[3] ^= WIN_KERNEL ^ WIN_USER;
}

u64 guest_run(struct vcpu *v)
{
	csrxchg(CSR_GSTAT, (u64)v->gid << GSTAT_GID_SHIFT, 0xffUL << GSTAT_GID_SHIFT);
	use_tgid(v->gid);
	csrwr(CSR_PGDL, v->s2_root);
	guest_enter(v);
	v->estat = csrrd(CSR_ESTAT);
	v->ecode = v->vector == VEC_REFILL ? EC_REFILL : v->estat >> 16 & 0x3f;
	v->esubcode = v->vector == VEC_REFILL ? 0 : v->estat >> 22 & 0x1ff;
	v->era = v->pc = csrrd(CSR_ERA);
	v->prmd = csrrd(CSR_PRMD);
	v->badv = v->vector == VEC_REFILL ? csrrd(CSR_TLBRBADV) : csrrd(CSR_BADV);
	v->badi = csrrd(CSR_BADI);
	use_tgid(0);
	if (v->ecode == EC_HVC || v->ecode == EC_GSPR)
		v->pc += 4;
	return v->ecode;
}

/* v->pc is guest_ertn: it follows the hvcl of guest_exc. */
void guest_skip_exc(void)
{
	gcsrwr(CSR_ERA, gcsrrd(CSR_ERA) + 4);
}

_Noreturn void guest_fatal(struct vcpu *v, const char *what)
{
	fatal("expected %s; found exit ecode 0x%lx subcode 0x%lx vector 0x%lx ERA 0x%lx BADV 0x%lx "
	      "BADI 0x%lx "
	      "ESTAT 0x%lx PRMD 0x%lx GSTAT 0x%lx a0 0x%lx ra 0x%lx; "
	      "guest CRMD 0x%lx ESTAT 0x%lx ERA 0x%lx BADV 0x%lx BADI 0x%lx TLBRERA 0x%lx TLBRBADV "
	      "0x%lx",
	      what, v->ecode, v->esubcode, v->vector, v->era, v->badv, v->badi, v->estat, v->prmd,
	      v->gstat, v->gpr[4], v->gpr[1], gcsrrd(CSR_CRMD), gcsrrd(CSR_ESTAT), gcsrrd(CSR_ERA),
	      gcsrrd(CSR_BADV), gcsrrd(CSR_BADI), gcsrrd(CSR_TLBRERA), gcsrrd(CSR_TLBRBADV));
}

void run_to_hvc(struct vcpu *v, u32 code)
{
	if (guest_run(v) != EC_HVC || v->badi != HVCL(code))
		guest_fatal(v, name("hvcl 0x%x", code));
}

void run_to_end(struct vcpu *v)
{
	run_to_hvc(v, 0);
}

void run_to_exc(struct vcpu *v, u32 ecode)
{
	run_to_hvc(v, HVC_EXC);
	if ((gcsrrd(CSR_ESTAT) >> 16 & 0x3f) != ecode)
		guest_fatal(v, name("guest exception 0x%x", ecode));
}

void run_to_exit(struct vcpu *v, u32 ecode)
{
	if (guest_run(v) != ecode)
		guest_fatal(v, name("exit with ecode 0x%x", ecode));
}

void walk_stage2(struct vcpu *v, u64 root)
{
	v->s2_root = root;
	csrwr(CSR_PWCL, PWCL_4K);
	csrwr(CSR_PWCH, 0);
	csrwr(CSR_TLBRENTRY, pa(refill_walk));
	s2_misses = 0;
}

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return !*a && (!*b || *b == ' ');
}

extern const struct test tests_begin[], tests_end[];

void main(u64 cmdline)
{
	const char *want = va(cmdline);

	csrwr(CSR_EENTRY, (u64)exc_vectors);
	csrwr(CSR_TLBRENTRY, pa(refill_exit));
	csrwr(CSR_ECFG, 0);
	csrwr(CSR_EUEN, 0);
	csrwr(KS_VCPU, 0);
	if (same("list", want)) {
		for (const struct test *t = tests_begin; (u64)t < (u64)tests_end; t++)
			print("%s\n", t->name);
		running = "list";
		finish();
	}
	for (const struct test *t = tests_begin; (u64)t < (u64)tests_end; t++)
		if (same(t->name, want)) {
			running = t->name;
			t->run();
			finish();
		}
	running = want;
	fatal("no such test");
}

u64 guest_load(u64 a)
{
	return *(volatile u64 *)a;
}

u64 guest_store(u64 a, u64 val)
{
	*(volatile u64 *)a = val;
	return *(volatile u64 *)a;
}

u64 guest_call(u64 fn)
{
	return ((u64(*)(void))fn)();
}
