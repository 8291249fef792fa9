/* SPDX-License-Identifier: GPL-2.0-only */
/* Guest code that has to be exact. a0 is its argument; it returns to guest_done. */
#include "lvz.h"

	.text
	.macro	fn name
	.balign	16
	.globl	\name
\name:
	.endm

/* Interrupts become possible; the next label is where they have to be taken. */
fn guest_enable_crmd
	ori	$t0, $zero, CRMD_DA | CRMD_IE
	csrwr	$t0, CSR_CRMD
	.globl	guest_enabled_crmd
guest_enabled_crmd:
	nop
	b	.

fn guest_enable_xchg
	ori	$t0, $zero, CRMD_IE
	csrxchg	$t0, $t0, CSR_CRMD
	.globl	guest_enabled_xchg
guest_enabled_xchg:
	nop
	b	.

fn guest_enable_ecfg
	ori	$t0, $zero, IS_HWI0
	csrwr	$t0, CSR_ECFG
	.globl	guest_enabled_ecfg
guest_enabled_ecfg:
	nop
	b	.

fn guest_enable_estat
	ori	$t0, $zero, IS_SWI0
	csrwr	$t0, CSR_ESTAT
	.globl	guest_enabled_estat
guest_enabled_estat:
	nop
	b	.

fn guest_enable_ertn
	la.pcrel $t0, guest_enabled_ertn
	csrwr	$t0, CSR_ERA
	ori	$t0, $zero, PRMD_PIE
	csrwr	$t0, CSR_PRMD
	ertn
	.globl	guest_enabled_ertn
guest_enabled_ertn:
	nop
	b	.

/* a0 doubled by each unit */
fn guest_fp
	movgr2fr.d $fa0, $a0
	fadd.d	$fa0, $fa0, $fa0
	movfr2gr.d $a0, $fa0
	ret
/* by zero, with the exception enabled */
fn guest_fp_divide
	ori	$t0, $zero, 8
	movgr2fcsr $fcsr0, $t0
	movgr2fr.d $fa0, $a0
	movgr2fr.d $fa1, $zero
	fdiv.d	$fa0, $fa0, $fa1
	movgr2fcsr $fcsr0, $zero
	ret
fn guest_lsx
	vreplgr2vr.d $vr0, $a0
	vadd.d	$vr0, $vr0, $vr0
	vpickve2gr.d $a0, $vr0, 1
	ret
fn guest_lasx
	xvreplgr2vr.d $xr0, $a0
	xvadd.d	$xr0, $xr0, $xr0
	xvpickve2gr.d $a0, $xr0, 3
	ret

/* All of a unit's registers: units_load(from), units_save(to); 32 * 32 bytes, fcc0-7, fcsr0 */
	.irp	width, d, v, x
	.globl	units_load_\width, units_save_\width
	.endr
	.macro	flags_load
	.irp	n,0,1,2,3,4,5,6,7
	ld.d	$t0, $a0, 1024 + 8 * \n
	movgr2cf $fcc\n, $t0
	.endr
	ld.d	$t0, $a0, 1088
	movgr2fcsr $fcsr0, $t0
	ret
	.endm
	.macro	flags_save
	.irp	n,0,1,2,3,4,5,6,7
	movcf2gr $t0, $fcc\n
	st.d	$t0, $a0, 1024 + 8 * \n
	.endr
	movfcsr2gr $t0, $fcsr0
	st.d	$t0, $a0, 1088
	ret
	.endm
units_load_d:
	.irp	n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	fld.d	$f\n, $a0, 32 * \n
	.endr
	flags_load
units_save_d:
	.irp	n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	fst.d	$f\n, $a0, 32 * \n
	.endr
	flags_save
units_load_v:
	.irp	n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	vld	$vr\n, $a0, 32 * \n
	.endr
	flags_load
units_save_v:
	.irp	n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	vst	$vr\n, $a0, 32 * \n
	.endr
	flags_save
units_load_x:
	.irp	n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	xvld	$xr\n, $a0, 32 * \n
	.endr
	flags_load
units_save_x:
	.irp	n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	xvst	$xr\n, $a0, 32 * \n
	.endr
	flags_save

/* LL and SC of the word at a0 with something in between; a0: 1 when the SC stored, which adds 1. a1 is for the thing. */
	.macro	sc_and_return
	addi.d	$t0, $t0, 1
	sc.d	$t0, $a0, 0
	move	$a0, $t0
	ret
	.endm
fn llsc_hvcl
	ll.d	$t0, $a0, 0
	hvcl	HVC_CALL
	sc_and_return
fn llsc_nothing
	ll.d	$t0, $a0, 0
	sc_and_return
fn llsc_syscall
	ll.d	$t0, $a0, 0
	syscall	0
	sc_and_return
fn llsc_load
	ll.d	$t0, $a0, 0
	ld.d	$t1, $a1, 0
	sc_and_return
fn llsc_wcllb
	ll.d	$t0, $a0, 0
	ori	$t1, $zero, LLBCTL_WCLLB
	csrwr	$t1, CSR_LLBCTL
	sc_and_return
/* a1: what LLBCTL.ROLLB was */
fn llsc_rollb
	ll.d	$t0, $a0, 0
	csrrd	$a1, CSR_LLBCTL
	sc_and_return
fn llsc_klo_syscall
	ll.d	$t0, $a0, 0
	ori	$t1, $zero, LLBCTL_KLO
	csrwr	$t1, CSR_LLBCTL
	syscall	0
	sc_and_return
