/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pv-kcbench: options (options.c), building and counting (build.c), the real kcbench (upstream.c)
 * and what is printed (pv-kcbench.c).
 */
#ifndef KCBENCH_H
#define KCBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct settings {
	char *tree;   /* absolute */
	char *outdir; /* absolute; NULL: a temporary one */
	char *config; /* absolute, or NULL */
	const char *defconfig;
	const char **target;
	size_t targets;
	const char **make_arg;
	size_t make_args;
	const char *label;
	const char *real; /* the real kcbench, or NULL */
	long jobs;
	long iterations;
	long min_objects;
	double timeout_s; /* of one make; 0: none */
	bool clean_objects;
	bool json;
	char *params;
	char *target_text; /* all of them */
};

struct run {
	long number;
	long jobs;
	double seconds;
	double kernels_per_hour;
	double percent; /* < 0: unknown */
	long majfaults; /* < 0: unknown */
	double user_s;	/* < 0: unknown */
	double sys_s;	/* < 0: unknown */
	long objects;	/* < 0: unknown */
};

/* Ends the program after a usage error and after --help. */
void read_options(int argc, char *argv[], struct settings *settings);
void free_settings(struct settings *settings);

/* What "make kernelversion" says, to be freed; ends the program when that is nothing. */
char *tree_version(const struct settings *settings);

/* All of these call finish() when they fail. */
void prepare_outdir(struct settings *settings);
void configure(const struct settings *settings);
void build(const struct settings *settings, struct run *run);

/* Runs the real kcbench; one element for each of its result lines, to be freed. */
struct run *run_upstream(const struct settings *settings, size_t *count);

/* Removes what is temporary; then ends of @sig, when that is one, or with @status. */
void finish(int status, int sig) __attribute__((noreturn));

/* The last 20 lines of @log on stderr. */
void show_tail(FILE *log);

/* kcbench's "Run N (-j J): ..." */
void print_run(const struct run *run);
/* Reads that. 1: done; 0: some other line; -1: a result line that makes no sense */
int parse_run(const char *line, struct run *run);

#endif
