// SPDX-License-Identifier: GPL-2.0-only
#include "ebizzy.h"
#include "pv.h"
#include "sample.h"

#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SECONDS (366L * 24 * 3600)
#define MAX_THREADS 4096L

static const char usage_text[] =
	"Usage: pv-ebizzy [options]\n"
	"  -T            only touch the pages of the copy\n"
	"  -l            copy with an own loop, not with memcpy\n"
	"  -m            always mmap, never malloc\n"
	"  -M            never mmap: malloc, with M_MMAP_MAX at 0\n"
	"  -n <num>      number of chunks (10)\n"
	"  -p            keep chunks apart by alternating permissions\n"
	"  -P            keep chunks apart by holes\n"
	"  -R            copy and search a part of random size\n"
	"  -s <size>     bytes in a chunk (65536 records)\n"
	"  -S <seconds>  how long to run (10)\n"
	"  -t <num>      threads (2 for each online CPU)\n"
	"  -v[v[v]]      say what is done; twice: by each thread; thrice: for each record\n"
	"  -z            linear search instead of binary search\n"
	"  --json        print one JSON object instead (bench/samples.md); -v goes to stderr\n"
	"  --help        this text\n";

static const char help_text[] =
	"\n"
	"A re-implementation of ebizzy 0.3 (by Valerie Henson and Rodrigo Rubira Branco) by\n"
	"the project pv-tlb-flush. Each record: pick a chunk at random, copy it into newly\n"
	"allocated memory, look up a random key in the copy, free it. Options and output are\n"
	"those of ebizzy 0.3; counting, timing and random choice are not: no record is lost,\n"
	"time is measured in nanoseconds and every chunk and key is really chosen. Results\n"
	"must not be pooled with those of the real ebizzy.\n"
	"\n"
	"A value is a whole decimal number >= 1 with nothing after it (ebizzy: whatever\n"
	"atoi makes of it); -S goes up to 31622400, -t up to 4096.\n"
	"\n"
	"Exit status: 0 done; 1 bad usage, or memory, a thread or a lookup failed.\n";

static void __attribute__((noreturn)) usage(void)
{
	fputs(usage_text, stderr);
	exit(1);
}

static unsigned int number(int option, const char *text, long max)
{
	long value;

	if (!pv_parse_long(text, 1, max, &value)) {
		pv_warn("-%c: '%s' is not a whole number from 1 to %ld", option, text, max);
		usage();
	}
	return (unsigned int)value;
}

/* getopt_long() takes any prefix of a long option; ebizzy rejects them all. */
static void want_exact(const char *given, const char *option)
{
	if (strcmp(given, option) != 0) {
		pv_warn("unrecognized option '%s'", given);
		usage();
	}
}

static void say_settings(const struct settings *s)
{
	fprintf(s->chat,
		"pv-ebizzy, a re-implementation of ebizzy 0.3\n"
		"always_mmap %d\n"
		"never_mmap %d\n"
		"chunks %u\n"
		"prevent coalescing using permissions %d\n"
		"prevent coalescing using holes %d\n"
		"random_size %d\n"
		"chunk_size %u\n"
		"seconds %u\n"
		"threads %u\n"
		"verbose %u\n"
		"linear %d\n"
		"touch_pages %d\n"
		"page size %zu\n",
		s->always_mmap, s->never_mmap, s->chunks, s->permissions, s->holes, s->random_size,
		s->chunk_size, s->seconds, s->threads, s->verbose, s->linear, s->touch_only,
		s->page_size);
}

/* /proc/meminfo: what can be had without pushing anyone out; 0 when unknown. */
static uint64_t available_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	static const char *const names[] = {"MemAvailable:", "SwapFree:"};
	uint64_t sum = 0;
	char line[128];

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			size_t len = strlen(names[i]);

			if (strncmp(line, names[i], len) == 0)
				sum += strtoull(line + len, NULL, 10) * 1024;
		}
	}
	fclose(file);
	return sum;
}

/* An overcommitting kernel would grant it all, and shoot someone once it is used. */
static void want_memory(const struct settings *s)
{
	uint64_t available = available_memory();
	/* cannot overflow: 32 bits each */
	uint64_t needed = (uint64_t)s->chunks * s->chunk_size;

	if (__builtin_add_overflow(needed, (uint64_t)s->threads * s->chunk_size, &needed) ||
	    needed > SIZE_MAX || (available && needed > available))
		pv_die(PV_EXIT_FAILED,
		       "%u chunks and %u copies of %u bytes each are more memory than there is "
		       "(%llu MiB); try a smaller -n, -s or -t",
		       s->chunks, s->threads, s->chunk_size, (unsigned long long)available >> 20);
}

void read_options(int argc, char *argv[], struct settings *s)
{
	static const struct option long_options[] = {
		{"help", no_argument, NULL, 'h' + 256},
		{"json", no_argument, NULL, 'j' + 256},
		{NULL, 0, NULL, 0},
	};
	const char *json = NULL;
	char **as_given; /* getopt reorders argv */
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int c;

	memset(s, 0, sizeof(*s));
	s->chunks = 10;
	s->chunk_size = 65536 * sizeof(record_t);
	s->seconds = 10;
	s->threads = (unsigned int)(cpus < 1 ? 2 : cpus > MAX_THREADS / 2 ? MAX_THREADS : 2 * cpus);
	s->page_size = (size_t)sysconf(_SC_PAGESIZE);

	as_given = calloc((size_t)argc + 1, sizeof(*as_given));
	if (!as_given)
		pv_die(PV_EXIT_FAILED, "out of memory");
	memcpy(as_given, argv, (size_t)argc * sizeof(*argv));

	while ((c = getopt_long(argc, argv, "lmMn:pPRs:S:t:vzT", long_options, NULL)) != -1) {
		switch (c) {
		case 'l':
			s->own_copy = true;
			break;
		case 'm':
			s->always_mmap = true;
			break;
		case 'M':
			s->never_mmap = true;
			break;
		case 'n':
			s->chunks = number(c, optarg, INT_MAX);
			break;
		case 'p':
			s->permissions = true;
			break;
		case 'P':
			s->holes = true;
			break;
		case 'R':
			s->random_size = true;
			break;
		case 's':
			s->chunk_size = number(c, optarg, INT_MAX);
			break;
		case 'S':
			s->seconds = number(c, optarg, MAX_SECONDS);
			break;
		case 't':
			s->threads = number(c, optarg, MAX_THREADS);
			break;
		case 'T':
			s->touch_only = true;
			break;
		case 'v':
			s->verbose++;
			break;
		case 'z':
			s->linear = true;
			break;
		case 'h' + 256:
			want_exact(argv[optind - 1], "--help");
			fputs(usage_text, stdout);
			fputs(help_text, stdout);
			pv_stdout_flush();
			exit(0);
		case 'j' + 256:
			want_exact(argv[optind - 1], "--json");
			s->json = true;
			json = argv[optind - 1];
			break;
		default:
			usage();
		}
	}

	s->chat = s->json ? stderr : stdout;
	if (s->verbose)
		say_settings(s);
	if (s->always_mmap && s->never_mmap) {
		pv_warn("-m and -M exclude each other");
		usage();
	}
	if (s->chunk_size < sizeof(record_t)) {
		pv_warn("-s: a chunk of %u bytes cannot hold a record of %zu bytes", s->chunk_size,
			sizeof(record_t));
		usage();
	}
	want_memory(s);
	if (s->json) {
		s->params = pv_params_join(argc - 1, as_given + 1, json);
		if (!s->params)
			pv_die(PV_EXIT_FAILED, "--json: the arguments are not one line of UTF-8");
	}
	free(as_given);
	if (s->never_mmap)
		mallopt(M_MMAP_MAX, 0);
}
