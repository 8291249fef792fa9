// SPDX-License-Identifier: GPL-2.0-only
/* What the tests themselves stand on, and the host's side that needs no LVZ. Also with lvz=off. */
#include "lvz.h"

TEST(off_framework)
{
	static volatile u32 data = 5;
	u64 page = alloc(4096);

	CHECK_EQ(data, 5, "initialised data");
	CHECK_EQ(insn(CPUCFG, 0, 1) & 3, 2, "CPUCFG1.ARCH is LA64");
	CHECK_EQ(host_insn_ecode(SYSCALL, 0, 0), EC_SYS, "syscall");
	CHECK_EQ(caught()->badi, SYSCALL, "BADI");
	CHECK_EQ(host_insn_ecode(BREAK, 0, 0), EC_BRK, "break");
	CHECK_EQ(host_insn_ecode(CPUCFG, 0, 1), -1, "no exception");
	write64(page, 77);
	CHECK_EQ(read64(page), 77, "memory");
	CHECK_EQ(csrrd(CSR_CRMD) & 0x1f, CRMD_PG, "CRMD");
}

/* A load of the host through its own TLB: entry by tlbwr, refill exception without one. */
TEST(off_host_tlb)
{
	u64 page = alloc(8192), at = 0x10002000;
	struct tlbe e = {at, page | PTE_RW, (page + 4096) | PTE_RW, 12, 7, 0, stlb(at, 3)}, r;

	write64(page, 1111);
	write64(page + 4096, 2222);
	try_begin();
	(void)*(volatile u64 *)at;
	NEED_EQ(caught()->count, 1, "misses");
	CHECK_EQ(caught()->ecode, EC_REFILL, "refill");
	CHECK_EQ(caught()->badv, at, "TLBRBADV");
	csrwr(CSR_TLBIDX, e.index | 12 << 24);
	csrwr(CSR_TLBEHI, e.va);
	csrwr(CSR_TLBELO0, e.lo0);
	csrwr(CSR_TLBELO1, e.lo1);
	csrwr(CSR_ASID, e.asid);
	insn(TLBWR, 0, 0);
	CHECK_EQ(*(volatile u64 *)at, 1111, "even page");
	CHECK_EQ(*(volatile u64 *)(at + 4096), 2222, "odd page");
	CHECK(tlb_read(HOST, e.index, &r));
	CHECK_EQ(r.va, at, "TLBEHI");
	CHECK_EQ(r.lo0, e.lo0, "TLBELO0");
	csrwr(CSR_ASID, 8);
	try_begin();
	(void)*(volatile u64 *)at;
	CHECK_EQ(caught()->ecode, EC_REFILL, "with another ASID");
}

/* tlbrd puts the ASID of the entry into CSR_ASID, 0 for an invalid one; an index beyond the TLB
 * reads as invalid. */
TEST(off_tlbrd)
{
	u64 page = alloc(8192);
	struct tlbe e = {0x10002000, page | PTE_RW,	 (page + 4096) | PTE_RW, 12, 7,
			 0,	     stlb(0x10002000, 2)};

	tlb_write(HOST, &e);
	csrwr(CSR_ASID, 9);
	csrwr(CSR_TLBIDX, e.index);
	insn(TLBRD, 0, 0);
	CHECK_EQ(csrrd(CSR_ASID) & 0x3ff, 7, "ASID of the entry");
	tlb_drop(HOST, e.index);
	csrwr(CSR_ASID, 9);
	csrwr(CSR_TLBIDX, e.index);
	insn(TLBRD, 0, 0);
	CHECK_EQ(csrrd(CSR_ASID) & 0x3ff, 0, "ASID of an invalid entry");
	csrwr(CSR_TLBIDX, 0xfff);
	insn(TLBRD, 0, 0);
	CHECK_EQ(csrrd(CSR_TLBIDX) >> 31 & 1, 1, "TLBIDX.NE beyond the TLB");
}

/* A window that the host closes is closed at once. */
TEST(off_window_change)
{
	u64 page = alloc(4096), at = (page & 0xffffffffffff) | 0xb000000000000000;

	write64(page, 1234);
	csrwr(CSR_DMW2, 0xb000000000000011);
	CHECK_EQ(*(volatile u64 *)at, 1234, "through the window");
	csrwr(CSR_DMW2, 0);
	try_begin();
	(void)*(volatile u64 *)at;
	NEED_EQ(caught()->count, 1, "exceptions after it is closed");
	CHECK_EQ(caught()->ecode, EC_ADE, "address error");
}

/* Without the property there is no trace of LVZ. */
TEST(off_nothing)
{
	static const u32 gone[] = {
		HVCL(0),      GTLBCLR,	GTLBFLUSH,	  GTLBSRCH,	    GTLBRD,
		GTLBWR,	      GTLBFILL, GCSRRD(CSR_CRMD), GCSRWR(CSR_CRMD), GCSRXCHG(CSR_CRMD),
		GCSRRD(0x3ff)};
	static const u32 csrs[] = {CSR_GTLBC, CSR_TRGP, CSR_GSTAT, CSR_GCFG, CSR_GINTC, CSR_GCNTC};

	CHECK_EQ(insn(CPUCFG, 0, 2) >> 10 & 0xf, 0, "CPUCFG2.LVZ and LVZ_VER");
	for (u32 i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		CHECK_EQ(host_insn_ecode(gone[i], 0, 0), EC_INE, name("instruction 0x%x", gone[i]));
	for (u32 op = 7; op < 32; op++)
		CHECK_EQ(host_insn_ecode(INVTLB(op), 0, 0), EC_INE, name("invtlb 0x%x", op));
	for (u32 op = 0; op < 7; op++)
		CHECK_EQ(host_insn_ecode(INVTLB(op), 0, 0), -1, name("invtlb 0x%x", op));
	for (u32 i = 0; i < sizeof(csrs) / sizeof(csrs[0]); i++) {
		CHECK_EQ(host_insn_ecode(CSRWR(csrs[i]), -1UL, 0), -1, name("csrwr 0x%x", csrs[i]));
		CHECK_EQ(insn(CSRRD(csrs[i]), 0, 0), 0, name("CSR 0x%x", csrs[i]));
	}
}
