// SPDX-License-Identifier: GPL-2.0-only
/* Floating point and vectors: a unit works in the guest when guest EUEN and host EUEN have it. */
#include "lvz.h"

extern char guest_fp[], guest_fp_divide[], guest_lsx[], guest_lasx[], units_load_d[],
	units_save_d[], units_load_v[], units_save_v[], units_load_x[], units_save_x[];

static const struct unit {
	const char *name;
	u64 euen;
	u32 ecode, width;
} units[] = {
	{"FP", EUEN_FPE, EC_FPD, 8},
	{"LSX", EUEN_FPE | EUEN_SXE, EC_SXD, 16},
	{"LASX", EUEN_FPE | EUEN_SXE | EUEN_ASXE, EC_ASXD, 32},
};
#define LAST(u) ((u)->euen & ~((u)->euen >> 1)) /* the unit's own bit */

static void *code(u32 i)
{
	return i == 0 ? guest_fp : i == 1 ? guest_lsx : guest_lasx;
}

/* 1.5 doubled is 3.0; as an integer, bits shifted by one */
#define IN 0x3ff8000000000000UL
static u64 out(u32 i)
{
	return i == 0 ? 0x4008000000000000UL : IN * 2;
}

TEST(euen_guest_off)
{
	struct vcpu v;

	for (u32 host = 0; host < 2; host++)
		for (u32 i = 0; i < 3; i++) {
			const struct unit *u = &units[i];

			/* The guest's decision comes first, whatever the host's. */
			csrwr(CSR_EUEN, host ? 7 : 0);
			guest_init(&v, code(i), IN, 0);
			gcsrwr(CSR_EUEN, u->euen & ~LAST(u));
			run_to_exc(&v, u->ecode);
			CHECK_EQ(gcsrrd(CSR_ERA), pa(code(i)), "guest ERA");
			CHECK_EQ(gcsrrd(CSR_BADI), *(u32 *)code(i), "guest BADI");
			/* What its handler does */
			csrwr(CSR_EUEN, 7);
			gcsrwr(CSR_EUEN, u->euen);
			v.pc = pa(guest_ertn);
			run_to_end(&v);
			CHECK_EQ(v.gpr[4], out(i), u->name);
		}
	csrwr(CSR_EUEN, 0);
}

/* KVM's lazy load of the units: the first use leaves, and is done again. */
TEST(euen_host_off)
{
	struct vcpu v;

	for (u32 i = 0; i < 3; i++) {
		const struct unit *u = &units[i];

		csrwr(CSR_EUEN, u->euen & ~LAST(u));
		guest_init(&v, code(i), IN, 0);
		gcsrwr(CSR_EUEN, u->euen);
		run_to_exit(&v, u->ecode);
		CHECK_EQ(v.pc, pa(code(i)), "ERA");
		CHECK_EQ(v.badi, *(u32 *)code(i), "BADI");
		CHECK_EQ(v.gstat & GSTAT_PVM, GSTAT_PVM, "PVM");
		CHECK_EQ(gcsrrd(CSR_EUEN), u->euen, "guest EUEN");
		csrwr(CSR_EUEN, u->euen);
		run_to_end(&v);
		CHECK_EQ(v.gpr[4], out(i), u->name);
		/* And away again: what the emulator translated with it on is no reason to go on. */
		csrwr(CSR_EUEN, u->euen & ~LAST(u));
		guest_init(&v, code(i), IN, 0);
		run_to_exit(&v, u->ecode);
	}
	csrwr(CSR_EUEN, 0);
}

TEST(euen_both_on)
{
	struct vcpu v;

	csrwr(CSR_EUEN, 7);
	for (u32 i = 0; i < 3; i++) {
		guest_init(&v, code(i), IN, 0);
		gcsrwr(CSR_EUEN, 7);
		run_to_end(&v);
		CHECK_EQ(v.gpr[4], out(i), units[i].name);
	}
	csrwr(CSR_EUEN, 0);
}

/* The host's own use asks only the host's. */
TEST(euen_of_host)
{
	gcsrwr(CSR_EUEN, 7);
	csrwr(CSR_EUEN, 0);
	CHECK_EQ(host_insn_ecode(*(u32 *)guest_fp, IN, 0), EC_FPD, "FP in the host, off");
	gcsrwr(CSR_EUEN, 0);
	csrwr(CSR_EUEN, 7);
	CHECK_EQ(((u64(*)(u64))guest_fp)(IN), out(0), "FP in the host, on");
	CHECK_EQ(((u64(*)(u64))guest_lasx)(IN), out(2), "LASX in the host, on");
	csrwr(CSR_EUEN, 0);
}

/* A guest that turns its own unit on and goes on in the same run */
static void guest_turn_on(u64 a)
{
	csrwr(CSR_EUEN, 1);
	call(((u64(*)(u64))guest_fp)(a));
	csrwr(CSR_EUEN, 0);
	((u64(*)(u64))guest_fp)(a);
}

TEST(euen_by_guest)
{
	struct vcpu v;

	csrwr(CSR_EUEN, 1);
	guest_init(&v, guest_turn_on, IN, 0);
	gcsrwr(CSR_EUEN, 0);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], out(0), "result");
	CHECK_EQ(csrrd(CSR_EUEN), 1, "host EUEN");
	run_to_exc(&v, EC_FPD);
	csrwr(CSR_EUEN, 0);
}

struct regs {
	u64 reg[32][4], fcc[8], fcsr;
} __attribute__((aligned(32)));

/* The guest loads all registers, leaves, and stores what it finds. */
static void guest_keep(u64 load, u64 save, const struct regs *from, struct regs *to)
{
	((void (*)(const struct regs *))load)(from);
	for (;;) {
		call(0);
		((void (*)(struct regs *))save)(to);
		call(1);
	}
}

static struct regs in[2], got[2], ctx[2];

static void pattern(struct regs *r, u64 seed)
{
	for (int i = 0; i < 32; i++)
		for (int j = 0; j < 4; j++)
			r->reg[i][j] = seed * 0x0101010101010101UL +
				       (u64)(i * 4 + j) * 0x0001000200030004UL;
	for (int i = 0; i < 8; i++)
		r->fcc[i] = (seed >> i) & 1;
	r->fcsr = seed & 1 ? 0x100 : 0x200; /* rounding mode */
}

static void check_regs(const struct regs *found, const struct regs *expected, u32 width,
		       const char *what)
{
	for (u32 i = 0; i < 32; i++)
		for (u32 j = 0; j < width / 8; j++)
			CHECK_EQ(found->reg[i][j], expected->reg[i][j],
				 name("%s: register %u, part %u", what, i, j));
	for (u32 i = 0; i < 8; i++)
		CHECK_EQ(found->fcc[i], expected->fcc[i], name("%s: fcc%u", what, i));
	CHECK_EQ(found->fcsr, expected->fcsr, name("%s: fcsr0", what));
}

static void *load_of(u32 i)
{
	return i == 0 ? units_load_d : i == 1 ? units_load_v : units_load_x;
}

static void *save_of(u32 i)
{
	return i == 0 ? units_save_d : i == 1 ? units_save_v : units_save_x;
}

static void init_keep(struct vcpu *v, u32 gid, u32 i)
{
	guest_init_gid(v, gid, guest_keep, pa(load_of(i)), pa(save_of(i)));
	v->gpr[6] = pa(&in[gid - 1]);
	v->gpr[7] = pa(&got[gid - 1]);
	gcsrwr(CSR_EUEN, 7);
}

/* Exits of all kinds, and the unit off and on in between. */
TEST(fp_registers_survive_exits)
{
	struct vcpu v;

	for (u32 i = 0; i < 3; i++) {
		pattern(&in[0], 0x35 + i);
		memset(&got, 0, sizeof(got));
		csrwr(CSR_EUEN, 7);
		init_keep(&v, 1, i);
		run_to_hvc(&v, HVC_CALL);
		csrwr(CSR_EUEN, 0);
		host_insn_ecode(SYSCALL, 0, 0);
		tlb_drop(HOST, STLB_SIZE + 1);
		run_to_exit(&v, EC_REFILL);
		s2_image(1);
		run_to_exit(&v, i == 0 ? EC_FPD : i == 1 ? EC_SXD : EC_ASXD);
		csrwr(CSR_EUEN, 7);
		run_to_hvc(&v, HVC_CALL);
		check_regs(&got[0], &in[0], units[i].width, units[i].name);
	}
	csrwr(CSR_EUEN, 0);
}

/* Two guests; the host saves and loads at each switch, as KVM does. */
TEST(fp_registers_of_two_guests)
{
	static struct vcpu v[2];

	for (u32 i = 0; i < 3; i++) {
		void (*load)(struct regs *) = load_of(i);
		void (*save)(struct regs *) = save_of(i);

		csrwr(CSR_EUEN, 7);
		memset(&got, 0, sizeof(got));
		for (u32 g = 0; g < 2; g++) {
			pattern(&in[g], 0x11 + g * 0x53);
			init_keep(&v[g], g + 1, i);
			run_to_hvc(&v[g], HVC_CALL);
			save(&ctx[g]);
			check_regs(&ctx[g], &in[g], units[i].width, "what the host saved");
		}
		for (u32 n = 0; n < 4; n++) {
			u32 g = n & 1;

			memset(&got[g], 0, sizeof(got[g]));
			load(&ctx[g]);
			run_to_hvc(&v[g], HVC_CALL);
			save(&ctx[g]);
			check_regs(&got[g], &in[g], units[i].width, units[i].name);
			run_to_hvc(&v[g], HVC_CALL);
		}
	}
	csrwr(CSR_EUEN, 0);
}

/* An enabled floating-point exception is the guest's. */
TEST(fp_exception_stays_inside)
{
	struct vcpu v;

	csrwr(CSR_EUEN, 1);
	guest_init(&v, guest_fp_divide, IN, 0);
	gcsrwr(CSR_EUEN, 1);
	run_to_exc(&v, EC_FPE);
	csrwr(CSR_EUEN, 0);
}
