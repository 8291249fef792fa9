// SPDX-License-Identifier: GPL-2.0-only
/* Interrupts of the guest (VIP, software, IPI) and of the host. */
#include "lvz.h"

static void guest_spin(void)
{
	for (;;)
		asm volatile("");
}

static u64 guest_return(u64 a)
{
	return a;
}

/* The guest took an interrupt with these pending bits. */
static void run_to_irq(struct vcpu *v, u64 is)
{
	run_to_exc(v, EC_INT);
	CHECK_EQ(gcsrrd(CSR_ESTAT) & 0x1fff, is, "guest ESTAT.IS");
	CHECK_EQ(gcsrrd(CSR_CRMD) & 7, 0, "guest CRMD");
	CHECK_EQ(gcsrrd(CSR_PRMD) & PRMD_PIE, PRMD_PIE, "guest PRMD.PIE");
}

static void start(struct vcpu *v, void *fn, u64 ecfg, u64 ie)
{
	guest_init(v, fn, 0, 0);
	gcsrwr(CSR_ECFG, ecfg);
	gcsrwr(CSR_CRMD, CRMD_DA | ie);
}

TEST(vip_shows_in_estat)
{
	csrwr(CSR_GINTC, 0);
	gcsrwr(CSR_ESTAT, 0);
	CHECK_EQ(gcsrrd(CSR_ESTAT), 0, "ESTAT");
	for (int i = 0; i < 8; i++) {
		csrwr(CSR_GINTC, 1UL << i);
		CHECK_EQ(gcsrrd(CSR_ESTAT), 4UL << i, "ESTAT with one VIP");
		CHECK_EQ(csrrd(CSR_GINTC), 1UL << i, "GINTC");
		CHECK_EQ(csrrd(CSR_ESTAT) & 0x3fc, 0, "host ESTAT");
	}
	csrwr(CSR_GINTC, 0);
	CHECK_EQ(gcsrrd(CSR_ESTAT), 0, "ESTAT without VIP");
}

/* KVM restores saved ESTAT values that contain them. */
TEST(estat_writes_do_not_latch_vip)
{
	csrwr(CSR_GINTC, 0);
	gcsrwr(CSR_ESTAT, -1UL);
	CHECK_EQ(gcsrrd(CSR_ESTAT), 0x7fff1c03, "ESTAT after all ones");
	gcsrwr(CSR_ESTAT, 0x3fc);
	CHECK_EQ(gcsrrd(CSR_ESTAT), 0, "ESTAT after bits 9:2");
	gcsrxchg(CSR_ESTAT, 0x3fc, 0x3fc);
	CHECK_EQ(gcsrrd(CSR_ESTAT), 0, "ESTAT after gcsrxchg of them");
	csrwr(CSR_GINTC, 0xff);
	gcsrwr(CSR_ESTAT, 0);
	CHECK_EQ(gcsrrd(CSR_ESTAT), 0x3fc, "ESTAT after 0, all VIP");
	gcsrxchg(CSR_ESTAT, 1, 1); /* a read-modify-write sees them */
	csrwr(CSR_GINTC, 0);
	CHECK_EQ(gcsrrd(CSR_ESTAT), 1, "ESTAT with SWI0, VIP cleared");
	gcsrwr(CSR_ESTAT, 0);
	CHECK_EQ(gcsrrd(CSR_ESTAT), 0, "ESTAT");
}

static void guest_write_estat(void)
{
	csrwr(CSR_ESTAT, -1UL);
	call(csrrd(CSR_ESTAT));
	csrwr(CSR_ESTAT, 0);
	call(csrrd(CSR_ESTAT));
	csrxchg(CSR_ESTAT, 2, 3);
	call(csrrd(CSR_ESTAT));
}

/* The guest itself writes IS[1:0] only: it neither sets nor clears the others. */
TEST(estat_guest_writes)
{
	struct vcpu v;

	csrwr(CSR_GINTC, 0x11);
	for (u64 is = 0; is <= (IS_IPI | IS_TIMER); is += IS_IPI | IS_TIMER) {
		u64 fixed = 0xb0000 | is | 0x44;

		start(&v, guest_write_estat, 0, 0);
		gcsrwr(CSR_ESTAT, 0xb0000 | is);
		run_to_hvc(&v, HVC_CALL);
		CHECK_EQ(v.gpr[4], fixed | 3, "after all ones");
		run_to_hvc(&v, HVC_CALL);
		CHECK_EQ(v.gpr[4], fixed, "after 0");
		run_to_hvc(&v, HVC_CALL);
		CHECK_EQ(v.gpr[4], fixed | 2, "after csrxchg");
		CHECK_EQ(csrrd(CSR_ESTAT) & 3, 0, "host ESTAT");
	}
	csrwr(CSR_GINTC, 0);
}

TEST(vip_interrupts)
{
	struct vcpu v;

	for (int i = 0; i < 8; i++) {
		start(&v, guest_spin, 4UL << i, CRMD_IE);
		csrwr(CSR_GINTC, 1UL << i);
		run_to_irq(&v, 4UL << i);
		CHECK_EQ(gcsrrd(CSR_ERA), pa(guest_spin),
			 "guest ERA: before the first instruction");
		/* masked by ECFG, then by IE */
		start(&v, guest_return, 0x1fff & ~(4UL << i), CRMD_IE);
		run_to_end(&v);
		start(&v, guest_return, 0x1fff, 0);
		run_to_end(&v);
	}
	/* Deasserted, it is gone. */
	start(&v, guest_return, 0x1fff, CRMD_IE);
	csrwr(CSR_GINTC, 0);
	run_to_end(&v);
}

/* Vectors of the guest: the highest pending one. */
TEST(guest_interrupt_vector)
{
	struct vcpu v;

	/* HWI1 and a second one; only their two vectors have code. */
	for (int n = 2; n < 10; n++) {
		memset(va(SPARE), 0, 4096);
		write64(SPARE + (64 + 3) * 8, *(u64 *)guest_exc);
		write64(SPARE + (64 + n) * 8, *(u64 *)guest_exc);
		start(&v, guest_spin, 1 << 16 | 0x1fff, CRMD_IE);
		gcsrwr(CSR_EENTRY, SPARE);
		csrwr(CSR_GINTC, (1 << n | 1 << 3) >> 2);
		run_to_hvc(&v, HVC_EXC);
		CHECK_EQ(v.era, SPARE + (n > 3 ? 64 + n : 64 + 3) * 8, "guest vector");
		csrwr(CSR_GINTC, 0);
	}
}

static void guest_swi(u64 is)
{
	csrwr(CSR_ESTAT, is);
	guest_spin();
}

TEST(swi_by_guest)
{
	struct vcpu v;

	for (u64 is = 1; is <= 2; is++) {
		start(&v, guest_swi, 3, CRMD_IE);
		gcsrwr(CSR_ESTAT, 0);
		v.gpr[4] = is;
		run_to_irq(&v, is);
	}
	/* When it is not enabled, it stays pending and does nothing. */
	start(&v, guest_return, 3, CRMD_IE);
	gcsrwr(CSR_ESTAT, 0);
	run_to_end(&v);
}

TEST(swi_and_ipi_by_host)
{
	static const u64 bits[] = {1, 2, 1 << 10, IS_TIMER, IS_IPI};
	struct vcpu v;

	for (u32 i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		start(&v, guest_spin, bits[i], CRMD_IE);
		gcsrwr(CSR_ESTAT, bits[i]);
		CHECK_EQ(gcsrrd(CSR_ESTAT), bits[i], "ESTAT");
		CHECK_EQ(csrrd(CSR_ESTAT) & 0x1fff, 0, "host ESTAT.IS");
		run_to_irq(&v, bits[i]);
		start(&v, guest_return, 0x1fff, CRMD_IE);
		gcsrwr(CSR_ESTAT, 0);
		run_to_end(&v);
		/* By gcsrxchg, as KVM injects them */
		start(&v, guest_spin, bits[i], CRMD_IE);
		gcsrxchg(CSR_ESTAT, bits[i], bits[i]);
		run_to_irq(&v, bits[i]);
		gcsrxchg(CSR_ESTAT, 0, bits[i]);
	}
}

/* What becomes possible is taken at once: behind csrwr CRMD, csrxchg CRMD, csrwr ECFG, csrwr ESTAT,
 * ertn. */
extern char guest_enable_crmd[], guest_enabled_crmd[], guest_enable_xchg[], guest_enabled_xchg[],
	guest_enable_ecfg[], guest_enabled_ecfg[], guest_enable_estat[], guest_enabled_estat[],
	guest_enable_ertn[], guest_enabled_ertn[];

static void check_enable(void *fn, const void *enabled, u64 ecfg, u64 ie, u64 vip)
{
	struct vcpu v;

	start(&v, fn, ecfg, ie);
	gcsrwr(CSR_ESTAT, 0);
	csrwr(CSR_GINTC, vip);
	run_to_exc(&v, EC_INT);
	CHECK_EQ(gcsrrd(CSR_ERA), pa(enabled), "guest ERA: behind the instruction that enables");
	csrwr(CSR_GINTC, 0);
}

TEST(interrupt_after_enabling)
{
	check_enable(guest_enable_crmd, guest_enabled_crmd, 4, 0, 1);
	check_enable(guest_enable_xchg, guest_enabled_xchg, 4, 0, 1);
	check_enable(guest_enable_ecfg, guest_enabled_ecfg, 0, CRMD_IE, 1);
	check_enable(guest_enable_estat, guest_enabled_estat, 1, CRMD_IE, 0);
	check_enable(guest_enable_ertn, guest_enabled_ertn, 4, 0, 1);
}

/* The host's: leaves, whatever the guest's IE. */
TEST(host_swi_exits)
{
	struct vcpu v;

	for (u64 ie = 0; ie <= CRMD_IE; ie += CRMD_IE) {
		start(&v, guest_spin, 0, ie);
		csrwr(CSR_ECFG, 1);
		csrwr(CSR_ESTAT, 1);
		run_to_exit(&v, EC_INT);
		CHECK_EQ(v.estat & 0x1fff, 1, "host ESTAT.IS");
		CHECK_EQ(v.vector, 0, "at EENTRY");
		CHECK_EQ(v.pc, pa(guest_spin), "ERA");
		CHECK_EQ(v.prmd, PRMD_PIE, "PRMD");
		CHECK_EQ(v.gstat & GSTAT_PVM, GSTAT_PVM, "PVM");
		CHECK_EQ(gcsrrd(CSR_CRMD) & 7, ie, "guest CRMD");
		csrwr(CSR_ESTAT, 0);
	}
	/* With VS: 64 + n */
	csrwr(CSR_ECFG, 3 << 16 | 3);
	csrwr(CSR_ESTAT, 3);
	start(&v, guest_spin, 0, 0);
	run_to_exit(&v, EC_INT);
	CHECK_EQ(v.vector, 65, "vector");
	csrwr(CSR_ESTAT, 0);
	csrwr(CSR_ECFG, 0);
}

TEST(host_timer_exits)
{
	struct vcpu v;

	for (u64 ie = 0; ie <= CRMD_IE; ie += CRMD_IE) {
		start(&v, guest_spin, 0x1fff, ie);
		csrwr(CSR_ECFG, IS_TIMER);
		csrwr(CSR_TCFG, 100000 | TCFG_EN);
		run_to_exit(&v, EC_INT);
		CHECK_EQ(v.estat & 0x1fff, IS_TIMER, "host ESTAT.IS");
		CHECK_EQ(gcsrrd(CSR_ESTAT) & IS_TIMER, 0, "guest ESTAT.TI");
		csrwr(CSR_TICLR, 1);
		CHECK_EQ(csrrd(CSR_ESTAT) & IS_TIMER, 0, "TICLR");
	}
	csrwr(CSR_ECFG, 0);
}

/* The host's timer, running out in guest mode, goes by the host's TCFG and leaves the guest's
 * alone. */
TEST(host_timer_in_guest_mode)
{
	struct vcpu v;

	csrwr(CSR_ECFG, IS_TIMER);
	start(&v, guest_spin, 0, 0);
	gcsrwr(CSR_TCFG, 100000000000 | TCFG_EN);
	csrwr(CSR_TCFG, 100000 | TCFG_EN | TCFG_PERIODIC);
	for (int i = 0; i < 3; i++) {
		run_to_exit(&v, EC_INT);
		CHECK_EQ(v.estat & 0x1fff, IS_TIMER, "host ESTAT.IS: periodic");
		csrwr(CSR_TICLR, 1);
		CHECK_EQ(csrrd(CSR_TCFG), 100000 | TCFG_EN | TCFG_PERIODIC, "host TCFG");
		CHECK_EQ(gcsrrd(CSR_TCFG), 100000000000 | TCFG_EN, "guest TCFG");
	}
	gcsrwr(CSR_TCFG, 100000000000 | TCFG_EN | TCFG_PERIODIC);
	csrwr(CSR_TCFG, 100000 | TCFG_EN);
	csrwr(CSR_TICLR, 1);
	run_to_exit(&v, EC_INT);
	csrwr(CSR_TICLR, 1);
	CHECK_EQ(gcsrrd(CSR_TCFG), 100000000000 | TCFG_EN | TCFG_PERIODIC, "guest TCFG");
	CHECK(gcsrrd(CSR_TVAL) > 50000000000);
	CHECK_EQ(gcsrrd(CSR_ESTAT) & IS_TIMER, 0, "guest TI");
	csrwr(CSR_ECFG, 0);
}

/* A real line of the machine: the IPI that a host sends to itself. */
TEST(host_ipi_exits)
{
	struct vcpu v;

	start(&v, guest_spin, 0x1fff, 0);
	csrwr(CSR_ECFG, IS_IPI);
	insn(IOCSRWR_W, 0xffffffff, 0x1004);
	insn(IOCSRWR_W, 0x80000000 | 3, 0x1040);
	run_to_exit(&v, EC_INT);
	CHECK_EQ(v.estat & 0x1fff, IS_IPI, "host ESTAT.IS");
	CHECK_EQ(gcsrrd(CSR_ESTAT) & IS_IPI, 0, "guest ESTAT.IPI");
	insn(IOCSRWR_W, 0xffffffff, 0x100c);
	CHECK_EQ(csrrd(CSR_ESTAT) & IS_IPI, 0, "cleared");
	csrwr(CSR_ECFG, 0);
}

/* Masked in the host (IE or ECFG), it does not leave, and is none of the guest's. */
TEST(host_interrupt_masked)
{
	struct vcpu v;

	csrwr(CSR_ESTAT, 3);
	start(&v, guest_return, 0x1fff, CRMD_IE);
	gcsrwr(CSR_ESTAT, 0);
	csrwr(CSR_ECFG, 0);
	run_to_end(&v);
	start(&v, guest_return, 0x1fff, CRMD_IE);
	csrwr(CSR_ECFG, 3);
	v.hprmd = 0;
	run_to_end(&v);
	csrwr(CSR_ESTAT, 0);
	csrwr(CSR_ECFG, 0);
}

/* The guest's interrupts are no exits and none of the host's, in both modes. */
TEST(guest_interrupt_is_not_the_hosts)
{
	struct vcpu v;

	start(&v, guest_spin, 0x1fff, CRMD_IE);
	csrwr(CSR_ECFG, 0x1fff);
	gcsrwr(CSR_ESTAT, IS_IPI | IS_TIMER | 3);
	csrwr(CSR_GINTC, 0xff);
	try_begin();
	csrxchg(CSR_CRMD, CRMD_IE, CRMD_IE);
	for (u64 t = rdtime(); rdtime() - t < 10000;)
		;
	csrxchg(CSR_CRMD, 0, CRMD_IE);
	CHECK_EQ(caught()->count, 0, "interrupts of the host");
	run_to_irq(&v, 0x1bff);
	csrwr(CSR_GINTC, 0);
	csrwr(CSR_ECFG, 0);
}

/* A host interrupt in host mode, PVM=0, with a guest waiting: the ordinary thing. */
TEST(host_interrupt_in_host)
{
	struct vcpu v;

	start(&v, guest_return, 0, 0);
	run_to_end(&v);
	csrwr(CSR_ECFG, 1);
	csrwr(CSR_ESTAT, 1);
	try_begin();
	csrxchg(CSR_CRMD, CRMD_IE, CRMD_IE);
	asm volatile("nop");
	CHECK_EQ(caught()->count, 1, "interrupts");
	CHECK_EQ(caught()->ecode, EC_INT, "ecode");
	CHECK_EQ(caught()->gstat & GSTAT_PVM, 0, "PVM");
	csrwr(CSR_ESTAT, 0);
	csrwr(CSR_ECFG, 0);
}

/* The host's idle waits for the host's interrupts, not for the guest's. */
TEST(host_idle_is_the_hosts)
{
	csrwr(CSR_ECFG, IS_TIMER);
	gcsrwr(CSR_ECFG, 0x1fff);
	gcsrwr(CSR_CRMD, CRMD_DA | CRMD_IE);
	gcsrwr(CSR_ESTAT, IS_IPI);
	csrwr(CSR_GINTC, 1);
	csrwr(CSR_ESTAT, IS_SWI0); /* masked: something is pending at all, then those of the guest
				      could be taken for it */
	csrwr(CSR_TCFG, 2000000 | TCFG_EN);
	gcsrwr(CSR_TCFG, 100000 | TCFG_EN);
	insn(IDLE, 0, 0);
	CHECK_EQ(csrrd(CSR_ESTAT) & IS_TIMER, IS_TIMER, "the host's TI when idle ends");
	csrwr(CSR_TICLR, 1);
	csrwr(CSR_ESTAT, 0);
	csrwr(CSR_ECFG, 0);
	csrwr(CSR_GINTC, 0);
}
