// SPDX-License-Identifier: GPL-2.0-only
/*
 * kcbench 0.9.10's result lines:
 * Run 1 (-j 16):       161.38 seconds / 22.31 kernels/hour [P:1440%, 134 maj. pagefaults]
 * Its manual has "sec" for "seconds"; what is in brackets is not always there.
 */
#include "kcbench.h"
#include "pv.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

void print_run(const struct run *run)
{
	char label[64];

	snprintf(label, sizeof(label), "Run %ld (-j %ld):", run->number, run->jobs);
	printf("%-21s%.2f seconds / %.2f kernels/hour", label, run->seconds, run->kernels_per_hour);
	if (run->percent >= 0) {
		printf(" [P:%ld%%", (long)run->percent);
		if (run->majfaults > 20)
			printf(", %ld maj. pagefaults", run->majfaults);
		putchar(']');
	}
	putchar('\n');
}

/* Steps over @literal, in which a blank stands for one or more. */
static bool skip(const char **at, const char *literal)
{
	const char *text = *at;

	for (; *literal; literal++) {
		if (*text != *literal)
			return false;
		text++;
		if (*literal == ' ')
			text += strspn(text, " ");
	}
	*at = text;
	return true;
}

/* Steps over a number of such @digits. */
static bool take(const char **at, const char *digits, char number[32])
{
	size_t len = strspn(*at, digits);

	if (!len || len >= 32)
		return false;
	memcpy(number, *at, len);
	number[len] = '\0';
	*at += len;
	return true;
}

static bool take_long(const char **at, long min, long *value)
{
	char number[32];

	return take(at, "0123456789", number) && pv_parse_long(number, min, LONG_MAX, value);
}

static bool take_double(const char **at, double *value)
{
	char number[32];

	return take(at, "0123456789.", number) && pv_parse_double(number, 0, 1e12, value);
}

static bool parse_bracket(const char **at, struct run *run)
{
	long percent;

	if (!skip(at, " [P:"))
		return true;
	if (!take_long(at, 0, &percent) || !skip(at, "%"))
		return false;
	run->percent = (double)percent;
	if (skip(at, ", ") && (!take_long(at, 0, &run->majfaults) || !skip(at, " maj. pagefaults")))
		return false;
	return skip(at, "]");
}

int parse_run(const char *line, struct run *run)
{
	const char *at = line;

	*run = (struct run){
		.percent = -1, .majfaults = -1, .user_s = -1, .sys_s = -1, .objects = -1};
	if (!skip(&at, "Run "))
		return 0;
	if (!take_long(&at, 1, &run->number) || !skip(&at, " (-j ") ||
	    !take_long(&at, 1, &run->jobs) || !skip(&at, "): ") ||
	    !take_double(&at, &run->seconds) || !skip(&at, " sec"))
		return -1;
	skip(&at, "onds");
	if (!skip(&at, " / ") || !take_double(&at, &run->kernels_per_hour) ||
	    !skip(&at, " kernels/hour") || !parse_bracket(&at, run))
		return -1;
	at += strspn(at, " \r\n");
	return *at || run->seconds <= 0 ? -1 : 1;
}
