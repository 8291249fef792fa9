/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PV_TLBIPI_H
#define PV_TLBIPI_H

#include <stdbool.h>
#include <stdint.h>

#define PV_INTERRUPTS "/proc/interrupts"

/*
 * The sum over all CPUs of the "TLB:" line (x86: TLB shootdowns) of @path, which is written like
 * /proc/interrupts. False when there is none, as on other architectures.
 */
bool pv_tlb_ipis(const char *path, uint64_t *sum);

#endif
