/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every program of bench/ shares: strict parsing of hostile input, clocks, and the one way to
 * say what is wrong.
 */
#ifndef PV_H
#define PV_H

#include <stdbool.h>
#include <stdint.h>

#define PV_EXIT_OK 0
#define PV_EXIT_FAILED 1  /* the work itself failed */
#define PV_EXIT_USAGE 2	  /* bad options or bad input */
#define PV_EXIT_REFUSED 3 /* well-formed input that must not be used */

/* Prefix of every message; the program's name. */
extern const char *pv_progname;

/* "PROG: message" on stderr. */
void pv_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, then exit(@status). */
void pv_die(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));

/*
 * A decimal integer with nothing before or after it (no blanks, no sign but '-'), within
 * [@min, @max]. Returns false and leaves *@out alone otherwise.
 */
bool pv_parse_long(const char *text, long min, long max, long *out);

/* A finite decimal number within [@min, @max], nothing before or after it. */
bool pv_parse_double(const char *text, double min, double max, double *out);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t pv_now_ns(void);

#endif
