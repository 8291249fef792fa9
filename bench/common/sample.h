/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a workload prints with --json: its part of one sample (bench/samples.md), one line.
 */
#ifndef PV_SAMPLE_H
#define PV_SAMPLE_H

#include <jansson.h>

struct pv_sample {
	const char *workload;
	const char *implementation;
	const char *metric;
	const char *unit;
	const char *better;
	double value;
	const char *params;
	const char *bystanders;
	long long flushes;	/* < 0: null */
	long long remote_vcpus; /* < 0: null */
	json_t *details;	/* consumed by pv_sample_print() */
};

/*
 * @argv[0..@argc) joined by blanks, without the element that is @skip (the same pointer, may be
 * NULL). NULL when the text would not be one line of valid UTF-8; else to be freed.
 */
char *pv_params_join(int argc, char *const argv[], const char *skip);

/* Prints one line; ends the program with PV_EXIT_FAILED when that is no valid sample. */
void pv_sample_print(const struct pv_sample *sample);

/* Ends the program with PV_EXIT_FAILED when something written to stdout got lost. */
void pv_stdout_flush(void);

#endif
