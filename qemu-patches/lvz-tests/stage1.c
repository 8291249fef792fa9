// SPDX-License-Identifier: GPL-2.0-only
/* The first stage: a guest with its own page tables, TLB, windows and refill handler, on top of the
 * second stage. */
#include "lvz.h"

#define RET 0x4c000020 /* jr $ra */
#define GVA 0x10002000UL
#define GPA 0x40002000UL
#define TABLES 0x60000000UL /* where the guest's page tables are, guest-physical */

static u64 guest_load_forever(u64 a)
{
	for (;;)
		a = call(*(volatile u64 *)a);
}

static u64 data_pair(u64 val)
{
	u64 p = alloc(8192);

	write64(p, val);
	write64(p + 4096, val + 1);
	return p;
}

/* The guest's TLB entry for the pair GVA, and the host's for GPA. */
static void map1(u32 gid, u32 asid, u64 gva, u64 gpa, u64 flags, u32 way)
{
	struct tlbe e = {gva, gpa | flags, (gpa + 4096) | flags, 12, asid, gid, stlb(gva, way)};

	tlb_write(GUEST, &e);
}

static void map2(u32 gid, u64 gpa, u64 p, u64 flags)
{
	s2_pair(gid, gpa, p | flags, (p + 4096) | flags, 2);
}

static void init(struct vcpu *v, u32 gid, void *fn, u64 a0, u64 a1)
{
	guest_init_gid(v, gid, fn, a0, a1);
	guest_paging(v);
	gcsrwr(CSR_ASID, 0);
}

TEST(s1_hit)
{
	struct vcpu v;
	u64 p = data_pair(100);

	init(&v, 1, guest_load, GVA + 4096, 0);
	map1(1, 0, GVA, GPA, PTE_RW, 1);
	map2(1, GPA, p, PTE_RW);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 101, "value");
	init(&v, 1, guest_store, GVA, 0x99);
	run_to_end(&v);
	CHECK_EQ(read64(p), 0x99, "memory");
}

/* A miss of the first stage is the guest's own refill. */
TEST(s1_miss)
{
	struct vcpu v;
	u64 host_badv = csrrd(CSR_TLBRBADV);

	init(&v, 1, guest_load, GVA + 8, 0);
	gcsrwr(CSR_CRMD, CRMD_PG | CRMD_IE);
	run_to_hvc(&v, HVC_REFILL);
	CHECK_EQ(gcsrrd(CSR_TLBRBADV), GVA + 8, "guest TLBRBADV");
	CHECK_EQ(gcsrrd(CSR_TLBREHI) & 0xffffffffe000, GVA, "guest TLBREHI.VPPN");
	CHECK_EQ(gcsrrd(CSR_TLBRERA) & 1, 1, "guest ISTLBR");
	CHECK_EQ(gcsrrd(CSR_TLBRPRMD) & 7, PRMD_PIE, "guest TLBRPRMD");
	CHECK_EQ(gcsrrd(CSR_CRMD) & 0x1f, CRMD_DA, "guest CRMD");
	CHECK_EQ(csrrd(CSR_TLBRBADV), host_badv, "host TLBRBADV");
	CHECK_EQ(csrrd(CSR_TLBRERA) & 1, 0, "host ISTLBR");
	CHECK_EQ(v.crmd & 0x1f, CRMD_PG, "host CRMD at the exit");
	init(&v, 1, guest_load, GVA + 8, 0);
	guest_user(&v);
	run_to_hvc(&v, HVC_REFILL);
	CHECK_EQ(gcsrrd(CSR_TLBRPRMD) & 7, 3, "guest TLBRPRMD from PLV3");
	CHECK_EQ(gcsrrd(CSR_CRMD) & 0x1f, CRMD_DA, "guest CRMD from PLV3");
}

/* The guest's exceptions with entries: none of them leaves. */
static void check_s1_fault(void *fn, u64 at, u64 flags, u32 ecode, int user)
{
	struct vcpu v;
	u64 p = data_pair(100), host_badv;

	write64(p + 0x20, RET);
	init(&v, 1, fn, at, 1);
	if (user)
		guest_user(&v);
	map1(1, 0, GVA, GPA, flags, 1);
	map2(1, GPA, p, PTE_RW);
	csrwr(CSR_BADV, 0x555);
	host_badv = csrrd(CSR_BADV);
	run_to_exc(&v, ecode);
	CHECK_EQ(gcsrrd(CSR_BADV), at, "guest BADV");
	CHECK_EQ(gcsrrd(CSR_TLBEHI) & 0xffffffffe000, GVA, "guest TLBEHI.VPPN");
	CHECK_EQ(gcsrrd(CSR_TLBRERA) & 1, 0, "guest ISTLBR");
	CHECK_EQ(csrrd(CSR_BADV), host_badv, "host BADV");
	if (ecode != EC_PIF && ecode != EC_PNX)
		CHECK_EQ(gcsrrd(CSR_BADI), *(u32 *)va(pa((void *)gcsrrd(CSR_ERA))), "guest BADI");
}

TEST(s1_faults)
{
	check_s1_fault(guest_load, GVA + 8, PTE_CC, EC_PIL, 0);
	check_s1_fault(guest_store, GVA + 8, PTE_CC | PTE_D, EC_PIS, 0);
	check_s1_fault(guest_call, GVA + 0x20, PTE_CC | PTE_D, EC_PIF, 0);
	check_s1_fault(guest_store, GVA + 8, PTE_CC | PTE_V, EC_PME, 0);
	check_s1_fault(guest_load, GVA + 8, PTE_RW | PTE_NR, EC_PNR, 0);
	check_s1_fault(guest_call, GVA + 0x20, PTE_RW | PTE_NX, EC_PNX, 0);
	check_s1_fault(guest_load, GVA + 8, PTE_RW, EC_PPI, 1);
}

TEST(s1_address_error)
{
	struct vcpu v;

	init(&v, 1, guest_load, 0x1000000000000, 0);
	run_to_exc(&v, EC_ADE);
	CHECK_EQ(gcsrrd(CSR_BADV), 0x1000000000000, "guest BADV");
}

/* Both stages: the first is right, the second misses or faults. */
TEST(s1_over_s2_faults)
{
	struct vcpu v;
	u64 p = data_pair(100);

	init(&v, 1, guest_load, GVA + 4096 + 16, 0);
	map1(1, 0, GVA, GPA, PTE_RW, 1);
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, GPA + 4096 + 16, "TLBRBADV is the guest-physical address");
	map2(1, GPA, p, PTE_CC | PTE_D);
	run_to_exit(&v, EC_PIL);
	CHECK_EQ(v.badv, GPA + 4096 + 16, "BADV is the guest-physical address");
	CHECK_EQ(v.badi, *(u32 *)va(pa((void *)v.era)), "BADI");
	map2(1, GPA, p, PTE_RW);
	run_to_end(&v);
	init(&v, 1, guest_store, GVA + 16, 3);
	map2(1, GPA, p, PTE_CC | PTE_V);
	run_to_exit(&v, EC_PME);
	CHECK_EQ(v.badv, GPA + 16, "BADV");
	map2(1, GPA, p, PTE_RW);
	run_to_end(&v);
	CHECK_EQ(read64(p + 16), 3, "memory");
	/* A fetch at PLV3 through a page that only the guest's rights protect */
	write64(p + 0x20, 0x002b000b | 0x4c00002000000000); /* syscall 0xb */
	init(&v, 1, guest_call, GVA + 0x20, 0);
	guest_user(&v);
	map1(1, 0, GVA, GPA, PTE_RW | PTE_PLV3, 1);
	map2(1, GPA, p, PTE_CC);
	run_to_exit(&v, EC_PIF);
	CHECK_EQ(v.badv, GPA + 0x20, "BADV");
	CHECK_EQ(v.pc, GVA + 0x20, "ERA");
	map2(1, GPA, p, PTE_RW);
	run_to_exc(&v, EC_SYS);
	CHECK_EQ(gcsrrd(CSR_ERA), GVA + 0x20, "guest ERA");
}

TEST(s1_windows)
{
	struct vcpu v;
	u64 p = data_pair(100);

	init(&v, 1, guest_load, GPA | WIN_KERNEL, 0);
	map2(1, GPA, p, PTE_RW);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 100, "through a window");
	/* The host's device window is none of the guest. */
	init(&v, 1, guest_load, GPA | WIN_DEVICE, 0);
	run_to_exc(&v, EC_ADE);
	/* The guest's user window is none of the host. */
	try_begin();
	(void)*(volatile u64 *)(0x200000 | WIN_USER);
	CHECK_EQ(caught()->ecode, EC_ADE, "host access");
	init(&v, 1, guest_load, (GPA + 8192) | WIN_KERNEL, 0);
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, GPA + 8192, "TLBRBADV without the window");
	/* Direct address mode drops the upper bits, and does not look at the guest's TLB. */
	guest_init(&v, guest_load, GPA, 0);
	map1(1, 0, GPA, GPA + 0x10000, PTE_RW, 1);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 100, "in direct address mode");
}

/* Guest-physical addresses in windows of the guest after it changes them */
static void guest_change_window(u64 a)
{
	u64 val = *(volatile u64 *)a;

	call(val);
	csrwr(CSR_DMW2, 0);
	call(*(volatile u64 *)a);
}

TEST(s1_window_change)
{
	struct vcpu v;
	u64 p = data_pair(100);

	init(&v, 1, guest_change_window, GPA | 0xb000000000000000, 0);
	gcsrwr(CSR_DMW2, 0xb000000000000011);
	map2(1, GPA, p, PTE_RW);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100, "through the window");
	run_to_exc(&v, EC_ADE);
	/* By the host */
	init(&v, 1, guest_load_forever, GPA | 0xb000000000000000, 0);
	gcsrwr(CSR_DMW2, 0xb000000000000011);
	run_to_hvc(&v, HVC_CALL);
	v.gpr[4] = GPA | 0xb000000000000000;
	gcsrwr(CSR_DMW2, 0);
	run_to_exc(&v, EC_ADE);
}

/* Guest page tables at guest-physical addresses that are elsewhere in memory. */
struct tables {
	u64 gpa, pa; /* of a 64 KiB piece */
	u64 used;
};

static u64 guest_table(struct tables *t)
{
	u64 at = t->used;

	t->used += 4096;
	return at;
}

/* pgd at +0, one table of each lower level, for GVA's gigabyte. */
static void guest_map(struct tables *t, u64 gva, u64 pte)
{
	if (!t->pa) {
		t->pa = alloc(0x10000);
		t->gpa = TABLES;
		for (int i = 0; i < 3; i++)
			guest_table(t);
		for (int i = 0; i < 512; i++) {
			write64(t->pa + i * 8, t->gpa + 0x1000);
			write64(t->pa + 0x1000 + i * 8, t->gpa + 0x2000);
		}
	}
	write64(t->pa + 0x2000 + (gva >> 12 & 511) * 8, pte);
}

static void map_tables(struct tables *t)
{
	for (u64 o = 0; o < 0x4000; o += 0x2000)
		s2_pair(1, t->gpa + o, (t->pa + o) | PTE_RW, (t->pa + o + 4096) | PTE_RW, 5);
}

TEST(s1_refill_walk)
{
	static struct tables t;
	struct vcpu v;
	u64 p = data_pair(100);
	struct tlbe e;

	guest_map(&t, GVA, GPA | PTE_RW);
	guest_map(&t, GVA + 4096, (GPA + 4096) | PTE_RW);
	init(&v, 1, guest_load, GVA + 4096, 0);
	gcsrwr(CSR_TLBRENTRY, pa(guest_refill_walk));
	gcsrwr(CSR_PGDL, t.gpa);
	gcsrwr(CSR_ASID, 9);
	map_tables(&t);
	map2(1, GPA, p, PTE_RW);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 101, "value");
	CHECK(tlb_read(GUEST, (u32)tlb_search(GUEST, 1, 9, GVA), &e));
	CHECK_EQ(e.gid, 1, "GID of the guest's tlbfill");
	CHECK_EQ(e.asid, 9, "its ASID");
	CHECK_EQ(e.lo0, GPA | PTE_RW, "its TLBELO0");
	CHECK_EQ(tlb_search(HOST, 1, 9, GVA), -1UL, "nothing in the host's TLB");
	CHECK_EQ(tlb_search(HOST, 0, 9, GVA), -1UL, "nothing in the host's TLB");
	CHECK_EQ(gcsrrd(CSR_CRMD) & 0x1f, CRMD_PG, "guest CRMD after the refill's ertn");
}

/* lddir's and ldpte's own loads take the second stage: each may leave, inside the guest's refill.
 */
TEST(s1_refill_walk_leaves)
{
	static struct tables t;
	struct vcpu v;
	u64 p = data_pair(100);

	guest_map(&t, GVA, GPA | PTE_RW);
	init(&v, 1, guest_load, GVA, 0);
	gcsrwr(CSR_TLBRENTRY, pa(guest_refill_walk));
	gcsrwr(CSR_PGDL, t.gpa);
	run_to_exit(&v, EC_REFILL); /* lddir 2 */
	CHECK_EQ(v.badv, t.gpa + (GVA >> 30 & 511) * 8, "TLBRBADV of lddir 2");
	CHECK_EQ(*(u32 *)va(v.pc), 0x0640098c, "the word at TLBRERA is lddir");
	CHECK_EQ(gcsrrd(CSR_TLBRERA) & 1, 1, "guest ISTLBR");
	CHECK_EQ(gcsrrd(CSR_TLBRBADV), GVA, "guest TLBRBADV");
	s2_pair(1, t.gpa, t.pa | PTE_RW, PTE_CC, 5); /* and the middle table absent */
	run_to_exit(&v, EC_PIL);
	CHECK_EQ(v.badv, t.gpa + 0x1000 + (GVA >> 21 & 511) * 8, "BADV of lddir 1");
	s2_pair(1, t.gpa, t.pa | PTE_RW, (t.pa + 4096) | PTE_RW, 5);
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, t.gpa + 0x2000 + (GVA >> 12 & 511) * 8, "TLBRBADV of ldpte");
	map_tables(&t);
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, GPA, "TLBRBADV of the load itself");
	CHECK_EQ(gcsrrd(CSR_TLBRERA) & 1, 0, "guest ISTLBR");
	map2(1, GPA, p, PTE_RW);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 100, "value");
}

/* The same, the host's handler being an ordinary one whose ertn lands in the guest's refill handler
 */
TEST(s1_refill_in_s2_refill)
{
	static struct tables t;
	struct vcpu v;
	u64 root = pt_new(), p = data_pair(100);

	guest_map(&t, GVA, GPA | PTE_RW);
	for (u64 o = 0; o < 0x4000; o += 0x1000)
		pt_map(root, t.gpa + o, (t.pa + o) | PTE_RW);
	pt_map(root, GPA, p | PTE_RW);
	init(&v, 1, guest_load, GVA, 0);
	gcsrwr(CSR_TLBRENTRY, pa(guest_refill_walk));
	gcsrwr(CSR_PGDL, t.gpa);
	walk_stage2(&v, root);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 100, "value");
	CHECK_EQ(s2_misses, 3, "second-stage misses: two pairs of tables, the data");
	CHECK_EQ(s2_last_badv, GPA, "the last one");
}

TEST(s1_huge_page)
{
	struct vcpu v;
	u64 p = alloc(0x200000);
	struct tlbe e = {0x20000000, 0x80000000 | PTE_RW, 0x80200000 | PTE_RW, 21, 0,
			 1,	     STLB_SIZE + 3};

	write64(p + 0x12348, 0x333);
	init(&v, 1, guest_load, 0x20212348, 0);
	tlb_write(GUEST, &e);
	/* 2 MiB of the first stage on 4 KiB of the second */
	s2_pair(1, 0x80212000, (p + 0x12000) | PTE_RW, (p + 0x13000) | PTE_RW, 2);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 0x333, "huge on small");
	init(&v, 1, guest_load, 0x20214348, 0);
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, 0x80214348, "TLBRBADV: the next small pair");
}

/* A huge page of the guest's page table, through its lddir and ldpte. */
TEST(s1_huge_pte)
{
	static struct tables t;
	struct vcpu v;
	u64 p = alloc(0x200000);
	struct tlbe e2 = {0x80000000, 0, p | PTE_RW, 21, 0, 1, STLB_SIZE + 9}, e;

	write64(p + 0x123458, 0x444);
	guest_map(&t, GVA, 0);
	write64(t.pa + 0x1000 + (GVA >> 21 & 511) * 8,
		0x80200000 | PTE_RW | PTE_HUGE | PTE_HGLOBAL);
	init(&v, 1, guest_load, (GVA & -0x200000UL) + 0x123458, 0);
	gcsrwr(CSR_TLBRENTRY, pa(guest_refill_walk));
	gcsrwr(CSR_PGDL, t.gpa);
	map_tables(&t);
	tlb_write(HOST, &e2);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 0x444, "value");
	CHECK(tlb_read(GUEST, (u32)tlb_search(GUEST, 1, 55, GVA), &e));
	CHECK_EQ(e.ps, 20, "page size");
	CHECK_EQ(e.lo0, 0x80200000 | PTE_RW | PTE_G, "TLBELO0");
	CHECK_EQ(e.lo1, 0x80300000 | PTE_RW | PTE_G, "TLBELO1");
}

TEST(s1_asid_and_g)
{
	struct vcpu v;
	u64 p = data_pair(100);

	map2(1, GPA, p, PTE_RW);
	init(&v, 1, guest_load_forever, GVA, 0);
	map1(1, 5, GVA, GPA, PTE_RW, 1);
	map1(1, 5, GVA + 0x10000, GPA, PTE_RW | PTE_G, 1);
	gcsrwr(CSR_ASID, 5);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100, "with the ASID");
	v.gpr[4] = GVA;
	gcsrwr(CSR_ASID, 6);
	run_to_hvc(&v, HVC_REFILL);
	/* back: a change of ASID drops nothing */
	init(&v, 1, guest_load_forever, GVA, 0);
	gcsrwr(CSR_ASID, 5);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100, "with the ASID again");
	init(&v, 1, guest_load_forever, GVA + 0x10000, 0);
	gcsrwr(CSR_ASID, 6);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100, "a global page with another ASID");
}

static void guest_switch_asid(u64 a)
{
	u64 x = *(volatile u64 *)a, y;

	csrwr(CSR_ASID, 6);
	y = *(volatile u64 *)a;
	csrwr(CSR_ASID, 5);
	call(x << 32 | y << 16 | *(volatile u64 *)a);
}

/* The guest's own switch of its ASID, without any exit. */
TEST(s1_guest_switches_asid)
{
	struct vcpu v;
	u64 p = data_pair(100), q = data_pair(200);

	map2(1, GPA, p, PTE_RW);
	map2(1, GPA + 0x4000, q, PTE_RW);
	init(&v, 1, guest_switch_asid, GVA, 0);
	map1(1, 5, GVA, GPA, PTE_RW, 1);
	map1(1, 6, GVA, GPA + 0x4000, PTE_RW, 2);
	gcsrwr(CSR_ASID, 5);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100UL << 32 | 200 << 16 | 100, "ASIDs 5, 6, 5");
}

TEST(s1_gid_change_hides)
{
	struct vcpu v;
	u64 p = data_pair(100);

	/* Global in GID 1 is not global over GIDs. */
	init(&v, 1, guest_load, GVA, 0);
	map1(1, 0, GVA, GPA, PTE_RW | PTE_G, 1);
	map2(1, GPA, p, PTE_RW);
	map2(2, GPA + 0x2000, p, PTE_RW);
	run_to_end(&v);
	init(&v, 2, guest_load, GVA, 0);
	run_to_hvc(&v, HVC_REFILL);
	CHECK_EQ(gcsrrd(CSR_TLBRBADV), GVA, "guest TLBRBADV in GID 2");
	init(&v, 2, guest_load, GVA, 0);
	map1(2, 0, GVA, GPA + 0x2000, PTE_RW, 2);
	run_to_end(&v);
	init(&v, 1, guest_load, GVA, 0);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 100, "GID 1's entry is still there");
	init(&v, 3, guest_load, GVA, 0);
	run_to_hvc(&v, HVC_REFILL);
}

/* As s2_retention, one stage up: the guest's page table changes, nobody flushes. */
TEST(s1_retention)
{
	static struct tables t;
	struct vcpu v, other;
	u64 p = data_pair(100), q = data_pair(200);

	guest_map(&t, GVA, GPA | PTE_RW);
	init(&other, 2, guest_load_forever, 0x200000 | WIN_KERNEL, 0);
	init(&v, 1, guest_load_forever, GVA, 0);
	gcsrwr(CSR_TLBRENTRY, pa(guest_refill_walk));
	gcsrwr(CSR_PGDL, t.gpa);
	map_tables(&t);
	map2(1, GPA, p, PTE_RW);
	map2(1, GPA + 0x4000, q, PTE_RW);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100, "first");
	guest_map(&t, GVA, (GPA + 0x4000) | PTE_RW);
	v.gpr[4] = GVA;
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100, "after an exit");
	run_to_hvc(&other, HVC_CALL);
	v.gpr[4] = GVA;
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100, "after another guest");
	gcsrwr(CSR_ASID, 5);
	gcsrwr(CSR_ASID, 0);
	insn(INVTLB(0), 0, 0);			   /* the host's own flush */
	insn(INVTLB(0x16), 1 << 16, GPA + 0x8000); /* of another page */
	insn(INVTLB(0x9), 2 << 16, 0);		   /* of another guest */
	v.gpr[4] = GVA;
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100, "after other flushes");
	insn(INVTLB(0x9), 1 << 16, 0);
	v.gpr[4] = GVA;
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 200, "after the flush");
}

/* With both in the emulator's cache, a dropped second-stage entry must not live on under a
 * first-stage translation. */
TEST(s1_sees_s2_drop)
{
	struct vcpu v;
	u64 p = data_pair(100), q = data_pair(200);

	init(&v, 1, guest_load_forever, GVA, 0);
	map1(1, 0, GVA, GPA, PTE_RW, 1);
	map2(1, GPA, p, PTE_RW);
	run_to_hvc(&v, HVC_CALL);
	insn(INVTLB(0x16), 1 << 16, GPA);
	v.gpr[4] = GVA;
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, GPA, "TLBRBADV");
	map2(1, GPA, q, PTE_RW);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 200, "the new page");
	/* Pushed out by another entry */
	map2(1, GPA + 0x200000, q, PTE_RW);
	v.gpr[4] = GVA;
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, GPA, "TLBRBADV");
}

/* tlbwr in the guest over an entry of its own, by itself and by the host's gtlbwr */
static void guest_overwrite(u64 a, u64 lo0, u64 index)
{
	u64 x = *(volatile u64 *)a, y;

	csrwr(CSR_TLBIDX, index | 12 << 24);
	csrwr(CSR_TLBEHI, a);
	csrwr(CSR_TLBELO0, lo0);
	csrwr(CSR_TLBELO1, lo0);
	insn(TLBWR, 0, 0);
	y = *(volatile u64 *)a;
	call(x << 16 | y);
}

TEST(s1_overwrite)
{
	struct vcpu v;
	u64 p = data_pair(100), q = data_pair(200);

	map2(1, GPA, p, PTE_RW);
	map2(1, GPA + 0x4000, q, PTE_RW);
	init(&v, 1, guest_overwrite, GVA, (GPA + 0x4000) | PTE_RW);
	v.gpr[6] = stlb(GVA, 1);
	map1(1, 0, GVA, GPA, PTE_RW, 1);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100 << 16 | 200, "before and after the guest's tlbwr");
	init(&v, 1, guest_load_forever, GVA, 0);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 200, "before the host's gtlbwr");
	map1(1, 0, GVA, GPA, PTE_RW, 1);
	v.gpr[4] = GVA;
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100, "after it");
	map1(1, 0, GVA + 0x200000, GPA, PTE_RW, 1); /* the same index, another address */
	v.gpr[4] = GVA;
	run_to_hvc(&v, HVC_REFILL);
}

/* The guest's tlbsrch and tlbrd see what gtlbwr wrote, and its tlbwr what gtlbrd reads; with its
 * GID only. */
static void guest_search(u64 a)
{
	csrwr(CSR_TLBEHI, a);
	insn(TLBSRCH, 0, 0);
	call(csrrd(CSR_TLBIDX));
	insn(TLBRD, 0, 0);
	call(csrrd(CSR_TLBELO0));
}

static void guest_read_entry(u64 index)
{
	csrwr(CSR_TLBIDX, index);
	insn(TLBRD, 0, 0);
	call(csrrd(CSR_TLBIDX));
	call(csrrd(CSR_TLBELO0));
}

TEST(s1_guest_tlbsrch)
{
	struct vcpu v;

	init(&v, 1, guest_search, GVA, 0);
	map1(1, 0, GVA, GPA, PTE_RW, 4);
	map1(2, 0, GVA + 0x4000, GPA, PTE_RW, 4);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4] & 0x80000fff, stlb(GVA, 4), "guest TLBIDX");
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], GPA | PTE_RW, "guest TLBELO0");
	init(&v, 1, guest_search, GVA + 0x4000, 0);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4] >> 31 & 1, 1, "NE for GID 2's entry");
	init(&v, 1, guest_read_entry, stlb(GVA + 0x4000, 4), 0);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4] >> 31 & 1, 1, "NE of the guest's tlbrd of GID 2's entry");
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 0, "its TLBELO0");
}

/* gtlbclr: the set or the MTLB, G=0 and the guest's ASID, this GID; gtlbflush: without looking at G
 * and ASID. */
TEST(gtlbclr_gtlbflush)
{
	static const struct tlbe set[] = {
		{GVA, PTE_RW, PTE_RW, 12, 5, 1, 0},
		{GVA + 0x200000, PTE_RW, PTE_RW, 12, 6, 1, 1},
		{GVA + 0x400000, PTE_RW | PTE_G, PTE_RW | PTE_G, 12, 5, 1, 2},
		{GVA + 0x2000, PTE_RW, PTE_RW, 12, 5, 1, 3}, /* another set */
		{0x20000000, PTE_RW, PTE_RW, 21, 5, 1, STLB_SIZE + 5},
		{0x21000000, PTE_RW | PTE_G, PTE_RW | PTE_G, 21, 5, 1, STLB_SIZE + 6},
		{0x22000000, PTE_RW, PTE_RW, 21, 5, 2, STLB_SIZE + 7}, /* another GID */
	};
	struct tlbe e, r;

	for (int mtlb = 0; mtlb < 2; mtlb++)
		for (int flush = 0; flush < 2; flush++) {
			for (u32 i = 0; i < 7; i++) {
				e = set[i];
				if (i < 4)
					e.index = stlb(e.va, e.index);
				tlb_write(GUEST, &e);
				tlb_write(HOST, &e);
			}
			use_tgid(1);
			gcsrwr(CSR_ASID, 5);
			gcsrwr(CSR_TLBIDX, mtlb ? STLB_SIZE : stlb(GVA, 0));
			insn(flush ? GTLBFLUSH : GTLBCLR, 0, 0);
			for (u32 i = 0; i < 7; i++) {
				int hit = (i >= 4) == mtlb && i != 3 && (set[i].gid == 1) &&
					  (flush || (!(set[i].lo0 & PTE_G) && set[i].asid == 5));
				u32 index = i < 4 ? stlb(set[i].va, set[i].index) : set[i].index;

				CHECK_EQ(tlb_read(GUEST, index, &r), !hit,
					 name("mtlb %d flush %d: entry %d is there", mtlb, flush,
					      i));
				CHECK_EQ(tlb_read(HOST, index, &r), 1,
					 name("host entry %d is there", i));
			}
		}
}

TEST(gtlbfill)
{
	struct tlbe r;
	int index;

	use_tgid(7);
	gcsrwr(CSR_TLBRERA, 0);
	gcsrwr(CSR_STLBPS, 12);
	gcsrwr(CSR_ASID, 3);
	gcsrwr(CSR_TLBIDX, 12 << 24);
	gcsrwr(CSR_TLBEHI, GVA);
	gcsrwr(CSR_TLBELO0, GPA | PTE_RW);
	gcsrwr(CSR_TLBELO1, 0);
	insn(GTLBFILL, 0, 0);
	index = tlb_search(GUEST, 7, 3, GVA);
	NEED_EQ(index >= 0, 1, "found");
	CHECK_EQ((u32)index & 255, GVA >> 13 & 255, "set");
	CHECK(tlb_read(GUEST, (u32)index, &r));
	CHECK_EQ(r.gid, 7, "GID");
	CHECK_EQ(tlb_search(GUEST, 1, 3, GVA), -1UL, "not for GID 1");
	CHECK_EQ(tlb_search(GUEST, 7, 4, GVA), -1UL, "not for ASID 4");
	CHECK_EQ(tlb_search(HOST, 7, 3, GVA), -1UL, "not in the host's TLB");
}

/* The upper half of the guest's addresses: CSR PGD is its PGDH. */
#define HIGH 0xffffe00010002000UL

TEST(s1_upper_half)
{
	static struct tables t;
	struct vcpu v;
	u64 p = data_pair(100);

	guest_map(&t, HIGH, GPA | PTE_RW);
	init(&v, 1, guest_load, HIGH, 0);
	gcsrwr(CSR_TLBRENTRY, pa(guest_refill_walk));
	gcsrwr(CSR_PGDL, 0x7000000);
	gcsrwr(CSR_PGDH, t.gpa);
	csrwr(CSR_PGDH, 0x6000000);
	map_tables(&t);
	map2(1, GPA, p, PTE_RW);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 100, "value");
	gcsrwr(CSR_BADV, HIGH);
	CHECK_EQ(gcsrrd(CSR_PGD), t.gpa, "guest PGD for the upper half");
	gcsrwr(CSR_BADV, GVA);
	CHECK_EQ(gcsrrd(CSR_PGD), 0x7000000, "guest PGD for the lower half");
}

static void guest_fill(u64 a, u64 lo0, u64 lo1)
{
	csrwr(CSR_TLBIDX, 14 << 24);
	csrwr(CSR_TLBEHI, a);
	csrwr(CSR_TLBELO0, lo0);
	csrwr(CSR_TLBELO1, lo1);
	insn(TLBFILL, 0, 0);
	call(*(volatile u64 *)(a + 0x3ff8));
	call(*(volatile u64 *)(a + 0x4000));
}

/* The page size of the guest's STLB is its own. */
TEST(s1_pages_of_16k)
{
	struct vcpu v;
	u64 gva = 0x10008000, p = alloc(32768);
	u64 gpa = 0x80000000 + (p & 0x1fffff);
	struct tlbe e2 = {0x80000000, (p & -0x200000UL) | PTE_RW, 0, 21, 0, 1, STLB_SIZE + 9}, r;
	int index;

	write64(p + 0x3ff8, 1);
	write64(p + 0x4000, 2);
	init(&v, 1, guest_fill, gva, gpa | PTE_RW);
	v.gpr[6] = (gpa + 0x4000) | PTE_RW;
	gcsrwr(CSR_STLBPS, 14);
	CHECK_EQ(csrrd(CSR_STLBPS), 12, "host STLBPS");
	tlb_write(HOST, &e2);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 1, "even page");
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 2, "odd page");
	index = tlb_search(GUEST, 1, 0, gva);
	CHECK_EQ((u64)index < STLB_SIZE, 1, "tlbfill chose the STLB");
	CHECK_EQ((u32)index & 255, gva >> 15 & 255, "its set");
	CHECK(tlb_read(GUEST, (u32)index, &r));
	CHECK_EQ(r.ps, 14, "page size");
}
