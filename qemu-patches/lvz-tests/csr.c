// SPDX-License-Identifier: GPL-2.0-only
/* Two banks of CSRs, gcsrrd/gcsrwr/gcsrxchg, and the CSRs of LVZ. */
#include "lvz.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

TEST(cpucfg_lvz)
{
	CHECK_EQ(insn(CPUCFG, 0, 2) >> 10 & 1, 1, "CPUCFG2.LVZ");
	CHECK_EQ(insn(CPUCFG, 0, 2) >> 11 & 7, 1, "CPUCFG2.LVZ_VER");
}

/* Legal: the bits that gcsrwr can set and that both must then read back; the others are the
 * implementation's. */
static const struct banked {
	u32 csr;
	u64 legal;
} banked[] = {
	{CSR_CRMD, 0x1ff},
	{CSR_PRMD, 0x7},
	{CSR_EUEN, 0x7},
	{CSR_ECFG, 0x71fff},
	{CSR_ERA, -1UL},
	{CSR_BADV, -1UL},
	{CSR_BADI, 0xffffffff},
	{CSR_EENTRY, ~0xfffUL},
	{CSR_TLBIDX, 0xbf000fff},
	{CSR_TLBEHI, 0xffffffffe000},
	{CSR_TLBELO0, 0xfffffffff07f},
	{CSR_TLBELO1, 0xfffffffff07f},
	{CSR_ASID, 0x3ff},
	{CSR_PGDL, 0xfffffffff000},
	{CSR_PGDH, 0xfffffffff000},
	{CSR_PWCL, 0x3fffffff},
	{CSR_PWCH, 0xffffff},
	{CSR_CPUID, 0x1ff},
	{0x30, -1UL},
	{0x31, -1UL},
	{0x32, -1UL},
	{0x36, -1UL},
	{CSR_TID, 0xffffffff},
	{CSR_CNTC, -1UL},
	{CSR_TLBRENTRY, 0xfffffffff000},
	{CSR_TLBRBADV, -1UL},
	{CSR_TLBRERA, ~0x3UL},
	{CSR_TLBRSAVE, -1UL},
	{CSR_TLBRELO0, 0xfffffffff07f},
	{CSR_TLBRELO1, 0xfffffffff07f},
	{CSR_TLBREHI, 0xffffffffe03f},
	{CSR_TLBRPRMD, 0x7},
	{CSR_DMW0, 0xf000000000000039},
	{CSR_DMW1, 0xf000000000000039},
	{CSR_DMW2, 0xf000000000000039},
	{CSR_DMW3, 0xf000000000000039},
};

#define PATTERN 0x5a5aa5a5c3c33c3cUL

TEST(bank_guest_write_keeps_host)
{
	for (u32 i = 0; i < COUNT(banked); i++) {
		u32 csr = banked[i].csr;
		u64 legal = banked[i].legal, host = insn(CSRRD(csr), 0, 0);

		for (int inv = 0; inv < 2; inv++) {
			u64 v = (inv ? ~PATTERN : PATTERN) & legal;

			insn(GCSRWR(csr), v, 0);
			CHECK_EQ(insn(GCSRRD(csr), 0, 0) & legal, v, name("guest CSR 0x%x", csr));
			CHECK_EQ(insn(CSRRD(csr), 0, 0), host, name("host CSR 0x%x", csr));
			CHECK_EQ(insn(GCSRWR(csr), 0, 0) & legal, v,
				 name("gcsrwr's old value, 0x%x", csr));
		}
	}
}

TEST(bank_host_write_keeps_guest)
{
	/* What the host can change and go on: not CRMD, its windows, its entries. */
	static const u32 safe[] = {
		CSR_PRMD,     CSR_ERA,	    CSR_BADV,	  CSR_TLBIDX,  CSR_TLBEHI,   CSR_TLBELO0,
		CSR_TLBELO1,  CSR_ASID,	    CSR_PGDL,	  CSR_PGDH,    CSR_PWCL,     CSR_PWCH,
		0x30,	      0x31,	    0x32,	  CSR_TID,     CSR_CNTC,     CSR_TLBRBADV,
		CSR_TLBRSAVE, CSR_TLBRELO0, CSR_TLBRELO1, CSR_TLBREHI, CSR_TLBRPRMD, CSR_EUEN,
		CSR_ECFG,     CSR_DMW2,	    CSR_DMW3};

	for (u32 i = 0; i < COUNT(banked); i++)
		insn(GCSRWR(banked[i].csr), PATTERN & banked[i].legal, 0);
	for (u32 i = 0; i < COUNT(safe); i++) {
		u64 old = insn(CSRRD(safe[i]), 0, 0);

		insn(CSRWR(safe[i]),
		     ~PATTERN & 0xfffffffffff0 & ~(safe[i] == CSR_PWCL ? 0xc0000000 : 0), 0);
		insn(CSRWR(safe[i]), old, 0);
	}
	for (u32 i = 0; i < COUNT(banked); i++)
		CHECK_EQ(insn(GCSRRD(banked[i].csr), 0, 0) & banked[i].legal,
			 PATTERN & banked[i].legal, name("guest CSR 0x%x", banked[i].csr));
}

static void guest_csr(u64 csr)
{
	for (;;) {
		csr = call(insn(CSRRD((u32)csr), 0, 0));
		csr = call(insn(CSRWR((u32)csr), ~PATTERN & csr >> 32, 0));
	}
}

/* csrrd and csrwr in the guest use the bank that gcsr* shows. */
TEST(bank_guest_own)
{
	static const u32 csrs[] = {
		CSR_PRMD,    CSR_ERA,	   CSR_BADV,	 CSR_TLBIDX,   CSR_TLBEHI,   CSR_TLBELO0,
		CSR_TLBELO1, CSR_ASID,	   CSR_PGDL,	 CSR_PGDH,     0x30,	     0x31,
		0x32,	     0x33,	   0x34,	 0x35,	       0x36,	     0x37,
		CSR_TID,     CSR_CNTC,	   CSR_TLBRBADV, CSR_TLBRSAVE, CSR_TLBRELO0, CSR_TLBRELO1,
		CSR_TLBREHI, CSR_TLBRPRMD, CSR_DMW0,	 CSR_DMW1,     CSR_DMW2,     CSR_DMW3};
	struct vcpu v;

	guest_init(&v, guest_csr, 0, 0);
	for (u32 i = 0; i < COUNT(csrs); i++) {
		u64 mask = csrs[i] == CSR_TLBIDX			    ? 0xbf000fff
			   : csrs[i] == CSR_ASID			    ? 0x3ff
			   : csrs[i] == CSR_TLBREHI			    ? 0xffffe03f
			   : csrs[i] == CSR_TLBEHI			    ? 0xffffe000
			   : csrs[i] == CSR_TLBRPRMD || csrs[i] == CSR_PRMD ? 0x7
			   : csrs[i] >= CSR_DMW0			    ? 0x39
			   : csrs[i] == CSR_TLBELO0 || csrs[i] == CSR_TLBELO1 ||
					   csrs[i] == CSR_TLBRELO0 || csrs[i] == CSR_TLBRELO1
				   ? 0xfffff07f
				   : 0xfffff000;
		u64 host = insn(CSRRD(csrs[i]), 0, 0);
		int volatile_host = csrs[i] == CSR_ERA || csrs[i] == CSR_PRMD ||
				    (csrs[i] >= 0x33 && csrs[i] <= 0x37) || csrs[i] == CSR_BADV ||
				    csrs[i] == CSR_PGDL;

		insn(GCSRWR(csrs[i]), PATTERN & mask, 0);
		v.gpr[4] = csrs[i];
		run_to_hvc(&v, HVC_CALL);
		CHECK_EQ(v.gpr[4] & mask, PATTERN & mask, name("csrrd 0x%x in the guest", csrs[i]));
		v.gpr[4] = csrs[i] | mask << 32;
		run_to_hvc(&v, HVC_CALL);
		CHECK_EQ(v.gpr[4] & mask, PATTERN & mask, name("csrwr's old value, 0x%x", csrs[i]));
		CHECK_EQ(insn(GCSRRD(csrs[i]), 0, 0) & mask, ~PATTERN & mask,
			 name("gcsrrd 0x%x", csrs[i]));
		if (!volatile_host)
			CHECK_EQ(insn(CSRRD(csrs[i]), 0, 0), host,
				 name("host's CSR 0x%x", csrs[i]));
		insn(GCSRWR(csrs[i]), 0, 0);
	}
}

TEST(gcsrxchg)
{
	gcsrwr(CSR_ERA, 0x1234567812345678);
	CHECK_EQ(gcsrxchg(CSR_ERA, 0xffffffffffffffff, 0xff00ff), 0x1234567812345678, "old value");
	CHECK_EQ(gcsrrd(CSR_ERA), 0x1234567812ff56ff, "new value");
	CHECK_EQ(gcsrxchg(CSR_ERA, 0, 0xff), 0x1234567812ff56ff, "old value");
	CHECK_EQ(gcsrrd(CSR_ERA), 0x1234567812ff5600, "new value");
	/* One with a write function of its own */
	gcsrwr(CSR_ASID, 0x155);
	CHECK_EQ(gcsrxchg(CSR_ASID, 0x2a0, 0x3f0) & 0x3ff, 0x155, "ASID's old value");
	CHECK_EQ(gcsrrd(CSR_ASID) & 0x3ff, 0x2a5, "ASID");
	gcsrwr(CSR_TCFG, 0);
	gcsrxchg(CSR_TCFG, 0x4000, 0xff00);
	CHECK_EQ(gcsrrd(CSR_TCFG), 0x4000, "TCFG");
}

/* Read-only for a guest, but the host gives the guest its values. */
TEST(gcsr_writes_read_only)
{
	gcsrwr(CSR_CPUID, 5);
	CHECK_EQ(gcsrrd(CSR_CPUID), 5, "CPUID");
	CHECK_EQ(csrrd(CSR_CPUID), 0, "the host's CPUID");
	gcsrwr(CSR_BADI, 0x12345678);
	CHECK_EQ(gcsrrd(CSR_BADI), 0x12345678, "BADI");
	gcsrwr(CSR_TCFG, 0);
	gcsrwr(CSR_TVAL, 0x123400);
	CHECK_EQ(gcsrrd(CSR_TVAL), 0x123400, "TVAL of a disabled timer");
}

static void guest_read_cpuid(void)
{
	call(insn(CSRRD(CSR_CPUID), 0, 0));
}

TEST(guest_cpuid)
{
	struct vcpu v;

	guest_init(&v, guest_read_cpuid, 0, 0);
	gcsrwr(CSR_CPUID, 9);
	run_to_hvc(&v, HVC_CALL);
	CHECK_EQ(v.gpr[4], 9, "the guest's CPUID");
}

/* KVM saves PRCFG1-3 and does not restore them; ASIDBITS has to survive its gcsrwr ASID, 0. */
TEST(gcsr_fixed_fields)
{
	static const u32 prcfg[] = {CSR_PRCFG1, CSR_PRCFG2, CSR_PRCFG3};

	for (u32 i = 0; i < COUNT(prcfg); i++) {
		u64 host = insn(CSRRD(prcfg[i]), 0, 0);

		CHECK_EQ(insn(GCSRRD(prcfg[i]), 0, 0), host, name("guest CSR 0x%x", prcfg[i]));
		insn(GCSRWR(prcfg[i]), 0x55, 0);
		CHECK_EQ(insn(GCSRRD(prcfg[i]), 0, 0), host,
			 name("guest CSR 0x%x after a write", prcfg[i]));
		CHECK_EQ(insn(CSRRD(prcfg[i]), 0, 0), host, name("host CSR 0x%x", prcfg[i]));
	}
	gcsrwr(CSR_ASID, 0);
	CHECK_EQ(gcsrrd(CSR_ASID), 0xa0000, "ASID after 0");
	gcsrwr(CSR_ASID, -1UL);
	CHECK_EQ(gcsrrd(CSR_ASID), 0xa03ff, "ASID after all ones");
}

/* CSRs that the guest bank has not: read 0, ignore writes; those of the host stay. */
TEST(gcsr_not_in_bank)
{
	static const u32 none[] = {0x9,	  0xb,	 0xd,	0x14,	   CSR_GTLBC, CSR_TRGP,	 0x17,
				   0x24,  0x2f,	 0x45,	CSR_GSTAT, CSR_GCFG,  CSR_GINTC, CSR_GCNTC,
				   0x61,  0x80,	 0x81,	0x90,	   0x91,      0x93,	 0x98,
				   0x184, 0x200, 0x201, 0x300,	   0x301,     0x380,	 0x500,
				   0x501, 0x502, 0x3fff};

	csrwr(CSR_GINTC, 0);
	csrwr(CSR_GCNTC, 0);
	for (u32 i = 0; i < COUNT(none); i++) {
		u64 host = insn(CSRRD(none[i]), 0, 0);

		CHECK_EQ(host_insn_ecode(GCSRWR(none[i]), -1UL, 0), -1,
			 name("gcsrwr 0x%x", none[i]));
		CHECK_EQ(insn(GCSRRD(none[i]), 55, 0), 0, name("guest CSR 0x%x", none[i]));
		CHECK_EQ(insn(GCSRXCHG(none[i]), 55, -1UL), 0, name("gcsrxchg 0x%x", none[i]));
		CHECK_EQ(insn(CSRRD(none[i]), 0, 0), host, name("host CSR 0x%x", none[i]));
	}
}

TEST(gstat)
{
	csrwr(CSR_GSTAT, 0);
	CHECK_EQ(csrrd(CSR_GSTAT), 8 << 4, "GSTAT after 0: GIDBIT is 8");
	csrwr(CSR_GSTAT, -1UL);
	CHECK_EQ(csrrd(CSR_GSTAT), 0xff0082, "GSTAT after all ones: GID, GIDBIT, PVM, not VM");
	csrxchg(CSR_GSTAT, 0x5a0000, 0xff0000);
	CHECK_EQ(csrrd(CSR_GSTAT), 0x5a0082, "GSTAT after csrxchg of GID");
	csrwr(CSR_GSTAT, 0);
	CHECK_EQ(csrrd(CSR_GSTAT), 0x80, "GSTAT after 0 again");
}

TEST(gtlbc)
{
	csrwr(CSR_GTLBC, -1UL);
	CHECK_EQ(csrrd(CSR_GTLBC), 0xff1000, "GTLBC after all ones: TGID, USETGID");
	csrwr(CSR_GTLBC, 0);
	CHECK_EQ(csrrd(CSR_GTLBC), 0, "GTLBC after 0");
	csrwr(CSR_GTLBC, 0x771000);
	CHECK_EQ(csrxchg(CSR_GTLBC, 0, 0xff0000), 0x771000, "csrxchg's old value");
	CHECK_EQ(csrrd(CSR_GTLBC), 0x1000, "GTLBC after csrxchg");
}

TEST(gcfg_offers_nothing)
{
	csrwr(CSR_GCFG, -1UL);
	CHECK_EQ(csrrd(CSR_GCFG), 0, "GCFG");
}

TEST(gintc)
{
	csrwr(CSR_GINTC, -1UL);
	CHECK_EQ(csrrd(CSR_GINTC), 0xff, "GINTC after all ones: VIP");
	csrwr(CSR_GINTC, 0xa5);
	CHECK_EQ(csrrd(CSR_GINTC), 0xa5, "GINTC");
	csrxchg(CSR_GINTC, 0, 0x81);
	CHECK_EQ(csrrd(CSR_GINTC), 0x24, "GINTC after csrxchg");
}

TEST(gcntc)
{
	csrwr(CSR_GCNTC, PATTERN);
	CHECK_EQ(csrrd(CSR_GCNTC), PATTERN, "GCNTC");
	CHECK(rdtime() < 1UL << 40); /* not the host's counter */
}

TEST(trgp)
{
	struct tlbe e = {0x40000000, PTE_RW, PTE_RW, 12, 3, 0x5b, stlb(0x40000000, 1)}, r;

	tlb_write(HOST, &e);
	CHECK(tlb_read(HOST, e.index, &r));
	CHECK_EQ(csrrd(CSR_TRGP), 0x5b0000, "TRGP of the host's entry");
	tlb_write(GUEST, &e);
	CHECK(tlb_read(GUEST, e.index, &r));
	CHECK_EQ(csrrd(CSR_TRGP), 0x5b0001, "TRGP of the guest's entry");
	e.gid = 0;
	tlb_write(HOST, &e);
	CHECK(tlb_read(HOST, e.index, &r));
	CHECK_EQ(csrrd(CSR_TRGP), 0, "TRGP of a host translation");
}

/* Without USETGID the host's TLB instructions make host translations, and gtlb* use GSTAT.GID. */
TEST(usetgid)
{
	struct tlbe e = {0x40000000, PTE_RW, PTE_RW, 12, 3, 0, stlb(0x40000000, 1)}, r;

	csrwr(CSR_GSTAT, 0x660000);
	csrwr(CSR_GTLBC, 0x550000);
	csrwr(CSR_TLBIDX, e.index | 12 << 24);
	csrwr(CSR_TLBEHI, e.va);
	csrwr(CSR_TLBELO0, e.lo0);
	csrwr(CSR_TLBELO1, e.lo1);
	insn(TLBWR, 0, 0);
	CHECK(tlb_read(HOST, e.index, &r));
	CHECK_EQ(r.gid, 0, "GID of tlbwr's entry");
	gcsrwr(CSR_TLBIDX, e.index | 12 << 24);
	gcsrwr(CSR_TLBEHI, e.va);
	gcsrwr(CSR_TLBELO0, e.lo0);
	gcsrwr(CSR_TLBELO1, e.lo1);
	insn(GTLBWR, 0, 0);
	CHECK(tlb_read(GUEST, e.index, &r));
	CHECK_EQ(r.gid, 0x66, "GID of gtlbwr's entry");
	csrwr(CSR_GTLBC, 0x550000 | GTLBC_USETGID);
	insn(GTLBWR, 0, 0);
	CHECK(tlb_read(GUEST, e.index, &r));
	CHECK_EQ(r.gid, 0x55, "GID of gtlbwr's entry with USETGID");
}

/* All of it over a migration, which `run` does in the first of two seconds. */
TEST(migrate_csrs)
{
	static const u32 host[] = {CSR_PRMD, CSR_TLBEHI,  CSR_ASID, CSR_PGDL,
				   0x30,     CSR_TLBREHI, CSR_DMW3};
	u64 old[COUNT(host)];

	for (u32 i = 0; i < COUNT(banked); i++)
		insn(GCSRWR(banked[i].csr), PATTERN & banked[i].legal, 0);
	gcsrwr(CSR_MISC, 0x80);
	gcsrwr(CSR_STLBPS, 14);
	gcsrwr(CSR_LLBCTL, LLBCTL_KLO);
	gcsrwr(CSR_ESTAT, IS_IPI | 0xb0000);
	gcsrwr(CSR_TCFG, 10000000000 | TCFG_EN);
	csrwr(CSR_GSTAT, 0x5a0000);
	csrwr(CSR_GTLBC, 0xa51000);
	csrwr(CSR_GINTC, 0x81);
	csrwr(CSR_GCNTC, PATTERN);
	for (u32 i = 0; i < COUNT(host); i++)
		old[i] = insn(CSRRD(host[i]), 0, 0);
	for (u64 t = rdtime(); rdtime() - t < 200000000;)
		;
	for (u32 i = 0; i < COUNT(banked); i++)
		CHECK_EQ(insn(GCSRRD(banked[i].csr), 0, 0) & banked[i].legal,
			 PATTERN & banked[i].legal, name("guest CSR 0x%x", banked[i].csr));
	for (u32 i = 0; i < COUNT(host); i++)
		CHECK_EQ(insn(CSRRD(host[i]), 0, 0), old[i], name("host CSR 0x%x", host[i]));
	CHECK_EQ(gcsrrd(CSR_MISC), 0x80, "guest MISC");
	CHECK_EQ(gcsrrd(CSR_STLBPS), 14, "guest STLBPS");
	CHECK_EQ(gcsrrd(CSR_LLBCTL), LLBCTL_KLO, "guest LLBCTL");
	CHECK_EQ(gcsrrd(CSR_ESTAT), IS_IPI | 0x81 << 2 | 0xb0000, "guest ESTAT");
	CHECK_EQ(gcsrrd(CSR_TCFG), 10000000000 | TCFG_EN, "guest TCFG");
	CHECK(gcsrrd(CSR_TVAL) <= 10000000000 - 200000000 && gcsrrd(CSR_TVAL) > 5000000000);
	CHECK_EQ(gcsrrd(CSR_PRCFG1), csrrd(CSR_PRCFG1), "guest PRCFG1");
	CHECK_EQ(csrrd(CSR_GSTAT), 0x5a0080, "GSTAT");
	CHECK_EQ(csrrd(CSR_GTLBC), 0xa51000, "GTLBC");
	CHECK_EQ(csrrd(CSR_GINTC), 0x81, "GINTC");
	CHECK_EQ(csrrd(CSR_GCNTC), PATTERN, "GCNTC");
}
