/* SPDX-License-Identifier: GPL-2.0-only */
/* Entry, host exceptions, the way into a guest and back, and guests' exception entries. */
#include "lvz.h"

	.section .text.start, "ax"
	.globl	_start
_start:
	/* Direct address mode, PLV0. a1: the command line's physical address */
	li.d	$t0, DMW_KERNEL
	csrwr	$t0, CSR_DMW0
	li.d	$t0, DMW_DEVICE
	csrwr	$t0, CSR_DMW1
	/* An address of the window is right in both modes: direct address mode drops its upper bits. */
	la.abs	$t0, 1f
	jr	$t0
1:	li.w	$t0, CRMD_PG
	li.w	$t1, CRMD_DA | CRMD_PG
	csrxchg	$t0, $t1, CSR_CRMD
	la.pcrel $sp, stack_end
	move	$a0, $a1
	bl	main
	b	.

	.bss
	.balign	16
	.space	16384
stack_end:

/*
 * Vectors of 8 instructions (ECFG.VS = 3): 64 exceptions, 64 interrupts; with VS = 0 all use the first. They note which one
 * it was. KS_VCPU is not zero while a guest runs.
 */
	.text
	.balign	4096
	.globl	exc_vectors
exc_vectors:
	.set	n, 0
	.rept	128
	.balign	32
	csrwr	$t0, KS_T0
	csrrd	$t0, CSR_CRMD
	csrwr	$t0, KS_CRMD
	ori	$t0, $zero, n
	b	exception
	.set	n, n + 1
	.endr

/* A TLB refill which becomes an ordinary exception: ERA and PRMD, ISTLBR = 0, PG = 1. Runs in direct address mode. */
	.balign	4096
	.globl	refill_exit
refill_exit:
	csrwr	$t0, KS_T0
	csrrd	$t0, CSR_CRMD
	csrwr	$t0, KS_CRMD
	csrrd	$t0, CSR_TLBRPRMD
	csrwr	$t0, CSR_PRMD
	csrrd	$t0, CSR_TLBRERA
	bstrins.d $t0, $zero, 1, 0
	csrwr	$t0, CSR_ERA
	csrwr	$zero, CSR_TLBRERA
	la.abs	$t0, 1f
	jr	$t0
1:	csrwr	$t1, KS_T1
	ori	$t0, $zero, CRMD_PG
	ori	$t1, $zero, CRMD_DA | CRMD_PG
	csrxchg	$t0, $t1, CSR_CRMD
	csrrd	$t1, KS_T1
	ori	$t0, $zero, VEC_REFILL
	/* fall through */

exception:
	csrwr	$a2, KS_A2
	csrrd	$a2, KS_VCPU
	beqz	$a2, host_exception
	.irp	n,1,2,3,4,5,7,8,9,10,11,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	st.d	$r\n, $a2, 8 * \n
	.endr
	st.d	$t0, $a2, V_VECTOR
	csrrd	$t0, KS_T0
	st.d	$t0, $a2, 8 * 12
	csrrd	$t0, KS_A2
	st.d	$t0, $a2, 8 * 6
	csrrd	$t0, KS_CRMD
	st.d	$t0, $a2, V_CRMD
	csrrd	$t0, CSR_GSTAT
	st.d	$t0, $a2, V_GSTAT
	move	$t0, $zero
	csrwr	$t0, KS_VCPU
	ori	$t0, $zero, GSTAT_PVM
	csrxchg	$zero, $t0, CSR_GSTAT
	ld.d	$sp, $a2, V_HSP
	.irp	n,1,2,21,22,23,24,25,26,27,28,29,30,31
	ld.d	$r\n, $sp, 8 * \n
	.endr
	addi.d	$sp, $sp, 256
	ret

/* void guest_enter(struct vcpu *v): until the next exit */
	.globl	guest_enter
guest_enter:
	addi.d	$sp, $sp, -256
	.irp	n,1,2,21,22,23,24,25,26,27,28,29,30,31
	st.d	$r\n, $sp, 8 * \n
	.endr
	st.d	$sp, $a0, V_HSP
	move	$t0, $a0
	csrwr	$t0, KS_VCPU
	ld.d	$t0, $a0, V_PC
	csrwr	$t0, CSR_ERA
	ld.d	$t0, $a0, V_HPRMD
	csrwr	$t0, CSR_PRMD
	ori	$t0, $zero, GSTAT_PVM
	csrxchg	$t0, $t0, CSR_GSTAT
	.irp	n,1,2,3,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	ld.d	$r\n, $a0, 8 * \n
	.endr
	ld.d	$a0, $a0, 8 * 4
	ertn

/* An exception of the host itself: t0 is the vector. */
host_exception:
	addi.d	$sp, $sp, -256
	.irp	n,1,4,5,7,8,9,10,11,13,14,15,16,17,18,19,20
	st.d	$r\n, $sp, 8 * \n
	.endr
	move	$a0, $t0
	csrrd	$t0, KS_T0
	st.d	$t0, $sp, 8 * 12
	csrrd	$t0, KS_A2
	st.d	$t0, $sp, 8 * 6
	bl	handle_host_exception
	.irp	n,1,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20
	ld.d	$r\n, $sp, 8 * \n
	.endr
	addi.d	$sp, $sp, 256
	ertn

/*
 * The second stage's refill as Linux does it, and a count. CSR PGD is PGDL here: a guest-physical address is positive.
 * Ends in the guest.
 */
	.balign	4096
	.globl	refill_walk
refill_walk:
	csrwr	$t0, CSR_TLBRSAVE
	csrwr	$t1, KS_T1
	la.pcrel $t0, s2_misses
	ld.d	$t1, $t0, 0
	addi.d	$t1, $t1, 1
	st.d	$t1, $t0, 0
	la.pcrel $t0, s2_last_badv
	csrrd	$t1, CSR_TLBRBADV
	st.d	$t1, $t0, 0
	csrrd	$t0, CSR_PGD
	lddir	$t0, $t0, 2
	lddir	$t0, $t0, 1
	ldpte	$t0, 0
	ldpte	$t0, 1
	tlbfill
	csrrd	$t0, CSR_TLBRSAVE
	csrrd	$t1, KS_T1
	ertn

/* Guests' entries. */
	.balign	4096
	.globl	guest_exc, guest_ertn, guest_done
guest_exc:
	hvcl	HVC_EXC
guest_ertn:
	ertn
guest_done:
	hvcl	0
	b	guest_done

	.balign	4096
	.globl	guest_refill
guest_refill:
	hvcl	HVC_REFILL
	ertn

	.balign	4096
	.globl	guest_refill_walk
guest_refill_walk:
	csrwr	$t0, CSR_TLBRSAVE
	csrrd	$t0, CSR_PGD
	lddir	$t0, $t0, 2
	lddir	$t0, $t0, 1
	ldpte	$t0, 0
	ldpte	$t0, 1
	tlbfill
	csrrd	$t0, CSR_TLBRSAVE
	ertn

/* u64 insn(u32 word, u64 a0, u64 a1): in a page of its own, which it writes to */
	.section .data.insn, "awx"
	.balign	4096
	.globl	insn
insn:
	la.pcrel $t0, 1f
	st.w	$a0, $t0, 0
	ibar	0
	move	$a0, $a1
	move	$a1, $a2
1:	nop
	ret
	.balign	4096
