// SPDX-License-Identifier: GPL-2.0-only
#include "ebizzy.h"
#include "pv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define STACK_SIZE 262144u

struct worker {
	pthread_t thread;
	struct run *run;
	uint64_t random; /* state */
	uint64_t records;
};

/* Keeps the compiler from seeing through a copy or an allocation. */
static inline void compiler_barrier(const void *memory)
{
	__asm__ volatile("" : : "r"(memory) : "memory");
}

/* splitmix64: any state will do, and streams of different states are independent enough. */
static inline uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* 0 <= result < @limit */
static inline uint32_t random_below(uint64_t *state, uint32_t limit)
{
	return (uint32_t)(((next_random(state) >> 32) * limit) >> 32);
}

static void touch_pages(char *memory, size_t size, size_t page_size)
{
	for (size_t i = 0; i < size; i += page_size)
		*(volatile char *)(memory + i) = 1;
}

/* The barrier keeps it a loop: compilers would put memcpy in its place. */
static void copy_by_loop(char *to, const char *from, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		to[i] = from[i];
		compiler_barrier(to);
	}
}

static int compare(const void *a, const void *b)
{
	record_t left = *(const record_t *)a, right = *(const record_t *)b;

	return (left > right) - (left < right);
}

static const record_t *find_linear(record_t key, const record_t *records, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (records[i] == key)
			return records + i;
	return NULL;
}

static void look_up(const struct settings *s, struct worker *worker, const record_t *copy,
		    size_t size, uint32_t chunk)
{
	size_t count = size / sizeof(record_t);
	record_t key = random_below(&worker->random, (uint32_t)count);
	const record_t *found;

	if (s->verbose > 2)
		fprintf(s->chat, "Search key %zu, copy size %zu, chunk %u\n", key, size, chunk);
	if (s->linear)
		found = find_linear(key, copy, count);
	else
		found = bsearch(&key, copy, count, sizeof(record_t), compare);
	if (!found || *found != key)
		pv_die(PV_EXIT_FAILED, "key %zu not found: the memory is corrupt", key);
}

static void do_record(const struct run *run, struct worker *worker)
{
	const struct settings *s = run->settings;
	uint32_t chunk = random_below(&worker->random, run->chunks->count);
	const record_t *source = run->chunks->chunk[chunk];
	size_t size = s->chunk_size;
	record_t *copy;

	if (s->random_size)
		size = (random_below(&worker->random, (uint32_t)(size / sizeof(record_t))) + 1) *
		       sizeof(record_t);
	copy = take_memory(s, size);
	if (s->touch_only) {
		touch_pages((char *)copy, size, s->page_size);
	} else {
		if (s->own_copy)
			copy_by_loop((char *)copy, (const char *)source, size);
		else
			memcpy(copy, source, size);
		compiler_barrier(copy);
		look_up(s, worker, copy, size, chunk);
	}
	give_memory(s, copy, size);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct run *run = worker->run;
	const struct settings *s = run->settings;
	uint64_t start, records = 0;

	if (s->verbose > 1)
		fputs("Thread started\n", s->chat);
	pthread_barrier_wait(&run->start);
	start = pv_now_ns();
	while (!atomic_load_explicit(&run->stop, memory_order_relaxed)) {
		do_record(run, worker);
		records++;
	}
	worker->records = records;
	if (s->verbose > 1)
		fprintf(s->chat, "Thread finished, %f seconds\n",
			(double)(pv_now_ns() - start) / 1e9);
	return NULL;
}

static double seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

static void sleep_until(uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u),
			      .tv_nsec = (long)(ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static void start_workers(const struct settings *s, struct run *run, struct worker *workers)
{
	pthread_attr_t attr;
	int err;

	err = pthread_barrier_init(&run->start, NULL, s->threads + 1);
	if (err)
		pv_die(PV_EXIT_FAILED, "barrier for %u threads: %s", s->threads, strerror(err));
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	for (unsigned int i = 0; i < s->threads; i++) {
		workers[i].run = run;
		workers[i].random = UINT64_C(0x5851f42d4c957f2d) * (i + 1);
		err = pthread_create(&workers[i].thread, &attr, work, &workers[i]);
		if (err)
			pv_die(PV_EXIT_FAILED, "cannot create thread %u of %u: %s", i + 1,
			       s->threads, strerror(err));
	}
	pthread_attr_destroy(&attr);
}

struct result search(const struct settings *s, const struct chunks *chunks)
{
	struct run run = {.settings = s, .chunks = chunks};
	struct worker *workers = calloc(s->threads, sizeof(*workers));
	struct rusage before, after;
	struct result result = {0};
	uint64_t start;

	if (!workers)
		pv_die(PV_EXIT_FAILED, "no memory for %u threads", s->threads);
	if (s->verbose)
		fputs("Threads starting\n", s->chat);
	start_workers(s, &run, workers);

	/* nobody works before we are at the barrier too */
	getrusage(RUSAGE_SELF, &before);
	start = pv_now_ns();
	pthread_barrier_wait(&run.start);
	sleep_until(start + (uint64_t)s->seconds * 1000000000u);
	atomic_store_explicit(&run.stop, true, memory_order_relaxed);
	for (unsigned int i = 0; i < s->threads; i++) {
		pthread_join(workers[i].thread, NULL);
		result.records += workers[i].records;
	}
	/* records, elapsed time and CPU time cover the same span: up to the last thread's end */
	result.real_s = (double)(pv_now_ns() - start) / 1e9;
	getrusage(RUSAGE_SELF, &after);
	result.user_s = seconds(after.ru_utime) - seconds(before.ru_utime);
	result.sys_s = seconds(after.ru_stime) - seconds(before.ru_stime);

	if (s->verbose)
		fputs("Threads finished\n", s->chat);
	pthread_barrier_destroy(&run.start);
	free(workers);
	return result;
}
