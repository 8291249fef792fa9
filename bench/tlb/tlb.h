/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pv-tlb: the threads and what they do (flush.c); options and what is printed (pv-tlb.c).
 */
#ifndef TLB_H
#define TLB_H

#include "hist.h"

#include <stdbool.h>
#include <stdint.h>

enum op { OP_MUNMAP, OP_MADVISE, OP_MPROTECT };

struct settings {
	enum op op;
	bool idle; /* bystanders sleep instead of computing */
	unsigned int flushers;
	unsigned int bystanders;
	unsigned int pages; /* by each flush */
	uint64_t limit;	    /* flushes by each flusher, 0: none */
	double seconds;
};

struct result {
	struct hist latency; /* of one flush, ns; its count is that of all flushes */
	double elapsed_s;
	uint64_t resets;   /* flushes not counted: see flush.c, mprotect */
	unsigned int cpus; /* with at least one thread */
	unsigned int cpus_allowed;
	bool one_per_cpu;
	bool ipis_known;
	uint64_t ipis;
};

/* Ends the program when it cannot be done. */
void measure(const struct settings *settings, struct result *result);

#endif
