/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Log-linear histogram of nanoseconds: exact below 128, then 128 buckets for each power of two, so
 * a percentile is off by less than 0.4 %. Minimum and maximum are exact. Of bounded size.
 */
#ifndef PV_HIST_H
#define PV_HIST_H

#include <stdint.h>

#define HIST_BITS 7
#define HIST_SUB (1u << HIST_BITS)
#define HIST_MAX_BIT 40 /* 2^40 ns are 18 minutes; longer ones count as that in a percentile */
#define HIST_BUCKETS ((HIST_MAX_BIT - HIST_BITS + 1) * HIST_SUB)

struct hist {
	uint64_t count;
	uint64_t min;
	uint64_t max;
	uint64_t bucket[HIST_BUCKETS];
};

void hist_init(struct hist *hist);
void hist_add(struct hist *hist, uint64_t ns);
void hist_merge(struct hist *into, const struct hist *from);

/* The smallest value that at least @percent of all are not above; 0 when there are none. */
uint64_t hist_percentile(const struct hist *hist, double percent);

#endif
