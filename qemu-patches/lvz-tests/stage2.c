// SPDX-License-Identifier: GPL-2.0-only
/* The second stage: guest-physical to physical, in the host's TLB. */
#include "lvz.h"

#define RET 0x4c000020	 /* jr $ra */
#define GPA 0x40002000UL /* of a pair of data pages; its physical pages are elsewhere */

/* Two data pages with a value each; returns the physical address. */
static u64 data_pair(u64 val)
{
	u64 p = alloc(8192);

	write64(p, val);
	write64(p + 4096, val + 1);
	return p;
}

static void map_data(u32 gid, u64 gpa, u64 p, u64 flags)
{
	s2_pair(gid, gpa, p | flags, (p + 4096) | flags, 2);
}

/* The words of this file's guest functions that access memory, found by their faults. */
static void check_word(struct vcpu *v)
{
	CHECK_EQ(v->badi, *(u32 *)va(v->era), "BADI is the word at ERA");
}

TEST(s2_hit)
{
	struct vcpu v;
	u64 p = data_pair(100);

	guest_init(&v, guest_load, GPA + 4096, 0);
	map_data(1, GPA, p, PTE_RW);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 101, "odd page");
	guest_init(&v, guest_store, GPA, 0x1234);
	run_to_end(&v);
	CHECK_EQ(read64(p), 0x1234, "even page, written by the guest");
}

TEST(s2_miss_load)
{
	struct vcpu v;
	u64 p = data_pair(100), host_badv;

	guest_init(&v, guest_load, GPA + 8, 0);
	csrwr(CSR_BADV, 0x777000);
	csrwr(CSR_ESTAT, 0);
	host_badv = csrrd(CSR_BADV);
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, GPA + 8, "TLBRBADV: the guest-physical address");
	CHECK_EQ(csrrd(CSR_TLBREHI) & 0xffffffffe000, GPA, "TLBREHI.VPPN");
	CHECK_EQ(csrrd(CSR_BADV), host_badv, "BADV");
	CHECK_EQ(v.crmd & 0x1f, CRMD_DA,
		 "host CRMD in the handler: PLV0, IE=0, direct address mode");
	CHECK_EQ(v.prmd, PRMD_PIE, "TLBRPRMD: host CRMD");
	CHECK_EQ(v.gstat & GSTAT_PVM, GSTAT_PVM, "PVM");
	CHECK_EQ(gcsrrd(CSR_TLBRERA) & 1, 0, "guest ISTLBR");
	map_data(1, GPA, p, PTE_RW);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 0, "the word behind the first one");
}

TEST(s2_miss_is_by_pair_and_gid)
{
	struct vcpu v;
	u64 p = data_pair(100);

	guest_init(&v, guest_load, GPA + 8192, 0);
	map_data(1, GPA, p, PTE_RW);
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, GPA + 8192, "TLBRBADV of the next pair");
	guest_init(&v, guest_load, GPA, 0);
	map_data(2, GPA, p, PTE_RW);
	tlb_drop(HOST, stlb(GPA, 2));
	map_data(2, GPA, p, PTE_RW);
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, GPA, "TLBRBADV: only GID 2 has it");
	guest_init(&v, guest_load, GPA, 0);
	map_data(0, GPA, p, PTE_RW | PTE_G);
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, GPA, "TLBRBADV: a host translation is none for the guest");
}

TEST(s2_entry_is_none_for_host)
{
	u64 p = data_pair(100);

	map_data(1, GPA, p, PTE_RW | PTE_G);
	csrxchg(CSR_GSTAT, 1 << GSTAT_GID_SHIFT, 0xff << GSTAT_GID_SHIFT);
	use_tgid(1);
	try_begin();
	(void)*(volatile u64 *)GPA;
	CHECK_EQ(caught()->ecode, EC_REFILL, "host access");
	/* And a host translation still works while TGID says 1. */
	map_data(0, GPA + 0x100000, p, PTE_RW);
	use_tgid(1);
	CHECK_EQ(*(volatile u64 *)(GPA + 0x100000), 100, "host translation");
}

TEST(s2_ignores_asid_and_g)
{
	struct vcpu v;
	u64 p = data_pair(100);

	guest_init(&v, guest_load, GPA, 0);
	csrwr(CSR_ASID, 5);
	map_data(1, GPA, p, PTE_RW);
	csrwr(CSR_ASID, 77);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 100, "with another host ASID");
	csrwr(CSR_ASID, 0);
}

TEST(s2_miss_store_and_fetch)
{
	struct vcpu v;

	guest_init(&v, guest_store, GPA + 16, 1);
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, GPA + 16, "TLBRBADV of a store");
	guest_init(&v, guest_call, GPA + 0x24, 0);
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, GPA + 0x24, "TLBRBADV of a fetch");
	CHECK_EQ(v.pc, GPA + 0x24, "TLBRERA of a fetch");
	CHECK_EQ(csrrd(CSR_TLBREHI) & 0xffffffffe000, GPA, "TLBREHI.VPPN");
}

/* The host's ordinary refill handler: walks, fills with TGID, and its ertn lands in the guest. */
TEST(s2_refill_and_resume)
{
	struct vcpu v;
	u64 root = pt_new(), p = data_pair(100);
	struct tlbe e;

	pt_map(root, GPA, p | PTE_RW);
	pt_map(root, GPA + 4096, (p + 4096) | PTE_RW);
	guest_init(&v, guest_load, GPA + 4096, 0);
	walk_stage2(&v, root);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 101, "value");
	CHECK_EQ(s2_misses, 1, "misses");
	CHECK_EQ(s2_last_badv, GPA + 4096, "TLBRBADV");
	CHECK(tlb_read(HOST, (u32)tlb_search(HOST, 1, 0, GPA), &e));
	CHECK_EQ(e.gid, 1, "GID of tlbfill's entry");
	CHECK_EQ(e.lo0, p | PTE_RW, "TLBELO0");
	guest_init(&v, guest_load, GPA, 0);
	walk_stage2(&v, root);
	run_to_end(&v);
	CHECK_EQ(s2_misses, 0, "misses of the second run");
}

/* The image too by refills: fetches, stack and data. */
TEST(s2_refill_code)
{
	struct vcpu v;
	u64 root = pt_new(), p = data_pair(100);

	for (u64 a = 0x200000; a < 0x220000; a += 4096)
		pt_map(root, a, a | PTE_RW);
	pt_map(root, GPA, p | PTE_RW);
	guest_init(&v, guest_store, GPA, 0x55);
	tlb_drop(HOST, STLB_SIZE + 1);
	walk_stage2(&v, root);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 0x55, "value");
	CHECK_EQ(read64(p), 0x55, "memory");
	CHECK(s2_misses >= 2);
}

/* KVM fills absent pages with V=0 and maps them when they fault. */
static void check_fault(void *fn, u64 flags, u32 ecode, int fetch)
{
	struct vcpu v;
	u64 p = data_pair(100);
	u64 at = GPA + (fetch ? 0x20 : 0x28);

	write64(p + 0x20, RET);
	guest_init(&v, fn, at, 0xabc);
	map_data(1, GPA, p, flags);
	run_to_exit(&v, ecode);
	CHECK_EQ(v.esubcode, 0, "subcode");
	CHECK_EQ(v.badv, at, "BADV: the guest-physical address");
	CHECK_EQ(csrrd(CSR_TLBEHI) & 0xffffffffe000, GPA, "TLBEHI.VPPN");
	CHECK_EQ(v.prmd, PRMD_PIE, "PRMD");
	CHECK_EQ(v.gstat & GSTAT_PVM, GSTAT_PVM, "PVM");
	CHECK_EQ(v.crmd & 0x1f, CRMD_PG, "host CRMD: PLV0, IE=0");
	CHECK_EQ(csrrd(CSR_TLBRERA) & 1, 0, "host ISTLBR");
	if (fetch)
		CHECK_EQ(v.pc, at, "ERA");
	else
		check_word(&v);
	/* Mapped as it should be, it goes on. */
	map_data(1, GPA, p, PTE_RW);
	run_to_end(&v);
}

TEST(s2_invalid_load)
{
	check_fault(guest_load, PTE_CC, EC_PIL, 0);
}

TEST(s2_invalid_store)
{
	check_fault(guest_store, PTE_CC | PTE_D, EC_PIS, 0);
}

TEST(s2_invalid_fetch)
{
	check_fault(guest_call, PTE_CC | PTE_D, EC_PIF, 1);
}

TEST(s2_clean_store)
{
	check_fault(guest_store, PTE_CC | PTE_V, EC_PME, 0);
}

TEST(s2_clean_load_and_fetch_work)
{
	struct vcpu v;
	u64 p = data_pair(100);

	write64(p + 0x20, RET);
	guest_init(&v, guest_load, GPA, 0);
	map_data(1, GPA, p, PTE_CC | PTE_V);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 100, "load with D=0");
	guest_init(&v, guest_call, GPA + 0x20, 0);
	run_to_end(&v);
	/* A store after the load has filled the emulator's cache */
	guest_init(&v, guest_store, GPA, 1);
	run_to_exit(&v, EC_PME);
	CHECK_EQ(v.badv, GPA, "BADV");
	CHECK_EQ(read64(p), 100, "memory");
}

TEST(s2_plv3_guest)
{
	struct vcpu v;
	u64 p = data_pair(100);

	/* PLV=0 and even RPLV: the second stage does not look at the guest's PLV. */
	guest_init(&v, guest_store, GPA | WIN_USER, 0x77);
	guest_user(&v);
	map_data(1, GPA, p, PTE_RW | PTE_RPLV);
	run_to_hvc(&v, HVC_EXC); /* its hvcl at the end is privileged: IPE */
	CHECK_EQ(gcsrrd(CSR_ESTAT) >> 16, EC_IPE, "guest exception");
	CHECK_EQ(v.gpr[4], 0x77, "value");
	CHECK_EQ(read64(p), 0x77, "memory");
	guest_init(&v, guest_load, (GPA + 4096) | WIN_USER, 0);
	guest_user(&v);
	map_data(1, GPA, p, PTE_RW);
	run_to_hvc(&v, HVC_EXC);
	CHECK_EQ(v.gpr[4], 101, "value");
	/* V=0 at PLV3 is no PPI either. */
	guest_init(&v, guest_load, GPA | WIN_USER, 0);
	guest_user(&v);
	map_data(1, GPA, p, PTE_CC);
	run_to_exit(&v, EC_PIL);
	CHECK_EQ(v.badv, GPA, "BADV: guest-physical, without the window");
}

TEST(s2_nx_nr_ignored)
{
	struct vcpu v;
	u64 p = data_pair(100);

	write64(p + 0x20, RET);
	guest_init(&v, guest_load, GPA, 0);
	map_data(1, GPA, p, PTE_RW | PTE_NR | PTE_NX);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 100, "load with NR");
	guest_init(&v, guest_call, GPA + 0x20, 0);
	run_to_end(&v);
}

TEST(s2_huge_page)
{
	struct vcpu v;
	u64 p = alloc(0x400000), root = pt_new();
	struct tlbe e = {0x80000000, p | PTE_RW, (p + 0x200000) | PTE_RW, 21, 0, 1, STLB_SIZE + 20},
		    r;

	write64(p + 0x1ff008, 11);
	write64(p + 0x234568, 22);
	guest_init(&v, guest_load, 0x801ff008, 0);
	tlb_write(HOST, &e);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 11, "even half");
	guest_init(&v, guest_load, 0x80234568, 0);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 22, "odd half");
	guest_init(&v, guest_load, 0x80400000, 0);
	run_to_exit(&v, EC_REFILL);
	/* Out of a page table: lddir and ldpte make two halves of the 2 MiB page. */
	*pt_entry(root, 0xc0000000, 1) = p | PTE_RW | PTE_HUGE;
	guest_init(&v, guest_load, 0xc01ff008, 0);
	walk_stage2(&v, root);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 11, "through the page table");
	CHECK_EQ(s2_misses, 1, "misses");
	CHECK(tlb_read(HOST, (u32)tlb_search(HOST, 1, 0, 0xc0000000), &r));
	CHECK_EQ(r.ps, 20, "page size of the entry");
	CHECK_EQ(r.lo1, (p + 0x100000) | PTE_RW, "its odd half");
	csrwr(CSR_TLBRENTRY, pa(refill_exit));
	guest_init(&v, guest_load, 0xc0100000, 0);
	run_to_end(&v);
	guest_init(&v, guest_load, 0xc0200000, 0);
	run_to_exit(&v, EC_REFILL);
}

/* 16 KiB pages, which Linux uses: the STLB is the size's that STLBPS says. */
TEST(s2_pages_of_16k)
{
	struct vcpu v;
	u64 p = alloc(32768);
	struct tlbe e = {0x48000000, p | PTE_RW, (p + 16384) | PTE_RW, 14, 0, 1, 0}, r;
	int index;

	write64(p + 0x3ff8, 1);
	write64(p + 0x4000, 2);
	csrwr(CSR_STLBPS, 14);
	CHECK_EQ(csrrd(CSR_STLBPS) & 0x3f, 14, "STLBPS");
	guest_init(&v, guest_load, 0x48003ff8, 0);
	use_tgid(1);
	csrwr(CSR_TLBIDX, 14 << 24);
	csrwr(CSR_TLBEHI, e.va);
	csrwr(CSR_TLBELO0, e.lo0);
	csrwr(CSR_TLBELO1, e.lo1);
	insn(TLBFILL, 0, 0);
	use_tgid(0);
	index = tlb_search(HOST, 1, 0, 0x48007000);
	CHECK_EQ((u64)index < STLB_SIZE, 1, "tlbfill chose the STLB");
	CHECK(tlb_read(HOST, (u32)index, &r));
	CHECK_EQ(r.ps, 14, "page size");
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 1, "even page");
	guest_init(&v, guest_load, 0x48004000, 0);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 2, "odd page");
}

/* GIDs hide entries of each other and drop none. */
TEST(s2_gid_change_hides)
{
	struct vcpu v1, v2;
	u64 p1 = data_pair(100), p2 = data_pair(200);

	guest_init_gid(&v1, 1, guest_load, GPA, 0);
	map_data(1, GPA, p1, PTE_RW);
	run_to_end(&v1);
	CHECK_EQ(v1.gpr[4], 100, "GID 1");
	guest_init_gid(&v2, 2, guest_load, GPA, 0);
	run_to_exit(&v2, EC_REFILL);
	CHECK_EQ(v2.badv, GPA, "GID 2 misses");
	s2_pair(2, GPA, p2 | PTE_RW, 0, 3);
	run_to_end(&v2);
	CHECK_EQ(v2.gpr[4], 200, "GID 2");
	guest_init_gid(&v1, 1, guest_load, GPA, 0);
	run_to_end(&v1);
	CHECK_EQ(v1.gpr[4], 100, "GID 1 again, its entry is still there");
	guest_init_gid(&v2, 2, guest_load, GPA, 0);
	run_to_end(&v2);
	CHECK_EQ(v2.gpr[4], 200, "GID 2 again");
	/* KVM's flush of a whole guest: a new GID. */
	guest_init_gid(&v1, 3, guest_load, GPA, 0);
	run_to_exit(&v1, EC_REFILL);
	CHECK_EQ(v1.badv, GPA, "a new GID misses");
}

/*
 * What this project hunts: a translation that nobody flushed stays, over exits, other guests and
 * re-entry. The page table has changed meanwhile.
 */
static u64 guest_load_forever(u64 a)
{
	for (;;)
		call(*(volatile u64 *)a);
}

TEST(s2_retention)
{
	struct vcpu v, other;
	u64 root = pt_new(), p1 = data_pair(100), p2 = data_pair(200);

	pt_map(root, GPA, p1 | PTE_RW);
	guest_init_gid(&other, 2, guest_load_forever, 0x200000, 0);
	guest_init_gid(&v, 1, guest_load_forever, GPA, 0);
	walk_stage2(&v, root);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100, "first");
	pt_map(root, GPA, p2 | PTE_RW);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100, "after an exit");
	run_to_hvc(&other, HVC_CALL);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100, "after another guest");
	csrwr(CSR_ASID, 55);
	csrwr(CSR_ASID, 0);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100, "after a change of the host's ASID");
	CHECK_EQ(s2_misses, 1, "misses");
	/* Only a flush shows the new one. */
	insn(INVTLB(0x16), 1 << 16, GPA);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 200, "after the flush");
	CHECK_EQ(s2_misses, 2, "misses");
}

/* An entry that makes way for another is gone for the guest too, also where the emulator had cached
 * it. */
TEST(s2_eviction_by_tlbwr)
{
	struct vcpu v;
	u64 p = data_pair(100);

	guest_init(&v, guest_load_forever, GPA, 0);
	map_data(1, GPA, p, PTE_RW);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 100, "value");
	map_data(1, GPA + 0x200000, p, PTE_RW); /* the same index */
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, GPA, "TLBRBADV");
	/* Another GID's and the host's own entries push it out as well. */
	map_data(1, GPA, p, PTE_RW);
	run_to_hvc(&v, HVC_CALL);
	map_data(2, GPA + 0x200000, p, PTE_RW);
	run_to_exit(&v, EC_REFILL);
	map_data(1, GPA, p, PTE_RW);
	run_to_hvc(&v, HVC_CALL);
	map_data(0, GPA + 0x200000, p, PTE_RW);
	run_to_exit(&v, EC_REFILL);
	/* And E=0 */
	map_data(1, GPA, p, PTE_RW);
	run_to_hvc(&v, HVC_CALL);
	tlb_drop(HOST, stlb(GPA, 2));
	run_to_exit(&v, EC_REFILL);
}

TEST(s2_eviction_by_tlbfill)
{
	enum { N = 24 };
	static struct vcpu v[N];
	u64 p[N];
	int gone = 0;

	for (int i = 0; i < N; i++) {
		u64 gpa = GPA + i * 0x200000UL; /* one set of eight ways */

		p[i] = data_pair(1000 + i * 2);
		guest_init(&v[i], guest_load, gpa, 0);
		use_tgid(1);
		csrwr(CSR_TLBIDX, 12 << 24);
		csrwr(CSR_TLBEHI, gpa);
		csrwr(CSR_TLBELO0, p[i] | PTE_RW);
		csrwr(CSR_TLBELO1, 0);
		insn(TLBFILL, 0, 0);
		run_to_end(&v[i]);
		CHECK_EQ(v[i].gpr[4], 1000 + i * 2, "just filled");
	}
	for (int i = 0; i < N; i++) {
		u64 gpa = GPA + i * 0x200000UL;
		int there = tlb_search(HOST, 1, 0, gpa) >= 0;

		gone += !there;
		guest_init(&v[i], guest_load, gpa, 0);
		if (there)
			run_to_end(&v[i]);
		else
			run_to_exit(&v[i], EC_REFILL);
	}
	CHECK(gone >= N - 8);
	CHECK(gone < N);
}

/* tlbwr over a second-stage entry with the same address: new page, new rights. */
TEST(s2_overwrite)
{
	struct vcpu v;
	u64 p1 = data_pair(100), p2 = data_pair(200);

	guest_init(&v, guest_load_forever, GPA, 0);
	map_data(1, GPA, p1, PTE_RW);
	run_to_hvc(&v, HVC_CALL);
	map_data(1, GPA, p2, PTE_RW);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 200, "the new page");
	guest_init(&v, guest_store, GPA, 5);
	run_to_end(&v);
	map_data(1, GPA, p2, PTE_V | PTE_CC);
	guest_init(&v, guest_store, GPA, 6);
	run_to_exit(&v, EC_PME);
	CHECK_EQ(read64(p2), 5, "memory");
}

/* tlbclr and tlbflush of the host drop second-stage entries as architected: what they drop is gone
 * for the guest. */
TEST(s2_tlbflush)
{
	struct vcpu v;
	u64 p = data_pair(100);

	guest_init(&v, guest_load_forever, GPA, 0);
	map_data(1, GPA, p, PTE_RW);
	run_to_hvc(&v, HVC_CALL);
	csrwr(CSR_TLBIDX, stlb(GPA + 8192, 0));
	use_tgid(1);
	insn(TLBFLUSH, 0, 0);
	run_to_hvc(&v, HVC_CALL); /* that was another set */
	csrwr(CSR_TLBIDX, stlb(GPA, 0));
	use_tgid(1);
	insn(TLBFLUSH, 0, 0);
	run_to_exit(&v, EC_REFILL);
	CHECK_EQ(v.badv, GPA, "TLBRBADV");
}

static u64 guest_load_byte(u64 a)
{
	return *(volatile u8 *)a;
}

/* A device at a guest-physical address that the second stage leads to it */
TEST(s2_device)
{
	struct vcpu v;

	guest_init(&v, guest_load_byte, GPA + 0x1e5, 0);
	s2_pair(1, GPA, 0x1fe00000 | PTE_V | PTE_D, 0, 2);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4] & 0x60, 0x60, "the UART's line status: empty");
}

/* One access, two pages: the second one's miss names its own address, and the access is done as one
 * afterwards. */
TEST(s2_access_over_two_pages)
{
	struct vcpu v;
	u64 p = data_pair(100);

	guest_init(&v, guest_store, GPA + 4096 - 4, 0x1122334455667788);
	s2_pair(1, GPA, p | PTE_RW, PTE_CC, 2);
	run_to_exit(&v, EC_PIS);
	CHECK_EQ(v.badv & ~0xfffUL, GPA + 4096, "page of BADV");
	CHECK_EQ(read64(p + 4096 - 8), 0, "the first page's end, before");
	map_data(1, GPA, p, PTE_RW);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 0x1122334455667788, "value");
	CHECK_EQ(read64(p + 4096 - 8) >> 32, 0x55667788, "the first page's end");
	CHECK_EQ(read64(p + 4096) & 0xffffffff, 0x11223344, "the second page's begin");
}

static u64 guest_atomic(u64 a, u64 val)
{
	u64 old;

	asm volatile("amadd_db.d %0, %2, %1" : "=&r"(old) : "r"(a), "r"(val) : "memory");
	return old;
}

/* Atomic operations are stores to the second stage. */
TEST(s2_atomic)
{
	struct vcpu v;
	u64 p = data_pair(100);

	guest_init(&v, guest_atomic, GPA, 5);
	map_data(1, GPA, p, PTE_CC | PTE_V);
	run_to_exit(&v, EC_PME);
	CHECK_EQ(v.badv, GPA, "BADV");
	check_word(&v);
	map_data(1, GPA, p, PTE_RW);
	run_to_end(&v);
	CHECK_EQ(v.gpr[4], 100, "old value");
	CHECK_EQ(read64(p), 105, "memory");
}

/* Code is looked up again as data is: two guests with different code at one address, and new code
 * after a flush. */
static u64 guest_call_forever(u64 fn)
{
	for (;;)
		call(((u64(*)(void))fn)());
}

static void write_code(u64 p, u32 val)
{
	write64(p, 0x03800004 | val << 10 | (u64)RET << 32); /* ori $a0, $zero, val; jr $ra */
}

TEST(s2_code_is_translated_anew)
{
	static struct vcpu v[2];
	u64 p[3];

	for (u32 i = 0; i < 3; i++) {
		p[i] = alloc(4096);
		write_code(p[i], 10 + i);
	}
	for (u32 g = 0; g < 2; g++) {
		guest_init_gid(&v[g], g + 1, guest_call_forever, GPA, 0);
		s2_pair(g + 1, GPA, p[g] | PTE_RW, 0, g);
	}
	for (u32 i = 0; i < 6; i++) {
		run_to_hvc(&v[i & 1], HVC_CALL);
		CHECK_EQ(v[i & 1].gpr[4], 10 + (i & 1), "a guest's own code");
	}
	insn(INVTLB(0x16), 1 << 16, GPA);
	run_to_exit(&v[0], EC_REFILL);
	CHECK_EQ(v[0].badv, GPA, "TLBRBADV of the fetch");
	s2_pair(1, GPA, p[2] | PTE_RW, 0, 0);
	run_to_hvc(&v[0], HVC_CALL);
	CHECK_EQ(v[0].gpr[4], 12, "code after the flush");
	run_to_hvc(&v[1], HVC_CALL);
	CHECK_EQ(v[1].gpr[4], 11, "the other guest's code");
}

/* Nothing but replacement and invalidation shrinks the TLBs: both, full, over a guest's run, other
 * GIDs and ASIDs. */
TEST(tlb_capacity)
{
	struct tlbe e = {0, PTE_RW, PTE_RW, 12, 3, 1, 0}, r;
	struct vcpu v;

	guest_init_gid(&v, 2, guest_load, 0x200000, 0);
	for (u32 i = 0; i < STLB_SIZE + MTLB_SIZE; i++) {
		if (i == STLB_SIZE + 2) /* the image */
			continue;
		e.index = i;
		e.ps = i < STLB_SIZE ? 12 : 21;
		e.va = i < STLB_SIZE ? 0x40000000 + (u64)i % 256 * 0x2000 + (u64)i / 256 * 0x200000
				     : 0x100000000 + (u64)i * 0x400000;
		e.gid = i % 3 + 1;
		tlb_write(HOST, &e);
		tlb_write(GUEST, &e);
	}
	run_to_end(&v);
	gcsrwr(CSR_ASID, 9);
	csrwr(CSR_ASID, 9);
	for (u32 i = 0; i < STLB_SIZE + MTLB_SIZE; i++) {
		if (i == STLB_SIZE + 2)
			continue;
		for (enum bank b = HOST; b <= GUEST; b++) {
			if (!CHECK_EQ(
				    tlb_read(b, i, &r), 1,
				    name("%s entry %u is there", b == HOST ? "host" : "guest", i)))
				return;
			CHECK_EQ(r.gid, i % 3 + 1, "GID");
			CHECK_EQ((u64)tlb_search(b, i % 3 + 1, 3, r.va), i, "index found");
		}
	}
}
