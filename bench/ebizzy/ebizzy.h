/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of pv-ebizzy: settings (options.c), the chunks (memory.c), the work (search.c) and
 * what is printed (pv-ebizzy.c).
 */
#ifndef EBIZZY_H
#define EBIZZY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef size_t record_t;

struct settings {
	bool always_mmap;
	bool never_mmap;
	bool permissions;
	bool holes;
	bool random_size;
	bool linear;
	bool touch_only;
	bool own_copy;
	bool json;
	unsigned int chunks;
	unsigned int chunk_size;
	unsigned int seconds;
	unsigned int threads;
	unsigned int verbose;
	size_t page_size;
	char *params; /* the arguments as given, without --json */
	FILE *chat;   /* where -v goes */
};

struct chunks {
	record_t **chunk;
	unsigned int count;
};

struct run {
	const struct settings *settings;
	const struct chunks *chunks;
	pthread_barrier_t start;
	atomic_bool stop;
};

struct result {
	uint64_t records;
	double real_s;
	double user_s;
	double sys_s;
};

/* Ends the program after a usage error and after --help. */
void read_options(int argc, char *argv[], struct settings *settings);

/* Ends the program, with what the user can do about it, when there is not enough. */
void *take_memory(const struct settings *settings, size_t size);
void give_memory(const struct settings *settings, void *memory, size_t size);

void make_chunks(const struct settings *settings, struct chunks *chunks);
void drop_chunks(const struct settings *settings, struct chunks *chunks);

struct result search(const struct settings *settings, const struct chunks *chunks);

#endif
