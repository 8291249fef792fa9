// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flushers make the kernel flush the TLB of every CPU on which this process runs; bystanders only
 * see to it that it runs there.
 *
 * What is flushed has to be in use, so each page is written to, hence faulted in, before each
 * flush, and each flusher has memory of its own: the flush is then the only thing they share.
 *
 *   munmap    map, write, [munmap]
 *   madvise   write, [MADV_DONTNEED]
 *   mprotect  write, [to read-only] - on a fresh part of an arena each time. Going back to
 *             read-write would flush as well on some architectures; so that is done for the whole
 *             arena once all of it is used, and counted as a reset.
 *
 * Only the part in brackets is timed and counted.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pv.h"
#include "tlb.h"
#include "tlbipi.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP_NS 200000000u
#define NAP_NS 1000000u
#define STACK_SIZE 262144u
#define ARENA_BYTES (16u << 20)
#define ARENA_PARTS 256u

enum phase { WARM_UP, PAUSE, DONE };

struct run {
	const struct settings *settings;
	size_t page_size;
	size_t bytes;		    /* of one flush */
	unsigned int parts;	    /* of an arena, each of that many bytes */
	volatile char *shared;	    /* one page for each thread; stays mapped */
	pthread_barrier_t all;	    /* everybody and the main thread */
	pthread_barrier_t flushers; /* the flushers and the main thread */
	atomic_int phase;
	uint64_t deadline;
};

struct thread {
	pthread_t handle;
	struct run *run;
	unsigned int index;
	int cpu;
	/* a flusher's */
	char *arena;
	unsigned int part; /* the next unused one */
	uint64_t resets;
	uint64_t end;
	struct hist latency;
};

static void __attribute__((noreturn)) failed(const char *what)
{
	pv_die(PV_EXIT_FAILED, "%s: %s", what, strerror(errno));
}

static char *map(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		failed("mmap");
	return memory;
}

/* Also our page of what all threads share, so that it is in this CPU's TLB. */
static void touch(struct thread *thread, char *memory)
{
	struct run *run = thread->run;

	run->shared[thread->index * run->page_size]++;
	for (size_t i = 0; i < run->bytes; i += run->page_size)
		((volatile char *)memory)[i] = 1;
}

static uint64_t flush_munmap(struct thread *thread)
{
	char *memory = map(thread->run->bytes);
	uint64_t start;

	touch(thread, memory);
	start = pv_now_ns();
	if (munmap(memory, thread->run->bytes))
		failed("munmap");
	thread->end = pv_now_ns();
	return thread->end - start;
}

static uint64_t flush_madvise(struct thread *thread)
{
	uint64_t start;

	touch(thread, thread->arena);
	start = pv_now_ns();
	if (madvise(thread->arena, thread->run->bytes, MADV_DONTNEED))
		failed("madvise");
	thread->end = pv_now_ns();
	return thread->end - start;
}

static uint64_t flush_mprotect(struct thread *thread)
{
	struct run *run = thread->run;
	size_t arena_bytes = run->bytes * run->parts;
	uint64_t start;
	char *memory;

	if (thread->part == run->parts) {
		if (madvise(thread->arena, arena_bytes, MADV_DONTNEED) ||
		    mprotect(thread->arena, arena_bytes, PROT_READ | PROT_WRITE))
			failed("renewing the memory");
		thread->part = 0;
		thread->resets++;
	}
	memory = thread->arena + run->bytes * thread->part++;
	touch(thread, memory);
	start = pv_now_ns();
	if (mprotect(memory, run->bytes, PROT_READ))
		failed("mprotect");
	thread->end = pv_now_ns();
	return thread->end - start;
}

static void *flusher(void *arg)
{
	static uint64_t (*const flush_by[])(struct thread *) = {
		[OP_MUNMAP] = flush_munmap,
		[OP_MADVISE] = flush_madvise,
		[OP_MPROTECT] = flush_mprotect,
	};
	struct thread *thread = arg;
	struct run *run = thread->run;
	uint64_t (*flush)(struct thread *) = flush_by[run->settings->op];
	uint64_t limit = run->settings->limit;

	pthread_barrier_wait(&run->all);
	while (atomic_load_explicit(&run->phase, memory_order_relaxed) == WARM_UP)
		flush(thread);
	thread->resets = 0;
	pthread_barrier_wait(&run->flushers);
	/* the main thread reads the counters and sets the deadline */
	pthread_barrier_wait(&run->flushers);
	do {
		hist_add(&thread->latency, flush(thread));
	} while (thread->end < run->deadline && (!limit || thread->latency.count < limit));
	return NULL;
}

static bool is_done(const struct run *run)
{
	return atomic_load_explicit(&run->phase, memory_order_relaxed) == DONE;
}

/* No system call in the loop: it has to be interrupted. */
static void *busy_bystander(void *arg)
{
	struct thread *thread = arg;
	struct run *run = thread->run;
	volatile char *page = run->shared + thread->index * run->page_size;
	volatile uint64_t sink;
	uint64_t x = thread->index + 1;

	pthread_barrier_wait(&run->all);
	while (!is_done(run)) {
		for (int i = 0; i < 256; i++)
			x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		(*page)++;
		sink = x; /* so that it has to be computed */
	}
	(void)sink;
	return NULL;
}

static void *idle_bystander(void *arg)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	struct thread *thread = arg;
	struct run *run = thread->run;

	pthread_barrier_wait(&run->all);
	while (!is_done(run)) {
		run->shared[thread->index * run->page_size]++;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	}
	return NULL;
}

/* The CPUs we may use, in order. */
static int *allowed_cpus(unsigned int *count)
{
	cpu_set_t *set = NULL;
	int *cpus = NULL;
	size_t bytes = 0;
	int limit;

	for (limit = 1024; limit <= 1 << 20; limit *= 2) {
		set = CPU_ALLOC((size_t)limit);
		bytes = CPU_ALLOC_SIZE((size_t)limit);
		if (!set)
			failed("memory");
		if (sched_getaffinity(0, bytes, set) == 0)
			break;
		CPU_FREE(set);
		set = NULL;
		if (errno != EINVAL)
			break;
	}
	if (!set)
		failed("sched_getaffinity");
	*count = 0;
	cpus = calloc((size_t)CPU_COUNT_S(bytes, set), sizeof(*cpus));
	if (!cpus)
		failed("memory");
	for (int cpu = 0; cpu < limit; cpu++)
		if (CPU_ISSET_S((size_t)cpu, bytes, set))
			cpus[(*count)++] = cpu;
	CPU_FREE(set);
	return cpus;
}

static void start_thread(struct thread *thread, void *(*routine)(void *))
{
	size_t bytes = CPU_ALLOC_SIZE((size_t)thread->cpu + 1);
	cpu_set_t *set = CPU_ALLOC((size_t)thread->cpu + 1);
	pthread_attr_t attr;
	int err;

	if (!set)
		failed("memory");
	CPU_ZERO_S(bytes, set);
	CPU_SET_S((size_t)thread->cpu, bytes, set);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	err = pthread_attr_setaffinity_np(&attr, bytes, set);
	if (!err)
		err = pthread_create(&thread->handle, &attr, routine, thread);
	if (err)
		pv_die(PV_EXIT_FAILED, "cannot create thread %u on CPU %d: %s", thread->index + 1,
		       thread->cpu, strerror(err));
	pthread_attr_destroy(&attr);
	CPU_FREE(set);
}

static void prepare(struct run *run, const struct settings *s)
{
	unsigned int threads = s->flushers + s->bystanders;

	memset(run, 0, sizeof(*run));
	run->settings = s;
	run->page_size = (size_t)sysconf(_SC_PAGESIZE);
	run->bytes = s->pages * run->page_size;
	run->parts = 1;
	if (s->op == OP_MPROTECT) {
		run->parts = (unsigned int)(ARENA_BYTES / run->bytes);
		run->parts = run->parts < 2		? 2
			     : run->parts > ARENA_PARTS ? ARENA_PARTS
							: run->parts;
	}
	/* a flush of one page must not split a huge one; where that is unknown, there are none */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	run->shared = map(threads * run->page_size);
	if (pthread_barrier_init(&run->all, NULL, threads + 1) ||
	    pthread_barrier_init(&run->flushers, NULL, s->flushers + 1))
		failed("barrier");
}

static void run_threads(struct run *run, struct thread *threads, struct result *result)
{
	const struct settings *s = run->settings;
	const struct timespec warm_up = {.tv_nsec = WARM_UP_NS};
	uint64_t start, end = 0, before = 0, after = 0;
	bool known;

	pthread_barrier_wait(&run->all);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &warm_up, NULL);
	atomic_store_explicit(&run->phase, PAUSE, memory_order_relaxed);
	pthread_barrier_wait(&run->flushers);
	/* nobody flushes now */
	known = pv_tlb_ipis(PV_INTERRUPTS, &before);
	start = pv_now_ns();
	run->deadline = start + (uint64_t)(s->seconds * 1e9);
	pthread_barrier_wait(&run->flushers);
	for (unsigned int i = 0; i < s->flushers; i++) {
		pthread_join(threads[i].handle, NULL);
		hist_merge(&result->latency, &threads[i].latency);
		result->resets += threads[i].resets;
		if (threads[i].end > end)
			end = threads[i].end;
	}
	known = pv_tlb_ipis(PV_INTERRUPTS, &after) && known;
	result->elapsed_s = (double)(end - start) / 1e9;
	/* a counter of 32 bits has wrapped around: unknown */
	result->ipis_known = known && after >= before;
	result->ipis = after - before;

	atomic_store_explicit(&run->phase, DONE, memory_order_relaxed);
	for (unsigned int i = s->flushers; i < s->flushers + s->bystanders; i++)
		pthread_join(threads[i].handle, NULL);
}

void measure(const struct settings *s, struct result *result)
{
	unsigned int count = s->flushers + s->bystanders;
	struct thread *threads = calloc(count, sizeof(*threads));
	int *cpus = allowed_cpus(&result->cpus_allowed);
	struct run run;

	if (!threads)
		failed("memory");
	hist_init(&result->latency);
	result->resets = 0;
	result->one_per_cpu = count <= result->cpus_allowed;
	result->cpus = result->one_per_cpu ? count : result->cpus_allowed;
	prepare(&run, s);
	for (unsigned int i = 0; i < count; i++) {
		struct thread *thread = &threads[i];

		thread->run = &run;
		thread->index = i;
		thread->cpu = cpus[i % result->cpus_allowed];
		if (i < s->flushers) {
			hist_init(&thread->latency);
			thread->arena = map(run.bytes * run.parts);
			start_thread(thread, flusher);
		} else {
			start_thread(thread, s->idle ? idle_bystander : busy_bystander);
		}
	}
	run_threads(&run, threads, result);

	for (unsigned int i = 0; i < s->flushers; i++)
		munmap(threads[i].arena, run.bytes * run.parts);
	munmap((char *)run.shared, count * run.page_size);
	pthread_barrier_destroy(&run.all);
	pthread_barrier_destroy(&run.flushers);
	free(cpus);
	free(threads);
}
