/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests share: registers and instructions of LoongArch and of its virtualization
 * extension, the test macros, the console, exceptions, TLBs, page tables, and guests.
 */
#ifndef LVZ_H
#define LVZ_H

#ifndef __ASSEMBLER__
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
#endif

/* CSRs */
#define CSR_CRMD 0x0
#define CSR_PRMD 0x1
#define CSR_EUEN 0x2
#define CSR_MISC 0x3
#define CSR_ECFG 0x4
#define CSR_ESTAT 0x5
#define CSR_ERA 0x6
#define CSR_BADV 0x7
#define CSR_BADI 0x8
#define CSR_EENTRY 0xc
#define CSR_TLBIDX 0x10
#define CSR_TLBEHI 0x11
#define CSR_TLBELO0 0x12
#define CSR_TLBELO1 0x13
#define CSR_GTLBC 0x15
#define CSR_TRGP 0x16
#define CSR_ASID 0x18
#define CSR_PGDL 0x19
#define CSR_PGDH 0x1a
#define CSR_PGD 0x1b
#define CSR_PWCL 0x1c
#define CSR_PWCH 0x1d
#define CSR_STLBPS 0x1e
#define CSR_RVACFG 0x1f
#define CSR_CPUID 0x20
#define CSR_PRCFG1 0x21
#define CSR_PRCFG2 0x22
#define CSR_PRCFG3 0x23
#define CSR_SAVE0 0x30
#define CSR_TID 0x40
#define CSR_TCFG 0x41
#define CSR_TVAL 0x42
#define CSR_CNTC 0x43
#define CSR_TICLR 0x44
#define CSR_GSTAT 0x50
#define CSR_GCFG 0x51
#define CSR_GINTC 0x52
#define CSR_GCNTC 0x53
#define CSR_LLBCTL 0x60
#define CSR_TLBRENTRY 0x88
#define CSR_TLBRBADV 0x89
#define CSR_TLBRERA 0x8a
#define CSR_TLBRSAVE 0x8b
#define CSR_TLBRELO0 0x8c
#define CSR_TLBRELO1 0x8d
#define CSR_TLBREHI 0x8e
#define CSR_TLBRPRMD 0x8f
#define CSR_DMW0 0x180
#define CSR_DMW1 0x181
#define CSR_DMW2 0x182
#define CSR_DMW3 0x183

/* Scratch registers of start.S; the tests may use the others. */
#define KS_VCPU 0x33
#define KS_A2 0x34
#define KS_T0 0x35
#define KS_T1 0x36
#define KS_CRMD 0x37

#define CRMD_PLV3 0x3
#define CRMD_IE 0x4
#define CRMD_DA 0x8
#define CRMD_PG 0x10
#define PRMD_PIE 0x4
#define EUEN_FPE 0x1
#define EUEN_SXE 0x2
#define EUEN_ASXE 0x4
#define GSTAT_PVM 0x2
#define GSTAT_GID_SHIFT 16
#define GTLBC_USETGID 0x1000
#define GTLBC_TGID_SHIFT 16
#define IS_SWI0 0x1
#define IS_HWI0 0x4
#define IS_TIMER 0x800
#define IS_IPI 0x1000
#define TCFG_EN 0x1
#define TCFG_PERIODIC 0x2
#define LLBCTL_ROLLB 0x1
#define LLBCTL_WCLLB 0x2
#define LLBCTL_KLO 0x4

/* TLB entries and PTEs */
#define PTE_V 0x1
#define PTE_D 0x2
#define PTE_PLV3 0xc
#define PTE_CC 0x10
#define PTE_G 0x40
#define PTE_HUGE 0x40
#define PTE_HGLOBAL 0x1000
#define PTE_NR (1UL << 61)
#define PTE_NX (1UL << 62)
#define PTE_RPLV (1UL << 63)
#define PTE_RW (PTE_V | PTE_D | PTE_CC)
#define STLB_SIZE 2048
#define MTLB_SIZE 64

/* Exception codes; a TLB refill has none of its own. */
#define EC_INT 0
#define EC_PIL 1
#define EC_PIS 2
#define EC_PIF 3
#define EC_PME 4
#define EC_PNR 5
#define EC_PNX 6
#define EC_PPI 7
#define EC_ADE 8
#define EC_BCE 10
#define EC_SYS 11
#define EC_BRK 12
#define EC_INE 13
#define EC_IPE 14
#define EC_FPD 15
#define EC_SXD 16
#define EC_ASXD 17
#define EC_FPE 18
#define EC_GSPR 22
#define EC_HVC 23
#define EC_REFILL 0x100

/* Vectors of start.S */
#define VEC_REFILL 0x200

/* Codes of hvcl in our guests: CALL is what guest C code uses; the others are guests' exception
 * entries (start.S). */
#define HVC_CALL 0x10
#define HVC_REFILL 0x7ffd
#define HVC_EXC 0x7ffe

/* Windows: cached for host and guest kernel, the same with PLV3 for guests' user code, uncached for
 * devices */
#define WIN_KERNEL 0x9000000000000000
#define WIN_USER 0xa000000000000000
#define WIN_DEVICE 0x8000000000000000
#define DMW_KERNEL (WIN_KERNEL | 0x11)
#define DMW_USER (WIN_USER | 0x19)
#define DMW_DEVICE (WIN_DEVICE | 0x01)

/* struct vcpu */
#define V_PC 256
#define V_HSP 264
#define V_HPRMD 272
#define V_VECTOR 280
#define V_CRMD 288
#define V_GSTAT 296

#ifndef __ASSEMBLER__

/* Instructions as words: rd or the first operand is a0, rj or the second a1 (see insn()). */
#define CSRRD(csr) (0x04000004u | (csr) << 10)
#define CSRWR(csr) (0x04000024u | (csr) << 10)
#define CSRXCHG(csr) (0x040000a4u | (csr) << 10)
#define GCSRRD(csr) (0x05000004u | (csr) << 10)
#define GCSRWR(csr) (0x05000024u | (csr) << 10)
#define GCSRXCHG(csr) (0x050000a4u | (csr) << 10)
#define HVCL(code) (0x002b8000u | (code))
#define GTLBCLR 0x06482001u
#define GTLBFLUSH 0x06482401u
#define GTLBSRCH 0x06482801u
#define GTLBRD 0x06482c01u
#define GTLBWR 0x06483001u
#define GTLBFILL 0x06483401u
#define TLBCLR 0x06482000u
#define TLBFLUSH 0x06482400u
#define TLBSRCH 0x06482800u
#define TLBRD 0x06482c00u
#define TLBWR 0x06483000u
#define TLBFILL 0x06483400u
#define INVTLB(op) (0x06498000u | 5 << 10 | 4 << 5 | (op)) /* rj = a0, rk = a1 */
#define CPUCFG (0x00006c00u | 5 << 5 | 4)
#define IOCSRRD_B (0x06480000u | 5 << 5 | 4)
#define IOCSRRD_H (0x06480400u | 5 << 5 | 4)
#define IOCSRRD_W (0x06480800u | 5 << 5 | 4)
#define IOCSRRD_D (0x06480c00u | 5 << 5 | 4)
#define IOCSRWR_B (0x06481000u | 5 << 5 | 4)
#define IOCSRWR_H (0x06481400u | 5 << 5 | 4)
#define IOCSRWR_W (0x06481800u | 5 << 5 | 4)
#define IOCSRWR_D (0x06481c00u | 5 << 5 | 4)
#define IDLE 0x06488000u
#define CACOP (0x06000000u | 5 << 5 | 8)
#define LDDIR(level) (0x06400000u | (level) << 10 | 5 << 5 | 4)
#define LDPTE(odd) (0x06440000u | (odd) << 10 | 5 << 5)
#define RDTIME_D (0x00006800u | 4) /* rd = a0, rj = zero */
#define RDTIMEL_W (0x00006000u | 4)
#define RDTIMEH_W (0x00006400u | 4)
#define SYSCALL 0x002b0000u
#define BREAK 0x002a0000u

#define csrrd(csr)                                                                                 \
	({                                                                                         \
		u64 v_;                                                                            \
		asm volatile("csrrd %0, %1" : "=r"(v_) : "i"(csr) : "memory");                     \
		v_;                                                                                \
	})
#define csrwr(csr, val)                                                                            \
	({                                                                                         \
		u64 v_ = (val);                                                                    \
		asm volatile("csrwr %0, %1" : "+r"(v_) : "i"(csr) : "memory");                     \
		v_;                                                                                \
	})
#define csrxchg(csr, val, mask)                                                                    \
	({                                                                                         \
		u64 v_ = (val);                                                                    \
		asm volatile("csrxchg %0, %1, %2"                                                  \
			     : "+r"(v_)                                                            \
			     : "r"((u64)(mask)), "i"(csr)                                          \
			     : "memory");                                                          \
		v_;                                                                                \
	})
#define gcsrrd(csr)                                                                                \
	({                                                                                         \
		u64 v_;                                                                            \
		asm volatile("gcsrrd %0, %1" : "=r"(v_) : "i"(csr) : "memory");                    \
		v_;                                                                                \
	})
#define gcsrwr(csr, val)                                                                           \
	({                                                                                         \
		u64 v_ = (val);                                                                    \
		asm volatile("gcsrwr %0, %1" : "+r"(v_) : "i"(csr) : "memory");                    \
		v_;                                                                                \
	})
#define gcsrxchg(csr, val, mask)                                                                   \
	({                                                                                         \
		u64 v_ = (val);                                                                    \
		asm volatile("gcsrxchg %0, %1, %2"                                                 \
			     : "+r"(v_)                                                            \
			     : "r"((u64)(mask)), "i"(csr)                                          \
			     : "memory");                                                          \
		v_;                                                                                \
	})

static inline u64 rdtime(void)
{
	u64 v;

	asm volatile("rdtime.d %0, $zero" : "=r"(v)::"memory");
	return v;
}

/* Tests. Each runs in a machine of its own; its command line is the test's name. */
struct test {
	const char *name;
	void (*run)(void);
};
#define TEST(id)                                                                                   \
	static void test_##id(void);                                                               \
	static const struct test entry_##id                                                        \
		__attribute__((used, section(".tests"))) = {#id, test_##id};                       \
	static void test_##id(void)

/* check: a failure is printed and counted, the test goes on; need: it ends there. */
int check_eq(u64 found, u64 expected, const char *what, const char *file, int line);
void need_(int ok);
#define CHECK_EQ(found, expected, what) check_eq(found, expected, what, __FILE__, __LINE__)
#define CHECK(cond) check_eq(!!(cond), 1, #cond, __FILE__, __LINE__)
#define NEED_EQ(found, expected, what) need_(CHECK_EQ(found, expected, what))
const char *name(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void finish(void);
_Noreturn void fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void *memset(void *d, int c, u64 n);
void *memcpy(void *d, const void *s, u64 n);

/* Physical and guest-physical addresses of what is in the image or out of alloc(). */
static inline u64 pa(const void *p)
{
	return (u64)p & 0xffffffffffff;
}
static inline void *va(u64 p)
{
	return (void *)(p | WIN_KERNEL);
}
static inline u64 read64(u64 p)
{
	return *(volatile u64 *)va(p);
}
static inline void write64(u64 p, u64 v)
{
	*(volatile u64 *)va(p) = v;
}
/* Zeroed, aligned to its size, which is a power of 2 and at least a page. Returns a physical
 * address. */
u64 alloc(u64 size);

/* Runs one instruction, given as a word; in host and guest. a0 and a1 are its operands, a0 is
 * returned. */
u64 insn(u32 word, u64 a0, u64 a1);

/* Host exceptions: between try() and caught(), one that is taken is recorded and its instruction
 * skipped. */
struct exception {
	u64 ecode, vector, era, badv, badi, estat, prmd, gstat, count;
};
void try_begin(void);
struct exception *caught(void);
/* The exception code that the instruction raises in host mode, or -1. */
int host_insn_ecode(u32 word, u64 a0, u64 a1);

/* TLBs. */
struct tlbe {
	u64 va, lo0, lo1;
	u32 ps, asid, gid, index;
};
enum bank { HOST, GUEST };
void tlb_write(enum bank b, const struct tlbe *e);    /* by tlbwr or gtlbwr at e->index */
int tlb_read(enum bank b, u32 index, struct tlbe *e); /* false when there is none; gid is TRGP's */
int tlb_search(enum bank b, u32 gid, u32 asid, u64 va); /* an index, or -1 */
void tlb_drop(enum bank b, u32 index);
void use_tgid(u32 gid);
/* The STLB's index of an address with 4 KiB pages. */
static inline u32 stlb(u64 va, u32 way)
{
	return way * 256 + ((va >> 13) & 255);
}
/* Second-stage entry for a pair of 4 KiB pages; the image (code, data, stacks) for a guest, in MTLB
 * entry `gid`. */
void s2_pair(u32 gid, u64 gpa, u64 lo0, u64 lo1, u32 way);
void s2_image(u32 gid);

#define SPARE 0x3f0000 /* free pages that s2_image() maps, up to 0x3fffff */

/* Page tables: 4 KiB pages, three levels of 512. */
#define PWCL_4K (12 | 9 << 5 | 21 << 10 | 9 << 15 | 30 << 20 | 9 << 25)
u64 pt_new(void);
u64 *pt_entry(u64 root, u64 va,
	      int level); /* level 0: the PTE; 1: the entry for 2 MiB. Makes tables. */
static inline void pt_map(u64 root, u64 va, u64 pte)
{
	*pt_entry(root, va, 0) = pte;
}

/* Guests */
struct vcpu {
	u64 gpr[32];
	u64 pc;
	u64 hsp, hprmd;
	/* Of the last exit, as the exception entry found it: */
	u64 vector, crmd, gstat;
	u64 ecode, esubcode, estat, era, badv, badi, prmd;
	u32 gid;
	u64 s2_root;
};
_Static_assert(__builtin_offsetof(struct vcpu, gstat) == V_GSTAT, "start.S and struct vcpu");
void guest_enter(struct vcpu *v); /* start.S */

/*
 * A guest that will call fn(a0, a1) in direct address mode at PLV0, GID 1 unless told, its image
 * mapped, exceptions leading to HVC_EXC and HVC_REFILL. The host's second-stage misses are exits
 * with ecode EC_REFILL.
 */
void guest_init(struct vcpu *v, void *fn, u64 a0, u64 a1);
void guest_init_gid(struct vcpu *v, u32 gid, void *fn, u64 a0, u64 a1);
void guest_paging(
	struct vcpu *v); /* from now on PG=1, running in the kernel window, with the user window */
void guest_user(struct vcpu *v); /* and at PLV3, in the user window */
u64 guest_run(struct vcpu *v);	 /* returns the exception code of the exit */
void guest_skip_exc(void);	 /* after HVC_EXC: the guest goes on behind the instruction */
/* Runs on until an exit, which must be this one; fatal with the registers otherwise. */
void run_to_hvc(struct vcpu *v, u32 code);
void run_to_exc(struct vcpu *v, u32 ecode); /* an exception inside the guest */
void run_to_exit(struct vcpu *v, u32 ecode);
void run_to_end(struct vcpu *v); /* the guest's function returned */
_Noreturn void guest_fatal(struct vcpu *v, const char *what);
/* Makes second-stage misses walk the page table v->s2_root, by lddir and ldpte, and go on with
 * ertn. */
void walk_stage2(struct vcpu *v, u64 root);
extern volatile u64 s2_misses, s2_last_badv;

/* In guest code: an exit with a value, and what the host left in a0. */
static inline u64 call(u64 a)
{
	register u64 a0 asm("a0") = a;

	asm volatile("hvcl 0x10" : "+r"(a0)::"memory");
	return a0;
}

/* Code for guests: loads, stores and reads back, calls. */
u64 guest_load(u64 a);
u64 guest_store(u64 a, u64 val);
u64 guest_call(u64 fn);
extern char guest_exc[], guest_refill[], guest_refill_walk[], guest_ertn[], guest_done[];
extern char exc_vectors[], refill_exit[], refill_walk[];

#endif /* __ASSEMBLER__ */
#endif
