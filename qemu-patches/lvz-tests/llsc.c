// SPDX-License-Identifier: GPL-2.0-only
/* LL/SC: each bank has a LLbit of its own; what breaks it and what does not. */
#include "lvz.h"

extern char llsc_hvcl[], llsc_nothing[], llsc_syscall[], llsc_load[], llsc_wcllb[], llsc_rollb[],
	llsc_klo_syscall[];

static u64 cell; /* what guest and host count in */
static u64 other;

static void start(struct vcpu *v, void *fn)
{
	cell = 10;
	guest_init(v, fn, pa(&cell), 0);
	gcsrwr(CSR_LLBCTL, LLBCTL_WCLLB);
}

static void check_end(struct vcpu *v, u64 stored)
{
	run_to_end(v);
	CHECK_EQ(v->gpr[4], stored, "SC's result");
	CHECK_EQ(*(volatile u64 *)&cell, 10 + stored, "memory");
}

TEST(llsc_plain)
{
	struct vcpu v;

	start(&v, llsc_nothing);
	check_end(&v, 1);
}

TEST(llsc_over_an_exit)
{
	struct vcpu v;

	start(&v, llsc_hvcl);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(gcsrrd(CSR_LLBCTL) & LLBCTL_ROLLB, 1, "guest ROLLB");
	CHECK_EQ(csrrd(CSR_LLBCTL) & LLBCTL_ROLLB, 0, "host ROLLB");
	check_end(&v, 1);
	CHECK_EQ(gcsrrd(CSR_LLBCTL) & LLBCTL_ROLLB, 0, "guest ROLLB after the SC");
}

/* KVM does so when it emulates or switches vCPUs. */
TEST(llsc_wcllb_by_host)
{
	struct vcpu v;

	start(&v, llsc_hvcl);
	run_to_hvc(&v, HVC_CALL);
	gcsrwr(CSR_LLBCTL, LLBCTL_WCLLB);
	CHECK_EQ(gcsrrd(CSR_LLBCTL) & LLBCTL_ROLLB, 0, "guest ROLLB");
	CHECK_EQ(gcsrrd(CSR_LLBCTL) & LLBCTL_WCLLB, 0, "WCLLB reads 0");
	check_end(&v, 0);
	start(&v, llsc_hvcl);
	run_to_hvc(&v, HVC_CALL);
	gcsrxchg(CSR_LLBCTL, LLBCTL_WCLLB, LLBCTL_WCLLB);
	check_end(&v, 0);
	/* 0 does not */
	start(&v, llsc_hvcl);
	run_to_hvc(&v, HVC_CALL);
	gcsrwr(CSR_LLBCTL, 0);
	check_end(&v, 1);
}

TEST(llsc_wcllb_by_guest)
{
	struct vcpu v;

	start(&v, llsc_wcllb);
	check_end(&v, 0);
}

TEST(llsc_hosts_wcllb_is_its_own)
{
	struct vcpu v;

	start(&v, llsc_hvcl);
	run_to_hvc(&v, HVC_CALL);
	csrwr(CSR_LLBCTL, LLBCTL_WCLLB);
	check_end(&v, 1);
}

TEST(llsc_rollb_in_guest)
{
	struct vcpu v;

	start(&v, llsc_rollb);
	check_end(&v, 1);
	CHECK_EQ(v.gpr[5] & LLBCTL_ROLLB, 1, "ROLLB between LL and SC");
}

TEST(llsc_guest_ertn_breaks)
{
	struct vcpu v;

	start(&v, llsc_syscall);
	run_to_exc(&v, EC_SYS);
	CHECK_EQ(gcsrrd(CSR_LLBCTL) & LLBCTL_ROLLB, 1, "ROLLB in the handler");
	guest_skip_exc();
	check_end(&v, 0); /* goes on with the guest's ertn */
}

TEST(llsc_klo_keeps)
{
	struct vcpu v;

	start(&v, llsc_klo_syscall);
	run_to_exc(&v, EC_SYS);
	CHECK_EQ(gcsrrd(CSR_LLBCTL) & LLBCTL_KLO, LLBCTL_KLO, "KLO");
	guest_skip_exc();
	check_end(&v, 1);
	CHECK_EQ(gcsrrd(CSR_LLBCTL) & LLBCTL_KLO, 0, "KLO after ertn");
}

/* Refills of both stages between LL and SC */
TEST(llsc_refill_ertn_keeps)
{
	struct vcpu v;
	u64 root = pt_new(), p = alloc(8192), tables = 0x3f0000;

	/* Guest tables in spare pages of the image: 0x10000000 -> 0x40000000 */
	for (int i = 0; i < 512; i++) {
		write64(tables + i * 8, tables + 0x1000);
		write64(tables + 0x1000 + i * 8, tables + 0x2000);
	}
	write64(tables + 0x2000, 0x40000000 | PTE_RW);
	pt_map(root, 0x40000000, p | PTE_RW);
	start(&v, llsc_load);
	guest_paging(&v);
	gcsrwr(CSR_TLBRENTRY, pa(guest_refill_walk));
	gcsrwr(CSR_PGDL, tables);
	gcsrwr(CSR_ASID, 0);
	v.gpr[4] = (u64)&cell;
	v.gpr[5] = 0x10000000;
	walk_stage2(&v, root);
	check_end(&v, 1);
	CHECK_EQ(s2_misses, 1, "second-stage misses");
	CHECK(tlb_search(GUEST, 1, 0, 0x10000000) >= 0);
}

/* What the host stores there between LL and SC is not lost. */
TEST(llsc_host_store)
{
	struct vcpu v;

	start(&v, llsc_hvcl);
	run_to_hvc(&v, HVC_CALL);
	*(volatile u64 *)&cell = 50;
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 0, "SC's result");
	CHECK_EQ(*(volatile u64 *)&cell, 50, "memory");
}

/* The host's own: exceptions (general ertn) break it, refills do not, entering the guest does. */
typedef u64 (*llsc_fn)(u64 *a, u64 b);

TEST(llsc_of_host)
{
	cell = 10;
	CHECK_EQ(((llsc_fn)llsc_nothing)(&cell, 0), 1, "nothing between");
	try_begin();
	CHECK_EQ(((llsc_fn)llsc_syscall)(&cell, 0), 0, "a syscall between");
	CHECK_EQ(caught()->ecode, EC_SYS, "ecode");
	CHECK_EQ(((llsc_fn)llsc_wcllb)(&cell, 0), 0, "WCLLB between");
	try_begin();
	CHECK_EQ(((llsc_fn)llsc_klo_syscall)(&cell, 0), 1, "KLO and a syscall between");
	caught();
	CHECK_EQ(*(volatile u64 *)&cell, 12, "memory");
}

TEST(llsc_of_host_refill)
{
	u64 root = pt_new(), p = alloc(8192);

	pt_map(root, 0x10000000, p | PTE_RW);
	csrwr(CSR_PGDL, root);
	csrwr(CSR_PWCL, PWCL_4K);
	csrwr(CSR_PWCH, 0);
	csrwr(CSR_TLBRENTRY, pa(refill_walk));
	cell = 10;
	CHECK_EQ(((llsc_fn)llsc_load)(&cell, 0x10000000), 1, "a refill between");
	CHECK_EQ(s2_misses, 1, "refills");
}

static u64 ll(u64 *a)
{
	u64 v;

	asm volatile("ll.d %0, %1, 0" : "=r"(v) : "r"(a) : "memory");
	return v;
}

static u64 sc(u64 *a, u64 v)
{
	asm volatile("sc.d %0, %1, 0" : "+r"(v) : "r"(a) : "memory");
	return v;
}

static u64 guest_return(u64 a)
{
	return a;
}

TEST(llsc_entry_breaks_the_hosts)
{
	struct vcpu v;

	start(&v, guest_return);
	other = 5;
	ll(&other);
	run_to_end(&v);
	CHECK_EQ(sc(&other, 6), 0, "the host's SC after a guest's run");
	/* KLO keeps it over the entry, and the guest's own LL/SC and ertn are nothing to it. */
	start(&v, llsc_nothing);
	csrwr(CSR_LLBCTL, LLBCTL_KLO);
	ll(&other);
	check_end(&v, 1);
	CHECK_EQ(csrrd(CSR_LLBCTL) & (LLBCTL_ROLLB | LLBCTL_KLO), LLBCTL_ROLLB, "host ROLLB, KLO");
	CHECK_EQ(sc(&other, 6), 1, "the host's SC after a guest's run, KLO");
	CHECK_EQ(*(volatile u64 *)&other, 6, "memory");
}

/* Between a guest's LL and SC the host uses LL and SC. */
TEST(llsc_banks_are_separate)
{
	struct vcpu v;

	start(&v, llsc_hvcl);
	other = 5;
	run_to_hvc(&v, HVC_CALL);
	ll(&other);
	CHECK_EQ(sc(&other, 6), 1, "the host's SC");
	check_end(&v, 1);
	/* and the host's broken one is not the guest's */
	start(&v, llsc_hvcl);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(sc(&other, 7), 0, "SC of the host without an LL");
	check_end(&v, 1);
}
