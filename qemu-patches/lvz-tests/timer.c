// SPDX-License-Identifier: GPL-2.0-only
/* The guest's timer, which counts in host mode too, and its counter. The clock has 100 MHz. */
#include "lvz.h"

#define US 100UL
#define S 100000000UL
#define FIRED 0xffffffffffffUL

static void wait_us(u64 us)
{
	for (u64 t = rdtime(); rdtime() - t < us * US;)
		;
}

/* QEMU raises the host's TI from another thread; five seconds are long enough. */
static u64 host_pending(void)
{
	for (u64 t = rdtime(); !(csrrd(CSR_ESTAT) & IS_TIMER) && rdtime() - t < 5 * S;)
		;
	return csrrd(CSR_ESTAT) & IS_TIMER;
}

static void guest_spin(void)
{
	for (;;)
		asm volatile("");
}

static int pending(void)
{
	return !!(gcsrrd(CSR_ESTAT) & IS_TIMER);
}

static void timer_stop(void)
{
	gcsrwr(CSR_TCFG, 0);
	gcsrwr(CSR_ESTAT, 0);
}

TEST(timer_counts_in_host)
{
	u64 a, b;

	timer_stop();
	gcsrwr(CSR_TCFG, 100 * S | TCFG_EN);
	a = gcsrrd(CSR_TVAL);
	wait_us(100);
	b = gcsrrd(CSR_TVAL);
	CHECK(a <= 100 * S && a > 50 * S);
	CHECK(b <= a - 100 * US && b > 10 * S);
	CHECK_EQ(pending(), 0, "TI");
	CHECK_EQ(gcsrrd(CSR_TCFG), 100 * S | TCFG_EN, "TCFG");
	/* A write starts again. */
	gcsrwr(CSR_TCFG, 200 * S | TCFG_EN);
	CHECK(gcsrrd(CSR_TVAL) > 150 * S);
}

/* Fires while the host runs; pending when the guest comes back. */
TEST(timer_across_an_exit)
{
	struct vcpu v;

	timer_stop();
	guest_init(&v, guest_spin, 0, 0);
	gcsrwr(CSR_ECFG, IS_TIMER);
	gcsrwr(CSR_CRMD, CRMD_DA | CRMD_IE);
	gcsrwr(CSR_TCFG, 50 * US | TCFG_EN);
	wait_us(200);
	CHECK_EQ(pending(), 1, "TI in host mode");
	CHECK_EQ(csrrd(CSR_ESTAT) & IS_TIMER, 0, "the host's TI");
	run_to_exc(&v, EC_INT);
	CHECK_EQ(gcsrrd(CSR_ESTAT) & 0x1fff, IS_TIMER, "guest ESTAT.IS");
	CHECK_EQ(gcsrrd(CSR_ERA), pa(guest_spin), "guest ERA: at once");
}

/* Fires while the guest runs, in a loop that never leaves. */
TEST(timer_in_guest)
{
	struct vcpu v;

	timer_stop();
	guest_init(&v, guest_spin, 0, 0);
	gcsrwr(CSR_ECFG, IS_TIMER);
	gcsrwr(CSR_CRMD, CRMD_DA | CRMD_IE);
	gcsrwr(CSR_TCFG, 1000 * US | TCFG_EN);
	run_to_exc(&v, EC_INT);
	CHECK_EQ(gcsrrd(CSR_ESTAT) & 0x1fff, IS_TIMER, "guest ESTAT.IS");
}

static void guest_timer(u64 tcfg)
{
	csrwr(CSR_TCFG, tcfg);
	call(csrrd(CSR_TVAL));
	while (!(csrrd(CSR_ESTAT) & IS_TIMER))
		;
	csrwr(CSR_TICLR, 0);
	call(csrrd(CSR_ESTAT) & IS_TIMER);
	csrwr(CSR_TICLR, 1);
	call(csrrd(CSR_ESTAT) & IS_TIMER);
}

/* The guest's own writes go to its own timer. */
TEST(timer_by_guest)
{
	struct vcpu v;

	timer_stop();
	csrwr(CSR_TCFG, 0);
	guest_init(&v, guest_timer, (S / 10) | TCFG_EN, 0);
	run_to_hvc(&v, HVC_CALL);
	CHECK(v.gpr[4] <= S / 10 && v.gpr[4] > 0);
	CHECK_EQ(gcsrrd(CSR_TCFG), (S / 10) | TCFG_EN, "guest TCFG");
	CHECK_EQ(csrrd(CSR_TCFG), 0, "host TCFG");
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], IS_TIMER, "TI after TICLR = 0");
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 0, "TI after TICLR = 1");
	CHECK_EQ(csrrd(CSR_ESTAT) & IS_TIMER, 0, "host TI");
}

TEST(timer_tval_write)
{
	timer_stop();
	gcsrwr(CSR_TCFG, 10000 * S | TCFG_EN);
	gcsrwr(CSR_TVAL, 100 * S);
	CHECK(gcsrrd(CSR_TVAL) <= 100 * S);
	CHECK(gcsrrd(CSR_TVAL) > 50 * S);
	CHECK_EQ(pending(), 0, "TI");
	gcsrwr(CSR_TVAL, 20 * US);
	wait_us(100);
	CHECK_EQ(pending(), 1, "TI after the written count");
	CHECK_EQ(gcsrrd(CSR_TCFG), 10000 * S | TCFG_EN, "TCFG");
}

/* KVM's way to inject one that has expired meanwhile */
TEST(timer_tval_zero)
{
	timer_stop();
	gcsrwr(CSR_TCFG, 100 * S | TCFG_EN);
	gcsrwr(CSR_TVAL, 0);
	CHECK_EQ(pending(), 1, "TI at once");
	/* A fired one-shot timer, from now on, also when KVM takes TI back because the guest had
	 * seen it. */
	CHECK_EQ(gcsrrd(CSR_TVAL), FIRED, "TVAL");
	gcsrwr(CSR_TICLR, 1);
	CHECK_EQ(gcsrrd(CSR_TVAL), FIRED, "TVAL after TICLR");
	wait_us(100);
	CHECK_EQ(pending(), 0, "TI after TICLR");
	timer_stop();
	gcsrwr(CSR_TVAL, 0);
	CHECK_EQ(pending(), 0, "TI of a disabled timer");
	/* A periodic one goes on from InitVal. */
	gcsrwr(CSR_TCFG, 100 * S | TCFG_EN | TCFG_PERIODIC);
	gcsrwr(CSR_TVAL, 0);
	CHECK_EQ(pending(), 1, "TI at once, periodic");
	CHECK(gcsrrd(CSR_TVAL) <= 100 * S);
}

TEST(timer_one_shot)
{
	timer_stop();
	gcsrwr(CSR_TCFG, 20 * US | TCFG_EN);
	wait_us(100);
	CHECK_EQ(pending(), 1, "TI");
	CHECK_EQ(gcsrrd(CSR_TVAL), FIRED, "TVAL of a fired one-shot timer");
	CHECK_EQ(gcsrrd(CSR_TCFG), 20 * US | TCFG_EN, "TCFG: EN stays");
	gcsrwr(CSR_TICLR, 1);
	CHECK_EQ(pending(), 0, "TI after TICLR");
	CHECK_EQ(gcsrrd(CSR_TVAL), FIRED, "TVAL after TICLR");
	wait_us(100);
	CHECK_EQ(pending(), 0, "TI: once");
}

TEST(timer_periodic)
{
	timer_stop();
	gcsrwr(CSR_TCFG, 100 * US | TCFG_EN | TCFG_PERIODIC);
	for (int i = 0; i < 3; i++) {
		u64 tval;

		wait_us(400);
		CHECK_EQ(pending(), 1, "TI");
		tval = gcsrrd(CSR_TVAL);
		CHECK(tval <= 100 * US);
		gcsrwr(CSR_TICLR, 1);
	}
	gcsrwr(CSR_TCFG, 0);
	gcsrwr(CSR_TICLR, 1);
	wait_us(300);
	CHECK_EQ(pending(), 0, "TI after the timer was disabled");
}

TEST(timer_disabled_keeps_tval)
{
	timer_stop();
	gcsrwr(CSR_TCFG, 77 * US);
	gcsrwr(CSR_TVAL, 0x12344);
	CHECK_EQ(gcsrrd(CSR_TVAL), 0x12344, "TVAL");
	wait_us(100);
	CHECK_EQ(gcsrrd(CSR_TVAL), 0x12344, "TVAL, later");
	wait_us(1000);
	CHECK_EQ(pending(), 0, "TI");
}

TEST(timer_ticlr_keeps_tval)
{
	u64 tval;

	timer_stop();
	gcsrwr(CSR_TCFG, 100 * S | TCFG_EN);
	gcsrwr(CSR_ESTAT, IS_TIMER); /* as KVM's restore of a saved ESTAT */
	CHECK_EQ(pending(), 1, "TI");
	gcsrwr(CSR_TICLR, 1);
	CHECK_EQ(pending(), 0, "TI after TICLR");
	tval = gcsrrd(CSR_TVAL);
	CHECK(tval <= 100 * S && tval > 50 * S);
	CHECK_EQ(gcsrrd(CSR_TICLR), 0, "TICLR reads 0");
}

/* Two timers that do not know each other. */
TEST(timer_of_host_is_separate)
{
	timer_stop();
	csrwr(CSR_TCFG, 20 * US | TCFG_EN);
	gcsrwr(CSR_TCFG, 100 * S | TCFG_EN);
	CHECK_EQ(host_pending(), IS_TIMER, "the host's TI");
	CHECK_EQ(pending(), 0, "the guest's TI");
	gcsrwr(CSR_TICLR, 1);
	CHECK_EQ(csrrd(CSR_ESTAT) & IS_TIMER, IS_TIMER, "the host's TI after the guest's TICLR");
	csrwr(CSR_TICLR, 1);
	csrwr(CSR_TCFG, 100 * S | TCFG_EN);
	gcsrwr(CSR_TCFG, 20 * US | TCFG_EN);
	wait_us(100);
	CHECK_EQ(csrrd(CSR_ESTAT) & IS_TIMER, 0, "the host's TI");
	CHECK_EQ(pending(), 1, "the guest's TI");
	csrwr(CSR_TICLR, 1);
	CHECK_EQ(pending(), 1, "the guest's TI after the host's TICLR");
	csrwr(CSR_TCFG, 0);
	CHECK(gcsrrd(CSR_TCFG) & TCFG_EN);
}

static void guest_time(void)
{
	for (;;) {
		call(rdtime());
		call(insn(RDTIMEH_W, 0, 0) << 32 | (insn(RDTIMEL_W, 0, 0) & 0xffffffff));
	}
}

static void check_time(u64 gcntc, u64 cntc)
{
	struct vcpu v;
	u64 before, after;

	csrwr(CSR_GCNTC, gcntc);
	gcsrwr(CSR_CNTC, cntc);
	guest_init(&v, guest_time, 0, 0);
	for (int i = 0; i < 2; i++) {
		before = rdtime();
		run_to_hvc(&v, HVC_CALL);
		after = rdtime();
		v.gpr[4] -= gcntc + cntc;
		CHECK(v.gpr[4] >= before);
		CHECK(v.gpr[4] <= after);
		if (gcntc + cntc & 0xffffffff)
			break; /* halves could be read on both sides of an overflow */
	}
}

TEST(guest_rdtime)
{
	check_time(0, 0);
	check_time(0x5500000000, 0);
	check_time(0, 0x6600000000);
	check_time(0x7700000000, 0x880000000000);
	check_time(-5000000UL, 3);
}

static void guest_time_user(void)
{
	u64 t = rdtime();

	asm volatile("move $a0, %0\n\tsyscall 0" ::"r"(t) : "a0");
}

/* MISC.DRDTL of the guest's bank decides at PLV3. */
TEST(guest_rdtime_at_plv3)
{
	struct vcpu v;

	guest_init(&v, guest_time_user, 0, 0);
	guest_user(&v);
	csrwr(CSR_GCNTC, 0x4400000000);
	gcsrwr(CSR_CNTC, 0);
	run_to_exc(&v, EC_SYS);
	CHECK_EQ(v.gpr[4] >> 32, 0x44, "upper half of the counter");
	guest_init(&v, guest_time_user, 0, 0);
	guest_user(&v);
	gcsrwr(CSR_MISC, 0x80);
	run_to_exc(&v, EC_IPE);
	gcsrwr(CSR_MISC, 0);
}
