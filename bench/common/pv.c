// SPDX-License-Identifier: GPL-2.0-only
#include "pv.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void say(const char *fmt, va_list ap)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", pv_progname);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void pv_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void pv_die(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	exit(status);
}

bool pv_parse_long(const char *text, long min, long max, long *out)
{
	char *end;
	long value;

	if (!isdigit((unsigned char)text[text[0] == '-']))
		return false;
	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || *end || value < min || value > max)
		return false;
	*out = value;
	return true;
}

bool pv_parse_double(const char *text, double min, double max, double *out)
{
	char *end;
	double value;

	/* not what strtod() takes beside decimal numbers: blanks, inf, nan, hexadecimal */
	if (!isdigit((unsigned char)text[text[0] == '-']) || text[strcspn(text, "xX")])
		return false;
	errno = 0;
	value = strtod(text, &end);
	if (errno || *end || !isfinite(value) || value < min || value > max)
		return false;
	*out = value;
	return true;
}

uint64_t pv_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
