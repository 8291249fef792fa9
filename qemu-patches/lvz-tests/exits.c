// SPDX-License-Identifier: GPL-2.0-only
/* The way into the guest and out of it; what leaves and what stays inside. */
#include "lvz.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static u64 guest_add(u64 a, u64 b)
{
	return call(a + b) + 1;
}

TEST(enter_and_exit)
{
	struct vcpu v;

	guest_init(&v, guest_add, 40, 2);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 42, "a0 at the hvcl");
	CHECK_EQ(v.gstat, 1 << 16 | 0x80 | GSTAT_PVM, "GSTAT at the exit: PVM stays 1, VM reads 0");
	CHECK_EQ(v.crmd, CRMD_PG, "host CRMD at the exit: PLV0, IE=0, paging");
	CHECK_EQ(v.prmd, PRMD_PIE, "host PRMD: what host CRMD was");
	CHECK_EQ(*(u32 *)va(v.era), HVCL(HVC_CALL), "the word at ERA");
	CHECK_EQ(v.era >> 22, 0, "ERA is guest-physical");
	CHECK_EQ(v.esubcode, 0, "subcode");
	v.gpr[4] = 99;
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 100, "result");
}

/* PRMD saves what the host's CRMD was while the guest ran, not the guest's. */
TEST(exit_prmd_is_host)
{
	struct vcpu v;

	guest_init(&v, guest_add, 1, 2);
	v.hprmd = 0;
	gcsrwr(CSR_CRMD, CRMD_DA | CRMD_IE);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.prmd, 0, "host PRMD");
	CHECK_EQ(gcsrrd(CSR_CRMD), CRMD_DA | CRMD_IE, "guest CRMD");
}

/* Guest CSRs that hold exception state are not touched by an exit, and ESTAT's ecode in both banks
 * is its own. */
TEST(exit_keeps_guest_csrs)
{
	struct vcpu v;

	guest_init(&v, guest_add, 1, 2);
	gcsrwr(CSR_ERA, 0x1111000);
	gcsrwr(CSR_PRMD, 7);
	gcsrwr(CSR_BADV, 0x2222000);
	gcsrwr(CSR_BADI, 0x3333);
	gcsrwr(CSR_ESTAT, 0xb0000);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(gcsrrd(CSR_ERA), 0x1111000, "guest ERA");
	CHECK_EQ(gcsrrd(CSR_PRMD), 7, "guest PRMD");
	CHECK_EQ(gcsrrd(CSR_BADV), 0x2222000, "guest BADV");
	CHECK_EQ(gcsrrd(CSR_BADI), 0x3333, "guest BADI");
	CHECK_EQ(gcsrrd(CSR_ESTAT), 0xb0000, "guest ESTAT");
	CHECK_EQ(gcsrrd(CSR_CRMD), CRMD_DA, "guest CRMD");
}

static void guest_insn(u32 word, u64 a0, u64 a1)
{
	insn(word, a0, a1);
}

static void init_insn(struct vcpu *v, u32 word, u64 a0, u64 a1)
{
	guest_init(v, guest_insn, word, a0);
	v->gpr[6] = a1;
}

/* KVM sets VS=0; a host that does not gets the vector of the exit. */
TEST(exit_vector_spacing)
{
	struct vcpu v;

	csrwr(CSR_ECFG, 3 << 16);
	guest_init(&v, guest_add, 1, 2);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.vector, EC_HVC, "vector with VS=3");
	init_insn(&v, CPUCFG, 0, 1);
	run_to_exit(&v, EC_GSPR);
	CHECK_EQ(v.vector, EC_GSPR, "vector with VS=3");
	csrwr(CSR_ECFG, 0);
	guest_init(&v, guest_add, 1, 2);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.vector, 0, "vector with VS=0");
	/* The guest's VS is not the host's. */
	guest_init(&v, guest_add, 1, 2);
	gcsrwr(CSR_ECFG, 3 << 16);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.vector, 0, "vector with guest VS=3");
}

/* A guest exception uses the guest's spacing. */
TEST(guest_vector_spacing)
{
	struct vcpu v;

	csrwr(CSR_ECFG, 5 << 16);
	init_insn(&v, SYSCALL, 0, 0);
	gcsrwr(CSR_ECFG, 3 << 16);
	write64(SPARE + EC_SYS * 32, *(u64 *)guest_exc);
	gcsrwr(CSR_EENTRY, SPARE);
	run_to_exc(&v, EC_SYS);
	CHECK_EQ(v.era, SPARE + EC_SYS * 32, "guest vector");
	csrwr(CSR_ECFG, 0);
}

/* An exception of the host in host mode is its own: PVM = 0, its ertn stays in the host. */
TEST(host_exception_clears_pvm)
{
	struct vcpu v;

	guest_init(&v, guest_add, 1, 2);
	run_to_hvc(&v, HVC_CALL);
	csrxchg(CSR_GSTAT, GSTAT_PVM, GSTAT_PVM);
	CHECK_EQ(host_insn_ecode(SYSCALL, 0, 0), EC_SYS, "syscall of the host");
	CHECK_EQ(caught()->gstat & GSTAT_PVM, 0, "PVM in the handler");
	CHECK_EQ(csrrd(CSR_GSTAT) & GSTAT_PVM, 0, "PVM afterwards");
	/* The same for its TLB refill */
	csrxchg(CSR_GSTAT, GSTAT_PVM, GSTAT_PVM);
	try_begin();
	(void)*(volatile u64 *)0x50000000;
	CHECK_EQ(caught()->ecode, EC_REFILL, "refill of the host");
	CHECK_EQ(caught()->gstat & GSTAT_PVM, 0, "PVM in the refill handler");
}

static void guest_hvcl(u32 word)
{
	insn(word, 0, 0);
}

TEST(hvc_codes)
{
	static const u32 codes[] = {0, 1, 0x100, 0x101, 0x102, 0x7fff};
	struct vcpu v;

	for (u32 i = 0; i < COUNT(codes); i++) {
		guest_init(&v, guest_hvcl, HVCL(codes[i]), 0);
		run_to_exit(&v, EC_HVC);
		CHECK_EQ(v.badi, HVCL(codes[i]), "BADI");
		CHECK_EQ(*(u32 *)va(v.era), HVCL(codes[i]), "the word at ERA");
	}
}

TEST(hvc_at_plv3)
{
	struct vcpu v;

	guest_init(&v, guest_hvcl, HVCL(0x100), 0);
	guest_user(&v);
	run_to_exc(&v, EC_IPE);
	CHECK_EQ(gcsrrd(CSR_BADI), HVCL(0x100), "guest BADI");
}

TEST(hvc_in_host)
{
	CHECK_EQ(host_insn_ecode(HVCL(0x100), 0, 0), EC_INE, "hvcl in host mode");
}

/* Guest context synchronization: each of these words makes the host emulate. */
static const u32 gspr_words[] = {
	CPUCFG,
	IOCSRRD_B,
	IOCSRRD_H,
	IOCSRRD_W,
	IOCSRRD_D,
	IOCSRWR_B,
	IOCSRWR_H,
	IOCSRWR_W,
	IOCSRWR_D,
	IDLE,
	GCSRRD(CSR_CRMD),
	GCSRWR(CSR_ERA),
	GCSRXCHG(CSR_ERA),
	GTLBCLR,
	GTLBFLUSH,
	GTLBSRCH,
	GTLBRD,
	GTLBWR,
	GTLBFILL,
	CSRRD(CSR_GTLBC),
	CSRWR(CSR_GTLBC),
	CSRRD(CSR_TRGP),
	CSRRD(CSR_GSTAT),
	CSRWR(CSR_GSTAT),
	CSRXCHG(CSR_GSTAT),
	CSRRD(CSR_GCFG),
	CSRRD(CSR_GINTC),
	CSRWR(CSR_GINTC),
	CSRRD(CSR_GCNTC),
	CSRWR(CSR_GCNTC),
	/* IMPCTL, MERR*, CTAG, performance counters, debug, watchpoints, MSGINT's, and nothing at
	   all */
	CSRRD(0x80),
	CSRWR(0x80),
	CSRXCHG(0x81),
	CSRRD(0x90),
	CSRWR(0x90),
	CSRRD(0x93),
	CSRRD(0x98),
	CSRRD(0x200),
	CSRWR(0x200),
	CSRRD(0x201),
	CSRXCHG(0x201),
	CSRRD(0x300),
	CSRRD(0x301),
	CSRWR(0x310),
	CSRRD(0x380),
	CSRRD(0x500),
	CSRRD(0x501),
	CSRRD(0x502),
	CSRRD(0xa0),
	CSRRD(0xa4),
	CSRRD(0x9),
	CSRRD(0x24),
	CSRRD(0x45),
	CSRRD(0x3fff),
	CSRWR(0x3fff),
	CSRXCHG(0x3fff),
	INVTLB(0x9),
	INVTLB(0xa),
	INVTLB(0xb),
	INVTLB(0xc),
	INVTLB(0xd),
	INVTLB(0xe),
	INVTLB(0x10),
	INVTLB(0x11),
	INVTLB(0x12),
	INVTLB(0x13),
	INVTLB(0x14),
	INVTLB(0x15),
	INVTLB(0x16),
};

TEST(gspr_sources)
{
	struct vcpu v;

	csrwr(CSR_GINTC, 0);
	csrwr(CSR_GCNTC, 0);
	for (u32 i = 0; i < COUNT(gspr_words); i++) {
		init_insn(&v, gspr_words[i], 0x1234, 0xfffffff0);
		if (guest_run(&v) != EC_GSPR)
			guest_fatal(&v, name("GSPR for the word 0x%x", gspr_words[i]));
		CHECK_EQ(v.badi, gspr_words[i], "BADI");
		CHECK_EQ(v.esubcode, 0, "subcode");
		CHECK_EQ(*(u32 *)va(v.era), gspr_words[i], "the word at ERA");
		CHECK_EQ(v.gpr[4], 0x1234, name("a0 is untouched by 0x%x", gspr_words[i]));
		CHECK_EQ(v.gstat & GSTAT_PVM, GSTAT_PVM, "PVM");
		run_to_end(&v); /* goes on behind it */
	}
	CHECK_EQ(csrrd(CSR_GINTC), 0, "GINTC");
	CHECK_EQ(csrrd(CSR_GCNTC), 0, "GCNTC");
}

/* Privileged ones at PLV3 are the guest kernel's to judge; cpucfg is not privileged. */
TEST(gspr_at_plv3)
{
	struct vcpu v;

	for (u32 i = 0; i < COUNT(gspr_words); i++) {
		u32 word = gspr_words[i];

		init_insn(&v, word, 0x1234, 0);
		guest_user(&v);
		if (word == CPUCFG) {
			run_to_exit(&v, EC_GSPR);
			CHECK_EQ(v.badi, word, "BADI of cpucfg");
			continue;
		}
		if (guest_run(&v) != EC_HVC || v.badi != HVCL(HVC_EXC) ||
		    (gcsrrd(CSR_ESTAT) >> 16 & 0x3f) != EC_IPE)
			guest_fatal(&v, name("IPE in the guest for the word 0x%x", word));
		CHECK_EQ(gcsrrd(CSR_BADI), word, "guest BADI");
		CHECK_EQ(gcsrrd(CSR_PRMD) & 3, 3, "guest PRMD.PPLV");
	}
}

TEST(gspr_has_resume_address)
{
	struct vcpu v;

	init_insn(&v, CPUCFG, 0, 4);
	run_to_exit(&v, EC_GSPR);
	v.gpr[4] = 0xbeef; /* the host's answer */
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 0xbeef, "what the guest got for cpucfg");
}

/* None of these leaves. */
TEST(stays_inside)
{
	static const u32 words[] = {RDTIME_D,
				    RDTIMEL_W,
				    RDTIMEH_W,
				    TLBSRCH,
				    TLBRD,
				    TLBCLR,
				    TLBFLUSH,
				    CACOP,
				    INVTLB(0),
				    INVTLB(1),
				    INVTLB(2),
				    INVTLB(3),
				    INVTLB(4),
				    INVTLB(5),
				    INVTLB(6),
				    CSRRD(CSR_CRMD),
				    CSRRD(CSR_CPUID),
				    CSRRD(CSR_PRCFG1),
				    CSRRD(CSR_TVAL),
				    CSRRD(CSR_PGD),
				    CSRWR(CSR_SAVE0),
				    CSRRD(CSR_MISC),
				    CSRRD(CSR_RVACFG),
				    CSRRD(CSR_STLBPS),
				    CSRRD(CSR_LLBCTL),
				    CSRRD(0x30),
				    CSRRD(0x37),
				    CSRRD(0x88),
				    CSRRD(0x8f),
				    CSRRD(0x180),
				    CSRRD(0x183)};
	struct vcpu v;

	for (u32 i = 0; i < COUNT(words); i++) {
		init_insn(&v, words[i], 0, 0);
		if (guest_run(&v) != EC_HVC || v.badi != HVCL(0))
			guest_fatal(&v, name("no exit for the word 0x%x", words[i]));
	}
	/* A refill of its own or an invalid operation are the guest's too. */
	init_insn(&v, INVTLB(7), 0, 0);
	run_to_exc(&v, EC_INE);
	init_insn(&v, INVTLB(0x17), 0, 0);
	run_to_exc(&v, EC_INE);
	init_insn(&v, 0, 0, 0);
	run_to_exc(&v, EC_INE);
}

static void check_inside(u32 word, u32 ecode)
{
	struct vcpu v;

	for (int user = 0; user < 2; user++) {
		init_insn(&v, word, 0, 0);
		if (user)
			guest_user(&v);
		run_to_exc(&v, ecode);
		CHECK_EQ(*(u32 *)va(pa((void *)gcsrrd(CSR_ERA))), word, "the word at guest ERA");
		CHECK_EQ(gcsrrd(CSR_BADI), word, "guest BADI");
		CHECK_EQ(gcsrrd(CSR_PRMD) & 7, user ? 3 : 0, "guest PRMD");
		CHECK_EQ(gcsrrd(CSR_CRMD) & 7, 0, "guest CRMD");
		guest_skip_exc();
		if (!user)
			run_to_end(&v);
	}
}

TEST(guest_syscall)
{
	check_inside(SYSCALL, EC_SYS);
}

TEST(guest_break)
{
	check_inside(BREAK, EC_BRK);
}

/* asrtle.d $a0, $a1: bound check */
TEST(guest_bound_check)
{
	struct vcpu v;

	init_insn(&v, 0x00010000 | 5 << 10 | 4 << 5, 8, 7);
	run_to_exc(&v, EC_BCE);
}

/* The guest's own ertn: PLV3 from PLV0 and no exit. */
static void guest_user_code(void)
{
	insn(SYSCALL, 0, 0);
}

TEST(guest_ertn)
{
	struct vcpu v;

	guest_init(&v, guest_user_code, 0, 0);
	guest_user(&v);
	gcsrwr(CSR_CRMD, CRMD_PG);
	gcsrwr(CSR_PRMD, 3 | PRMD_PIE);
	gcsrwr(CSR_ERA, v.pc);
	v.pc = (u64)guest_ertn;
	run_to_exc(&v, EC_SYS);
	CHECK_EQ(gcsrrd(CSR_PRMD), 3 | PRMD_PIE, "guest PRMD: it was at PLV3 with IE=1");
	CHECK_EQ(v.prmd, PRMD_PIE, "host PRMD");
}

/* gcsr* are the host kernel's only. */
TEST(lvz_needs_plv0)
{
	static const u32 words[] = {GCSRRD(CSR_CRMD), GCSRWR(CSR_ERA), GCSRXCHG(CSR_ERA),
				    GTLBCLR,	      GTLBFLUSH,       GTLBSRCH,
				    GTLBRD,	      GTLBWR,	       GTLBFILL,
				    INVTLB(0x12),     INVTLB(0x16),    CSRRD(CSR_GSTAT)};

	/* The host at PLV3, in its window; the exception's handler brings it back to PLV0. */
	csrwr(CSR_DMW0, DMW_KERNEL | 0x8);
	for (u32 i = 0; i < COUNT(words); i++) {
		try_begin();
		csrxchg(CSR_CRMD, 3, 3);
		insn(words[i], 0, 0);
		if (!caught()->count) {
			try_begin();
			insn(SYSCALL, 0, 0);
		}
		CHECK_EQ(caught()->ecode, EC_IPE, name("the word 0x%x at PLV3", words[i]));
	}
}

/* A reset out of guest mode: the host starts, and nothing of LVZ's state is left. Runs twice, see
 * `run`. */
#define BOOTED 0xf000000UL /* RAM that the image does not use */
#define MAGIC 0x1122334455667788UL
#define RESET (0x100e001cUL + 2)

static void guest_reset(volatile u8 *reg)
{
	*reg = 0x42;
	for (;;)
		asm volatile("");
}

TEST(reset_in_guest_mode)
{
	struct vcpu v;
	struct tlbe e;

	if (read64(BOOTED) == MAGIC) {
		CHECK_EQ(csrrd(CSR_GSTAT), 0x80, "GSTAT");
		CHECK_EQ(csrrd(CSR_GTLBC), 0, "GTLBC");
		CHECK_EQ(csrrd(CSR_GINTC), 0, "GINTC");
		CHECK_EQ(gcsrrd(CSR_TCFG) & TCFG_EN, 0, "guest TCFG.EN");
		CHECK_EQ(gcsrrd(CSR_ESTAT), 0, "guest ESTAT");
		CHECK_EQ(gcsrrd(CSR_CRMD), CRMD_DA, "guest CRMD");
		CHECK(csrrd(CSR_SAVE0) != MAGIC); /* that was the guest's */
		for (u32 i = 0; i < STLB_SIZE + MTLB_SIZE; i++)
			for (enum bank b = HOST; b <= GUEST; b++)
				if (!CHECK_EQ(tlb_read(b, i, &e), 0, name("TLB entry %u", i)))
					return;
		guest_init(&v, guest_add, 1, 2);
		run_to_hvc(&v, HVC_CALL);
		CHECK_EQ(v.gpr[4], 3, "a guest's sum");
		return;
	}
	write64(BOOTED, MAGIC);
	guest_init(&v, guest_reset, 0x40000000 + (RESET & 0xfff), 0);
	gcsrwr(CSR_CRMD, CRMD_DA | CRMD_IE);
	gcsrwr(CSR_TCFG, 1000000 << 2 | TCFG_EN);
	csrwr(CSR_GINTC, 0xff);
	s2_pair(1, 0x40000000, (RESET & -0x1000UL) | PTE_V | PTE_D, 0, 0);
	e = (struct tlbe){0x10000000, PTE_RW, PTE_RW, 12, 0, 1, stlb(0x10000000, 0)};
	tlb_write(GUEST, &e);
	gcsrwr(CSR_SAVE0, MAGIC);
	guest_run(&v);
	guest_fatal(&v, "a reset");
}

/* Two seconds in guest mode, over a migration. */
static u64 guest_wait(u64 a)
{
	for (u64 t = rdtime(); rdtime() - t < 200000000;)
		;
	return a + insn(CPUCFG, 0, 1);
}

TEST(migrate_guest_mode)
{
	struct vcpu v;

	guest_init(&v, guest_wait, 0x70, 0);
	run_to_exit(&v, EC_GSPR);
	v.gpr[4] = 7;
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 0x77, "result");
}
