/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads what the real ebizzy 0.3 prints, with any number of -v, and what mmtests' patched build
 * adds: per-thread counts after "N records/s".
 */
#ifndef EBIZZY_PARSE_H
#define EBIZZY_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct ebizzy_output {
	long records_per_s;
	double real_s;
	double user_s;
	double sys_s;
	long *per_thread; /* to be freed */
	size_t per_thread_count;
};

/*
 * False when @file is anything but one whole, ordered output of ebizzy: then *@why (to be freed)
 * says why and quotes the line. *@output needs ebizzy_output_free() in both cases.
 */
bool ebizzy_parse(FILE *file, struct ebizzy_output *output, char **why);
void ebizzy_output_free(struct ebizzy_output *output);

#endif
