// SPDX-License-Identifier: GPL-2.0-only
/* The parts of pv-tlb that its output cannot show; compiled and run by unit.t. */
#include "../hist.h"
#include "pv.h"
#include "tlbipi.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *pv_progname = "unit";
static struct hist hist, other;
static int count;

static void ok(bool good, const char *name)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++count, name);
}

static bool near(uint64_t got, uint64_t wanted)
{
	double error = (double)got / (double)wanted - 1;

	if (error < -0.005 || error > 0.005) {
		printf("# got %" PRIu64 ", wanted %" PRIu64 "\n", got, wanted);
		return false;
	}
	return true;
}

static void test_hist(void)
{
	bool good = true;

	hist_init(&hist);
	ok(hist_percentile(&hist, 50) == 0, "percentile of nothing");
	for (uint64_t ns = 1; ns <= 1000; ns++)
		hist_add(&hist, ns * 1000);
	ok(hist.min == 1000 && hist.max == 1000000, "minimum and maximum are exact");
	ok(near(hist_percentile(&hist, 50), 500000), "p50 of 1000 values");
	ok(near(hist_percentile(&hist, 95), 950000), "p95");
	ok(near(hist_percentile(&hist, 99), 990000), "p99");
	ok(near(hist_percentile(&hist, 0), 1000), "p0 is the minimum");
	ok(near(hist_percentile(&hist, 100), 1000000), "p100 is the maximum");

	/* one value of its own size each, between two that keep it from being clamped */
	for (uint64_t ns = 1; ns < UINT64_C(1) << 40; ns += ns / 37 + 1) {
		hist_init(&hist);
		hist_add(&hist, 0);
		hist_add(&hist, ns);
		hist_add(&hist, UINT64_MAX);
		good = good && near(hist_percentile(&hist, 50), ns);
		good = good && (ns >= 128 || hist_percentile(&hist, 50) == ns);
	}
	ok(good, "every size up to 2^40 is off by less than 0.5 %, and below 128 by nothing");
	ok(hist.max == UINT64_MAX && hist_percentile(&hist, 99) >= UINT64_C(1) << 39,
	   "a value that is too large is kept");

	hist_init(&hist);
	hist_init(&other);
	hist_add(&hist, 10);
	hist_add(&other, 20);
	hist_add(&other, 30);
	hist_merge(&hist, &other);
	ok(hist.count == 3 && hist.min == 10 && hist.max == 30 && hist_percentile(&hist, 50) == 20,
	   "merging");
	hist_init(&other);
	hist_merge(&hist, &other);
	ok(hist.count == 3 && hist.min == 10 && hist.max == 30, "merging an empty one");
}

static bool sum_is(const char *folder, const char *text, bool wanted, uint64_t sum)
{
	char path[4096];
	uint64_t got = 12345;
	bool found;
	FILE *file;

	snprintf(path, sizeof(path), "%s/interrupts", folder);
	file = fopen(path, "w");
	if (!file)
		exit(1);
	fputs(text, file);
	fclose(file);
	found = pv_tlb_ipis(path, &got);
	return found == wanted && got == (wanted ? sum : 12345);
}

static void test_ipis(const char *folder)
{
	uint64_t sum;

	ok(sum_is(folder,
		  "     CPU0  CPU1\n  1:  9  9 timer\nTLB:   5323   4202   TLB shootdowns\n", true,
		  9525),
	   "TLB line of two CPUs");
	ok(sum_is(folder, " TLB: 4294967295 4294967295 4294967295 TLB shootdowns\n", true,
		  UINT64_C(12884901885)),
	   "a sum beyond 32 bits");
	ok(sum_is(folder, "TLB: 7\n", true, 7), "no description");
	ok(sum_is(folder, "IPI0:  1  2  Rescheduling interrupts\n", false, 0), "no TLB line");
	ok(sum_is(folder, "", false, 0), "an empty file");
	ok(sum_is(folder, "TLB: TLB shootdowns\n", false, 0), "a TLB line without numbers");
	ok(sum_is(folder, "TLB: 12x 3 TLB shootdowns\n", false, 0), "a TLB line with a bad number");
	ok(!pv_tlb_ipis("/nonexistent", &sum), "no file");
}

int main(int argc, char *argv[])
{
	if (argc != 2)
		return 2;
	test_hist();
	test_ipis(argv[1]);
	printf("1..%d\n", count);
	return 0;
}
