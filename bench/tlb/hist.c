// SPDX-License-Identifier: GPL-2.0-only
#include "hist.h"

#include <math.h>
#include <string.h>

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int shift;

	if (ns < HIST_SUB)
		return (unsigned int)ns;
	if (ns >> HIST_MAX_BIT)
		return HIST_BUCKETS - 1;
	/* the top HIST_BITS + 1 bits, of which the first is always set */
	shift = 63 - (unsigned int)__builtin_clzll(ns) - HIST_BITS;
	return shift * HIST_SUB + (unsigned int)(ns >> shift);
}

/* The middle of a bucket. */
static uint64_t value_of(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < 2 * HIST_SUB)
		return bucket;
	shift = bucket / HIST_SUB - 1;
	return ((uint64_t)(bucket - shift * HIST_SUB) << shift) + (UINT64_C(1) << shift) / 2;
}

void hist_init(struct hist *hist)
{
	memset(hist, 0, sizeof(*hist));
	hist->min = UINT64_MAX;
}

void hist_add(struct hist *hist, uint64_t ns)
{
	hist->count++;
	hist->bucket[bucket_of(ns)]++;
	if (ns < hist->min)
		hist->min = ns;
	if (ns > hist->max)
		hist->max = ns;
}

void hist_merge(struct hist *into, const struct hist *from)
{
	into->count += from->count;
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
	if (from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
}

uint64_t hist_percentile(const struct hist *hist, double percent)
{
	uint64_t rank, seen = 0, value;

	if (!hist->count)
		return 0;
	rank = (uint64_t)ceil((double)hist->count * percent / 100);
	if (rank < 1)
		rank = 1;
	if (rank > hist->count)
		rank = hist->count;
	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		seen += hist->bucket[i];
		if (seen < rank)
			continue;
		value = value_of(i);
		if (value < hist->min)
			value = hist->min;
		return value > hist->max ? hist->max : value;
	}
	return hist->max;
}
