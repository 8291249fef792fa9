// SPDX-License-Identifier: GPL-2.0-only
/*
 * invtlb: each operation against a table of entries, in host and guest. What has to go must be
 * gone, what has to stay must be there: flushing too much hides the faults that this project hunts.
 * Looked at by tlbrd, by tlbsrch and by accesses.
 */
#include "lvz.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Both banks get all of these. va is VA, GVA or GPA, of a pair of pages; addresses are distinct
 * where two could match. (In the second stage those that differ only in their ASID do match; there
 * they are looked at by tlbrd alone.)
 */
#define A 0x10000000UL
static const struct entry {
	u64 va;
	u32 ps, asid, g, gid;
} entries[] = {
	/* the same address for GIDs and ASIDs */
	{A, 12, 3, 0, 0},
	{A, 12, 4, 0, 0},
	{A, 12, 3, 0, 1},
	{A, 12, 4, 0, 1},
	{A, 12, 3, 0, 2},
	{A, 12, 4, 0, 2},
	{A, 12, 4, 0, 0xa5},
	/* other addresses: near, the same set, far */
	{A + 0x2000, 12, 3, 0, 0},
	{A + 0x2000, 12, 3, 0, 1},
	{A + 0x2000, 12, 3, 0, 2},
	{A + 0x200000, 12, 3, 0, 1},
	{A + 0x300000, 12, 4, 0, 2},
	{0x7fffffffe000, 12, 3, 0, 1},
	/* global ones */
	{A + 0x4000, 12, 3, 1, 0},
	{A + 0x4000, 12, 3, 1, 1},
	{A + 0x4000, 12, 3, 1, 2},
	{A + 0x6000, 12, 4, 1, 1},
	/* 2 MiB pages: in the MTLB */
	{0x20000000, 21, 3, 0, 0},
	{0x20000000, 21, 3, 0, 1},
	{0x20000000, 21, 4, 0, 2},
	{0x20400000, 21, 3, 1, 1},
	{0x20400000, 21, 4, 1, 0},
};
#define N COUNT(entries)

/* 4 KiB pages are in the STLB, each in a way of its own (at most eight have the same set). */
static u32 index_of(u32 i)
{
	u32 way = 0;

	if (entries[i].ps != 12)
		return STLB_SIZE + 8 + i;
	for (u32 j = 0; j < i; j++)
		way += entries[j].ps == 12 && stlb(entries[j].va, 0) == stlb(entries[i].va, 0);
	return stlb(entries[i].va, way);
}

static void fill(enum bank b)
{
	for (u32 i = 0; i < N; i++) {
		u64 flags = PTE_RW | (entries[i].g ? PTE_G : 0);
		struct tlbe e = {entries[i].va,	  flags,	  flags,      entries[i].ps,
				 entries[i].asid, entries[i].gid, index_of(i)};

		tlb_write(b, &e);
	}
}

static int covers(const struct entry *e, u64 a)
{
	return e->va >> (e->ps + 1) == a >> (e->ps + 1);
}

/* The contract, in one place. */
static int dropped(enum bank b, const struct entry *e, u32 op, u64 rj, u64 a)
{
	u32 asid = rj & 0x3ff, gid = rj >> 16 & 0xff;
	int own = e->asid == asid;

	if (op <= 6) /* the host's operations on its own translations */
		return b == HOST && e->gid == 0 &&
		       (op <= 1 || (op == 2 && e->g) || (op == 3 && !e->g) ||
			(op == 4 && !e->g && own) || (op == 5 && !e->g && own && covers(e, a)) ||
			(op == 6 && (e->g || own) && covers(e, a)));
	if (b == GUEST) {
		if (op == 0x10 || op == 0x12)
			return 1;
		if (e->gid != gid)
			return 0;
		return op == 9 || op == 0x13 || op == 0x15 || (op == 0xa && e->g) ||
		       (op == 0xb && !e->g) || (op == 0xc && !e->g && own) ||
		       (op == 0xd && !e->g && own && covers(e, a)) ||
		       (op == 0xe && (e->g || own) && covers(e, a));
	}
	if (e->gid == 0)
		return 0;
	return op == 0x11 || op == 0x12 ||
	       (e->gid == gid && (op == 0x14 || op == 0x15 || (op == 0x16 && covers(e, a))));
}

static void check_op(u32 op, u64 rj, u64 a)
{
	struct tlbe r;

	fill(HOST);
	fill(GUEST);
	use_tgid(1); /* is not asked */
	insn(INVTLB(op), rj, a);
	use_tgid(0);
	for (enum bank b = HOST; b <= GUEST; b++)
		for (u32 i = 0; i < N; i++) {
			int there = !dropped(b, &entries[i], op, rj, a);
			const char *what =
				name("%s entry %u (va 0x%lx gid 0x%x asid %u g %u) after invtlb "
				     "0x%x, rj 0x%lx, 0x%lx",
				     b == HOST ? "host" : "guest", i, entries[i].va, entries[i].gid,
				     entries[i].asid, entries[i].g, op, rj, a);

			CHECK_EQ(tlb_read(b, index_of(i), &r), there, what);
			if (there) {
				CHECK_EQ(r.va, entries[i].va, what);
				CHECK_EQ(r.gid, entries[i].gid, what);
			}
		}
	/* By search: with the entry's own GID and ASID, in its odd page; only the one that is left
	 * can be found. */
	for (u32 i = 0; i < N; i++) {
		int there = !dropped(GUEST, &entries[i], op, rj, a);

		CHECK_EQ(tlb_search(GUEST, entries[i].gid, entries[i].asid,
				    entries[i].va | 1UL << entries[i].ps),
			 there ? index_of(i) : -1UL,
			 name("gtlbsrch for entry %u after invtlb 0x%x", i, op));
		if (entries[i].gid)
			continue;
		there = !dropped(HOST, &entries[i], op, rj, a);
		CHECK_EQ(tlb_search(HOST, 0, entries[i].asid, entries[i].va),
			 there ? index_of(i) : -1UL,
			 name("tlbsrch for entry %u after invtlb 0x%x", i, op));
	}
}

static void check_ops(u32 op)
{
	/* rj and address; the GID is in bits 23:16 as KVM passes it: the masked GSTAT. */
	static const struct {
		u64 rj, a;
	} args[] = {
		{3, A},
		{3 | 1 << 16, A},
		{4 | 1 << 16, A + 0x1000},
		{3 | 2 << 16, A},
		{3 | 1 << 16, A + 0x2000},
		{4 | 1 << 16, A + 0x4000},
		{3 | 2 << 16, A + 0x5000},
		{3 | 1 << 16, A + 0x200000},
		{3 | 1 << 16, 0x20000000},
		{4 | 1 << 16, 0x203fffff},
		{4 | 1 << 16, 0x20400000},
		{4, 0x20400000},
		{4 | 0xa5 << 16, A},
		{3 | 1 << 16, 0x7ffffffff000},
		{5 | 7 << 16, A},
	};

	for (u32 i = 0; i < COUNT(args); i++)
		check_op(op, args[i].rj, args[i].a);
}

#define OP(op)                                                                                     \
	TEST(invtlb_##op)                                                                          \
	{                                                                                          \
		check_ops(op);                                                                     \
	}
OP(0x00)
OP(0x01)
OP(0x02)
OP(0x03)
OP(0x04)
OP(0x05)
OP(0x06)
OP(0x09)
OP(0x0a)
OP(0x0b)
OP(0x0c)
OP(0x0d)
OP(0x0e)
OP(0x10)
OP(0x11)
OP(0x12)
OP(0x13)
OP(0x14)
OP(0x15)
OP(0x16)

TEST(invtlb_others_do_not_exist)
{
	static const u32 none[] = {7, 8, 0xf, 0x17, 0x18, 0x1f};

	for (u32 i = 0; i < COUNT(none); i++)
		CHECK_EQ(host_insn_ecode(INVTLB(none[i]), 0, 0), EC_INE,
			 name("invtlb 0x%x", none[i]));
}

/* The guest's 0-6 act on the guest TLB of its GID, which is GSTAT's, whatever rj says. */
static void guest_invtlb(u32 op, u64 rj, u64 a)
{
	insn(INVTLB(op), rj, a);
}

TEST(invtlb_in_guest)
{
	static const struct {
		u64 rj, a;
	} args[] = {{3, A},	     {4, A + 0x1000}, {3 | 2 << 16, A + 0x4000},
		    {4, A + 0x4000}, {3, 0x20200000}, {3, A + 0x200000}};
	struct vcpu v;
	struct tlbe r;

	for (u32 op = 0; op <= 6; op++)
		for (u32 n = 0; n < COUNT(args); n++) {
			guest_init(&v, guest_invtlb, op, args[n].rj);
			v.gpr[6] = args[n].a;
			fill(HOST);
			fill(GUEST);
			s2_image(1);
			run_to_end(&v);
			for (u32 i = 0; i < N; i++) {
				struct entry e = entries[i];
				int there = e.gid != 1;

				e.gid = 0;
				there |= !dropped(HOST, &e, op, args[n].rj, args[n].a);
				CHECK_EQ(tlb_read(GUEST, index_of(i), &r), there,
					 name("guest entry %u after the guest's invtlb 0x%x, "
					      "0x%lx, 0x%lx",
					      i, op, args[n].rj, args[n].a));
				CHECK_EQ(tlb_read(HOST, index_of(i), &r), 1,
					 name("host entry %u", i));
			}
		}
}

/*
 * The same by accesses of a guest that has used every translation before, so that the emulator had
 * cached them: what is dropped misses, what stays hits, with the right page.
 */
#define GVA 0x30000000UL
#define GPA 0x40000000UL
static const struct page {
	u64 gva, gpa;
	u32 asid, g;
} pages[] = {
	{GVA, GPA, 3, 0},
	{GVA + 0x2000, GPA + 0x2000, 3, 0},
	{GVA + 0x4000, GPA + 0x4000, 3, 1},
	{GVA + 0x6000, GPA + 0x6000, 4, 0}, /* of another ASID */
};
#define PAGES COUNT(pages)

static u64 page_of[3][PAGES];

static void guest_load_forever(u64 a)
{
	for (;;)
		a = call(*(volatile u64 *)a);
}

static void fill_pages(u32 gid)
{
	for (u32 i = 0; i < PAGES; i++) {
		u64 g = pages[i].g ? PTE_G : 0;
		struct tlbe e = {pages[i].gva, pages[i].gpa | PTE_RW | g, g, 12, pages[i].asid,
				 gid,	       stlb(pages[i].gva, gid)};

		if (!page_of[gid][i])
			page_of[gid][i] = alloc(4096);
		write64(page_of[gid][i], gid * 100 + i);
		tlb_write(GUEST, &e);
		s2_pair(gid, pages[i].gpa, page_of[gid][i] | PTE_RW, 0, gid);
	}
}

enum { HIT, MISS1, MISS2 };

static int access(u32 gid, u32 asid, u32 i, u64 *val)
{
	static struct vcpu v;
	u64 ec;

	/* guest_init would write the image's entry; it is there. */
	v.gid = gid;
	v.pc = (u64)guest_load_forever;
	v.gpr[4] = pages[i].gva;
	v.hprmd = PRMD_PIE;
	gcsrwr(CSR_CRMD, CRMD_PG);
	gcsrwr(CSR_TLBRERA, 0);
	gcsrwr(CSR_ASID, asid);
	ec = guest_run(&v);
	/* The image itself was dropped: its fetch misses. */
	if (ec == EC_REFILL && v.badv < 0x400000) {
		s2_image(gid);
		ec = guest_run(&v);
	}
	*val = v.gpr[4];
	if (ec == EC_REFILL && v.badv == pages[i].gpa)
		return MISS2;
	if (ec == EC_HVC && v.badi == HVCL(HVC_REFILL) && gcsrrd(CSR_TLBRBADV) == pages[i].gva)
		return MISS1;
	if (ec != EC_HVC || v.badi != HVCL(HVC_CALL))
		guest_fatal(&v, "a load's end");
	return HIT;
}

/* Seen from one GID and ASID, with no change of either in between: that alone would empty the
 * emulator's cache. */
static void check_access(u32 op, u64 rj, u64 a, u32 gid, u32 asid)
{
	struct vcpu v;
	u64 val;

	for (u32 g = 1; g <= 2; g++) {
		guest_init_gid(&v, g, guest_load_forever, 0, 0);
		guest_paging(&v);
		fill_pages(g);
	}
	for (u32 i = 0; i < PAGES; i++)
		NEED_EQ((u64)access(gid, asid, i, &val),
			pages[i].g || pages[i].asid == asid ? HIT : MISS1, "before");
	insn(INVTLB(op), rj, a);
	for (u32 i = 0; i < PAGES; i++) {
		struct entry e1 = {pages[i].gva, 12, pages[i].asid, pages[i].g, gid};
		struct entry e2 = {pages[i].gpa, 12, 0, 0, gid};
		int visible = pages[i].g || pages[i].asid == asid;
		int expected = !visible || dropped(GUEST, &e1, op, rj, a) ? MISS1
			       : dropped(HOST, &e2, op, rj, a)		  ? MISS2
									  : HIT;
		int found = access(gid, asid, i, &val);
		const char *what =
			name("GID %u's page %u, ASID %u, after invtlb 0x%x, rj 0x%lx, 0x%lx", gid,
			     i, asid, op, rj, a);

		CHECK_EQ((u64)found, (u64)expected, what);
		if (found == HIT)
			CHECK_EQ(val, gid * 100 + i, what);
	}
}

TEST(invtlb_seen_by_accesses)
{
	static const u64 rjs[] = {3, 3 | 1 << 16, 3 | 2 << 16, 4 | 1 << 16, 4 | 2 << 16};
	static const u64 offsets[] = {0, 0x2000, 0x4000, 0x6000};

	for (u32 op = 0; op <= 0x16; op++) {
		if (op == 7 || op == 8 || op == 0xf)
			continue;
		for (u32 r = 0; r < COUNT(rjs); r++)
			for (u32 o = 0; o < COUNT(offsets); o++)
				for (u32 c = 0; c < 4; c++)
					check_access(op, rjs[r],
						     (op == 0x16 ? GPA : GVA) + offsets[o],
						     1 + c / 2, 3 + c % 2);
	}
}

/* The guest's own, with its translations live; PG=1, so that it goes on through a window. */
static void guest_invtlb_and_load(u32 op, u64 rj, u64 a, u64 gva)
{
	u64 x = *(volatile u64 *)gva;

	insn(INVTLB(op), rj, a);
	call(x + *(volatile u64 *)gva);
}

TEST(invtlb_in_guest_seen_by_accesses)
{
	struct vcpu v;

	for (u32 op = 0; op <= 6; op++)
		for (u32 i = 0; i < PAGES; i++)
			for (u32 j = 0; j < PAGES; j++) {
				struct entry e = {pages[i].gva, 12, pages[i].asid, pages[i].g, 0};

				guest_init(&v, guest_invtlb_and_load, op, 3);
				guest_paging(&v);
				fill_pages(1);
				v.gpr[6] = pages[j].gva;
				v.gpr[7] = pages[i].gva;
				gcsrwr(CSR_ASID, pages[i].asid);
				if (dropped(HOST, &e, op, 3, pages[j].gva)) {
					run_to_hvc(&v, HVC_REFILL);
					CHECK_EQ(gcsrrd(CSR_TLBRBADV), pages[i].gva,
						 "guest TLBRBADV");
				} else {
					run_to_hvc(&v, HVC_CALL);
					CHECK_EQ(v.gpr[4], 2 * (100 + i), "value");
				}
			}
}

/* The host's own accesses: 9-0x16 leave its translations alone, 0-6 are seen by it. */
TEST(invtlb_seen_by_host)
{
	u64 p = alloc(8192), at = 0x10002000;

	write64(p, 7);
	for (u32 op = 0; op <= 0x16; op++) {
		if (op == 7 || op == 8 || op == 0xf)
			continue;
		for (u32 asid = 3; asid <= 4; asid++)
			for (u32 g = 0; g <= 1; g++) {
				u64 flags = PTE_RW | (g ? PTE_G : 0);
				struct tlbe t = {at, p | flags, g ? PTE_G : 0, 12,
						 3,  0,		stlb(at, 3)};
				struct entry e = {at, 12, 3, g, 0};

				tlb_write(HOST, &t);
				csrwr(CSR_ASID, 3);
				CHECK_EQ(*(volatile u64 *)at, 7, "before");
				insn(INVTLB(op), asid, at);
				try_begin();
				(void)*(volatile u64 *)at;
				CHECK_EQ(caught()->count, (u64)dropped(HOST, &e, op, asid, at),
					 name("misses after invtlb 0x%x, ASID %u, G %u", op, asid,
					      g));
			}
	}
}

/*
 * Everything at once, against a model: random entries of both stages, invalidations by host and
 * guest, accesses of two guests with two ASIDs, in direct address mode, at PLV0 and at PLV3. What
 * the emulator caches must never show.
 */
#define M_PAIRS 4
#define M_GVA 0x30000000UL
#define M_GPA 0x40000000UL
#define M_PAGES 16

struct mapping {
	int valid;
	u32 page[2]; /* of guest-physical pages, or of `m_pa` */
	u64 flags[2];
};
static struct {
	struct mapping s1[3][3][M_PAIRS]; /* by GID, ASID (0: global), pair */
	struct mapping s2[3][M_PAIRS];
	u64 pa[M_PAGES], value[M_PAGES];
	u64 state;
	u64 hits, misses, interrupts;
	u32 gid, asid, mode, at; /* of the next access */
} m;

static u32 rnd(u32 n)
{
	m.state ^= m.state << 13;
	m.state ^= m.state >> 7;
	m.state ^= m.state << 17;
	return (u32)(m.state >> 20) % n;
}

static u32 m_index(enum bank b, u32 gid, u32 asid, u32 pair)
{
	return b == HOST ? stlb(M_GPA + pair * 0x2000UL, gid)
			 : stlb(M_GVA + pair * 0x2000UL, gid * 3 + asid - 2);
}

static void m_drop1(u32 gid, u32 asid, u32 pair)
{
	m.s1[gid][asid][pair].valid = 0;
	tlb_drop(GUEST, m_index(GUEST, gid, asid, pair));
}

/* Mostly as it should be, sometimes invalid or clean. */
static u64 m_flags(void)
{
	static const u64 kinds[] = {PTE_RW, PTE_RW, PTE_RW, PTE_CC | PTE_V, PTE_CC | PTE_D};

	return kinds[rnd(COUNT(kinds))];
}

static void m_write(void)
{
	u32 gid = 1 + rnd(2), pair = rnd(M_PAIRS), asid = rnd(3);
	enum bank b = rnd(2) ? HOST : GUEST;
	struct mapping *e = b == HOST ? &m.s2[gid][pair] : &m.s1[gid][asid][pair];
	struct tlbe t = {(b == HOST ? M_GPA : M_GVA) + pair * 0x2000UL,
			 0,
			 0,
			 12,
			 asid,
			 gid,
			 m_index(b, gid, asid, pair)};

	e->valid = 1;
	for (u32 i = 0; i < 2; i++) {
		e->page[i] = rnd(b == HOST ? M_PAGES : 2 * M_PAIRS);
		e->flags[i] = m_flags();
	}
	t.lo0 = (b == HOST ? m.pa[e->page[0]] : M_GPA + e->page[0] * 4096UL) | e->flags[0];
	t.lo1 = (b == HOST ? m.pa[e->page[1]] : M_GPA + e->page[1] * 4096UL) | e->flags[1];
	if (b == GUEST) {
		t.lo0 |= PTE_PLV3 | (asid ? 0 : PTE_G);
		t.lo1 |= PTE_PLV3 | (asid ? 0 : PTE_G);
		/* No two entries for one address */
		for (u32 other = 0; other < 3; other++)
			if (other != asid && (!other || !asid) && m.s1[gid][other][pair].valid)
				m_drop1(gid, other, pair);
	}
	tlb_write(b, &t);
}

static void m_invalidate(u32 op, u32 guest_gid, u64 rj, u64 a)
{
	for (u32 gid = 1; gid <= 2; gid++)
		for (u32 pair = 0; pair < M_PAIRS; pair++) {
			struct entry e2 = {M_GPA + pair * 0x2000UL, 12, 0, 0, gid};

			for (u32 asid = 0; asid < 3; asid++) {
				struct entry e1 = {M_GVA + pair * 0x2000UL, 12, asid, !asid, gid};

				if (guest_gid == gid)
					e1.gid = 0; /* as the host's own are for the host */
				if (guest_gid ? dropped(HOST, &e1, op, rj, a)
					      : dropped(GUEST, &e1, op, rj, a))
					m.s1[gid][asid][pair].valid = 0;
			}
			if (!guest_gid && dropped(HOST, &e2, op, rj, a))
				m.s2[gid][pair].valid = 0;
		}
}

/* Ends in syscall: PLV3 has no hvcl. */
static void guest_touch(volatile u64 *a, u64 store, u64 val)
{
	if (store)
		*a = val;
	else
		val = *a;
	asm volatile("move $a0, %0\n\tsyscall 0" ::"r"(val) : "a0");
}

static void m_enter(struct vcpu *v, u32 gid, u32 asid, u32 mode, void *fn, u64 a0)
{
	memset(v, 0, sizeof(*v));
	v->gid = gid;
	v->hprmd = PRMD_PIE;
	v->pc = pa(fn) | (mode == 0 ? 0 : mode == 1 ? WIN_KERNEL : WIN_USER);
	v->gpr[1] = pa(guest_done) | (mode ? WIN_KERNEL : 0);
	v->gpr[4] = a0;
	gcsrwr(CSR_CRMD, mode == 0 ? CRMD_DA : mode == 1 ? CRMD_PG : CRMD_PG | CRMD_PLV3);
	gcsrwr(CSR_EENTRY, mode ? (u64)guest_exc : pa(guest_exc));
	gcsrwr(CSR_TLBRERA, 0);
	gcsrwr(CSR_ASID, asid);
	s2_image(gid);
}

/* The host's timer may end the run anywhere; it goes on there. */
static u64 m_run(struct vcpu *v)
{
	u64 ec;

	while ((ec = guest_run(v)) == EC_INT) {
		csrwr(CSR_TICLR, 1);
		m.interrupts++;
	}
	return ec;
}

/* Mostly the same GID, ASID and mode as before, often the same page: that is what the emulator has
 * cached. */
static void m_choose(void)
{
	if (!rnd(6)) {
		m.gid = 1 + rnd(2);
		m.asid = 1 + rnd(2);
		m.mode = rnd(3);
	}
	if (rnd(2))
		m.at = rnd(2 * M_PAIRS);
}

static void m_access(u64 step)
{
	static struct vcpu v;
	u32 gid = m.gid, asid = m.asid, mode = m.mode, page = m.at, store = rnd(2);
	u64 a = (mode ? M_GVA : M_GPA) + page * 4096UL, val = step << 8 | 0x55, expected = 0,
	    badv = a, ec;
	struct mapping *e = &m.s1[gid][asid][page / 2], *g = &m.s1[gid][0][page / 2];
	int inside = 1; /* where the fault is */
	u32 gpage = page;

	if (mode) {
		e = e->valid ? e : g;
		if (!e->valid)
			expected = EC_REFILL;
		else if (!(e->flags[page & 1] & PTE_V))
			expected = store ? EC_PIS : EC_PIL;
		else if (store && !(e->flags[page & 1] & PTE_D))
			expected = EC_PME;
		gpage = e->page[page & 1];
	}
	if (!expected) {
		inside = 0;
		e = &m.s2[gid][gpage / 2];
		badv = M_GPA + gpage * 4096UL;
		if (!e->valid)
			expected = EC_REFILL;
		else if (!(e->flags[gpage & 1] & PTE_V))
			expected = store ? EC_PIS : EC_PIL;
		else if (store && !(e->flags[gpage & 1] & PTE_D))
			expected = EC_PME;
	}
	m_enter(&v, gid, asid, mode, guest_touch, a);
	v.gpr[5] = store;
	v.gpr[6] = val;
	ec = m_run(&v);
	if (!expected) {
		u32 page_hit = e->page[gpage & 1];

		if (ec != EC_HVC || v.badi != HVCL(HVC_EXC) ||
		    (gcsrrd(CSR_ESTAT) >> 16 & 0x3f) != EC_SYS)
			guest_fatal(&v, name("step %lu: a hit at 0x%lx, mode %u", step, a, mode));
		if (store)
			m.value[page_hit] = val;
		CHECK_EQ(read64(m.pa[page_hit]), m.value[page_hit], "memory");
		NEED_EQ(v.gpr[4], m.value[page_hit],
			name("step %lu: value at 0x%lx, GID %u ASID %u mode %u", step, a, gid, asid,
			     mode));
		m.hits++;
		return;
	}
	m.misses++;
	if (inside) {
		u32 code = expected == EC_REFILL ? HVC_REFILL : HVC_EXC;

		if (ec != EC_HVC || v.badi != HVCL(code) ||
		    (code == HVC_EXC && (gcsrrd(CSR_ESTAT) >> 16 & 0x3f) != expected))
			guest_fatal(&v, name("step %lu: guest exception 0x%lx at 0x%lx, mode %u",
					     step, expected, a, mode));
		NEED_EQ(expected == EC_REFILL ? gcsrrd(CSR_TLBRBADV) : gcsrrd(CSR_BADV), badv,
			"guest BADV");
	} else {
		if (ec != expected)
			guest_fatal(&v, name("step %lu: exit 0x%lx for 0x%lx, mode %u", step,
					     expected, badv, mode));
		NEED_EQ(v.badv, badv, "BADV");
	}
}

static void run_random(u64 seed, u64 steps)
{
	static const u32 ops[] = {0,   1,   2,	 3,    4,    5,	   6,	 0x9,  0xa,  0xb,
				  0xc, 0xd, 0xe, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16};
	/* Those that leave something are the more frequent ones. */
	static const u32 fine[] = {0xa, 0xc, 0xd, 0xd, 0xe, 0xe, 0x16, 0x16, 0x16};
	struct vcpu v;

	m.state = seed;
	m.gid = m.asid = 1;
	guest_init_gid(&v, 1, guest_touch, 0, 0);
	guest_paging(&v);
	for (u32 i = 0; i < M_PAGES; i++) {
		m.pa[i] = alloc(4096);
		m.value[i] = i + 1;
		write64(m.pa[i], i + 1);
	}
	for (u64 step = 0; step < steps; step++) {
		u32 op = rnd(8) ? fine[rnd(COUNT(fine))] : ops[rnd(COUNT(ops))];
		u64 rj = rnd(3) | rnd(3) << 16;
		u64 a;

		m_choose();
		a = (op == 0x16 ? M_GPA : M_GVA) + m.at * 4096UL;
		switch (rnd(16)) {
		case 0 ... 4:
			m_write();
			break;
		case 5:
			insn(INVTLB(op), rj, a);
			m_invalidate(op, 0, rj, a);
			break;
		case 6: /* the guest's own */
			if (op > 6)
				op = rnd(4) ? 4 + rnd(3) : rnd(4);
			rj = 1 + rnd(2);
			a = M_GVA + m.at * 4096UL;
			m_enter(&v, m.gid, m.asid, m.mode & 1, guest_invtlb, op);
			v.gpr[5] = rj;
			v.gpr[6] = a;
			if (m_run(&v) != EC_HVC || v.badi != HVCL(0))
				guest_fatal(&v, "the end of invtlb");
			m_invalidate(op, v.gid, rj, a);
			break;
		default:
			m_access(step);
		}
	}
	print("%lu hits, %lu misses and faults\n", m.hits, m.misses);
	CHECK(m.hits > 3000 && m.misses > 3000);
}

#define RANDOM(n)                                                                                  \
	TEST(random_tlb_##n)                                                                       \
	{                                                                                          \
		run_random(0x9e3779b97f4a7c15UL * (n), 30000);                                     \
	}
RANDOM(1)
RANDOM(2)
RANDOM(3)

/* The same over a migration, see `run`: both banks, both TLBs and the mode are in the state. */
TEST(migrate_random_tlb)
{
	run_random(0x123456789abcdefUL, 150000);
}

TEST(random_tlb_interrupted)
{
	csrwr(CSR_ECFG, IS_TIMER);
	csrwr(CSR_TCFG, 2000 | TCFG_EN | TCFG_PERIODIC); /* 20 us */
	run_random(0xfedcba987654321UL, 30000);
	csrwr(CSR_TCFG, 0);
	csrwr(CSR_ECFG, 0);
	CHECK(m.interrupts > 300);
}
