// SPDX-License-Identifier: GPL-2.0-only
/*
 * pv-vsum: a checksum that lives in vector registers, to find those who lose them.
 *
 *   pv-vsum THREADS              one line a thread: its sum
 *   pv-vsum THREADS SECONDS FILE compute them again and again, compare each with FILE (what the
 * first form printed)
 *
 * Each thread computes the same sum in each pass, as long as nobody touches its registers: 24
 * vectors of 32 bytes, integer and floating point, are live throughout, and each thread rounds its
 * own way, so that the floating-point control register is state, too. Every operation is exact or
 * correctly rounded and none may be fused: the sums are the same bit by bit on any machine, with
 * vector units of any width or none. Exit status: 1 if a sum was wrong.
 */
#define _GNU_SOURCE

#include <fenv.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MAX_THREADS 64
#define N 8
#define ROUNDS 4000

typedef uint64_t v4u64 __attribute__((vector_size(32)));
typedef int32_t v8s32 __attribute__((vector_size(32)));
typedef float v8f32 __attribute__((vector_size(32)));
typedef double v4f64 __attribute__((vector_size(32)));

struct worker {
	pthread_t id;
	unsigned int n;
	uint64_t sum, expected;
	unsigned long passes, wrong;
	uint64_t first_wrong;
	long preempted;
};

static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
static double deadline;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* The lanes turn by one, so that each lane reaches all. */
#define TURN4(v) __builtin_shufflevector(v, v, 1, 2, 3, 0)
#define TURN8(v) __builtin_shufflevector(v, v, 1, 2, 3, 4, 5, 6, 7, 0)

__attribute__((noinline)) static uint64_t pass(uint64_t seed)
{
	v4u64 a[N];
	v8f32 f[N];
	v4f64 d[N];
	v8f32 zero8 = {0}, low8 = zero8 + 1.0f, high8 = zero8 + 3.5f;
	v4f64 zero4 = {0}, low4 = zero4 + 1.0, high4 = zero4 + 3.5;
	uint64_t sum = 0;

	for (int i = 0; i < N; i++) {
		for (int j = 0; j < 4; j++) {
			a[i][j] = seed = mix(seed + 0x9e3779b97f4a7c15ull);
			d[i][j] = 1 + (double)(seed >> 12) * 0x1p-52;
		}
		for (int j = 0; j < 8; j++)
			f[i][j] = 1 + (float)(uint32_t)(mix(seed + j) >> 41) * 0x1p-23f;
	}
	for (int r = 0; r < ROUNDS; r++) {
#pragma clang loop unroll(full)
		for (int i = 0; i < N; i++) {
			v4u64 x = a[i] ^ TURN4(a[(i + 1) % N]);
			v8s32 up = f[i] < f[(i + 3) % N];
			v8f32 g;

			a[i] = (x << 13 | x >> 51) + (v4u64)d[(i + 5) % N];
			/* Each bit counts: what is lost is never made good. */
			a[i] ^= (v4u64)up + (v4u64)f[(i + 4) % N];
			/* All stay in [1, 4): no overflow, no NaN, whose bits may differ. */
			g = f[i] * TURN8(f[(i + 1) % N]) * 0.25f +
			    (v8f32)(((v8s32)x & 0x7fffff) | 0x3f800000);
			g = g / (f[(i + 2) % N] * 0.25f + 0.5f) * 0.5f + 0.75f;
			g = __builtin_elementwise_max(g, low8);
			f[i] = __builtin_elementwise_min(g, high8);
			d[i] = __builtin_elementwise_sqrt(d[i] * TURN4(d[(i + 1) % N]) + 0.125) *
				       0.75 +
			       0.375;
			d[i] += __builtin_convertvector(a[i] >> 12, v4f64) * 0x1p-56;
			d[i] = __builtin_elementwise_min(__builtin_elementwise_max(d[i], low4),
							 high4);
		}
	}
	for (int i = 0; i < N; i++) {
		v4u64 g = (v4u64)f[i], e = (v4u64)d[i];

		for (int j = 0; j < 4; j++)
			sum = mix(mix(mix(sum ^ a[i][j]) ^ g[j]) ^ e[j]);
	}
	return sum;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct rusage use;

	if (fesetround(modes[w->n % 4]))
		abort();
	do {
		w->sum = pass(w->n + 1);
		w->passes++;
		if (deadline && w->sum != w->expected && !w->wrong++)
			w->first_wrong = w->sum;
	} while (now() < deadline);
	if (!getrusage(RUSAGE_THREAD, &use))
		w->preempted = use.ru_nivcsw;
	return NULL;
}

static void read_expected(const char *name, struct worker *w, unsigned int n)
{
	FILE *f = fopen(name, "re");

	for (unsigned int i = 0; i < n; i++) {
		unsigned int thread;

		if (!f || fscanf(f, "%u %lx", &thread, &w[i].expected) != 2 || thread != i) {
			fprintf(stderr, "pv-vsum: %s does not hold %u sums\n", name, n);
			exit(2);
		}
	}
	fclose(f);
}

int main(int argc, char **argv)
{
	static struct worker w[MAX_THREADS];
	unsigned long passes = 0, wrong = 0;
	unsigned int n = argc > 1 ? (unsigned int)atoi(argv[1]) : 0;
	long preempted = 0;

	if ((argc != 2 && argc != 4) || n < 1 || n > MAX_THREADS) {
		fprintf(stderr, "usage: pv-vsum THREADS [SECONDS FILE]\n");
		return 2;
	}
	if (argc == 4) {
		read_expected(argv[3], w, n);
		deadline = now() + atof(argv[2]);
	}
	for (unsigned int i = 0; i < n; i++) {
		w[i].n = i;
		if (pthread_create(&w[i].id, NULL, work, &w[i])) {
			perror("pv-vsum: thread");
			return 2;
		}
	}
	for (unsigned int i = 0; i < n; i++) {
		pthread_join(w[i].id, NULL);
		if (!deadline)
			printf("%u %016lx\n", i, w[i].sum);
		if (w[i].wrong)
			printf("thread %u: %lu of %lu sums wrong, the first %016lx instead of "
			       "%016lx\n",
			       i, w[i].wrong, w[i].passes, w[i].first_wrong, w[i].expected);
		passes += w[i].passes;
		wrong += w[i].wrong;
		preempted += w[i].preempted;
	}
	if (deadline)
		printf("%u threads, %lu sums, %lu wrong, preempted %ld times\n", n, passes, wrong,
		       preempted);
	return wrong ? 1 : 0;
}
