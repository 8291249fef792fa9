// SPDX-License-Identifier: GPL-2.0-only
#include "pv.h"
#include "sample.h"
#include "tlb.h"

#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pv_progname = "pv-tlb";

#define MAX_THREADS 4096
#define MAX_PAGES 4096
#define MAX_SECONDS 86400

static const char *const op_names[] = {
	[OP_MUNMAP] = "munmap",
	[OP_MADVISE] = "madvise",
	[OP_MPROTECT] = "mprotect",
};

static const char help_text[] =
	"Usage: pv-tlb [options] FLUSHERS BYSTANDERS\n"
	"\n"
	"Measures how long it takes to flush the TLB of all CPUs on which a process runs:\n"
	"FLUSHERS threads make the kernel do it over and over, BYSTANDERS threads are what\n"
	"has to be flushed. Each is pinned to a CPU of its own while there are enough.\n"
	"\n"
	"  -m, --mode busy|idle   busy bystanders compute, idle ones sleep and wake up every\n"
	"                         millisecond (busy)\n"
	"  -o, --op OP            what forces the flush: munmap, madvise or mprotect (madvise)\n"
	"  -p, --pages N          pages in each flush, 1 to 4096 (1)\n"
	"  -S, --seconds N        how long to measure, after 0.2 s of warm-up (5)\n"
	"  -n, --flushes N        end each flusher after N flushes, if that is sooner\n"
	"      --json             print one JSON object instead (bench/samples.md)\n"
	"  -h, --help             this text\n"
	"\n"
	"FLUSHERS >= 1, BYSTANDERS >= 0, together at most 4096.\n"
	"Exit status: 0 measured; 1 failed; 2 bad usage.\n";

static void __attribute__((noreturn)) usage(void)
{
	fputs("Usage: pv-tlb [options] FLUSHERS BYSTANDERS (see --help)\n", stderr);
	exit(PV_EXIT_USAGE);
}

static long number(const char *what, const char *text, long min, long max)
{
	long value = 0;

	if (!pv_parse_long(text, min, max, &value)) {
		pv_warn("%s: '%s' is not a whole number from %ld to %ld", what, text, min, max);
		usage();
	}
	return value;
}

static enum op parse_op(const char *text)
{
	for (unsigned int i = 0; i < sizeof(op_names) / sizeof(*op_names); i++)
		if (strcmp(text, op_names[i]) == 0)
			return (enum op)i;
	pv_warn("--op: '%s' is not munmap, madvise or mprotect", text);
	usage();
}

static bool parse_mode(const char *text)
{
	if (strcmp(text, "idle") != 0 && strcmp(text, "busy") != 0) {
		pv_warn("--mode: '%s' is not busy or idle", text);
		usage();
	}
	return strcmp(text, "idle") == 0;
}

static void parse_threads(int argc, char *argv[], struct settings *s)
{
	if (argc != 2) {
		pv_warn("wanted: the numbers of flushers and of bystanders");
		usage();
	}
	s->flushers = (unsigned int)number("FLUSHERS", argv[0], 1, MAX_THREADS);
	s->bystanders = (unsigned int)number("BYSTANDERS", argv[1], 0, MAX_THREADS);
	if (s->flushers + s->bystanders > MAX_THREADS) {
		pv_warn("%u flushers and %u bystanders are more than %d threads", s->flushers,
			s->bystanders, MAX_THREADS);
		usage();
	}
}

/* The arguments as given without --json, when there is one; else NULL. */
static char *read_options(int argc, char *argv[], struct settings *s)
{
	static const struct option options[] = {
		{"mode", required_argument, NULL, 'm'},
		{"op", required_argument, NULL, 'o'},
		{"seconds", required_argument, NULL, 'S'},
		{"flushes", required_argument, NULL, 'n'},
		{"pages", required_argument, NULL, 'p'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	char **as_given = calloc((size_t)argc + 1, sizeof(*as_given)); /* getopt reorders */
	char *params = NULL;
	const char *json = NULL;
	int c;

	if (!as_given)
		pv_die(PV_EXIT_FAILED, "out of memory");
	memcpy(as_given, argv, (size_t)argc * sizeof(*argv));
	while ((c = getopt_long(argc, argv, "m:o:S:n:p:h", options, NULL)) != -1) {
		switch (c) {
		case 'm':
			s->idle = parse_mode(optarg);
			break;
		case 'o':
			s->op = parse_op(optarg);
			break;
		case 'S':
			if (!pv_parse_double(optarg, 0.001, MAX_SECONDS, &s->seconds)) {
				pv_warn("--seconds: '%s' is not a number from 0.001 to %d", optarg,
					MAX_SECONDS);
				usage();
			}
			break;
		case 'n':
			s->limit = (uint64_t)number("--flushes", optarg, 1, LONG_MAX);
			break;
		case 'p':
			s->pages = (unsigned int)number("--pages", optarg, 1, MAX_PAGES);
			break;
		case 'j':
			json = argv[optind - 1];
			break;
		case 'h':
			fputs(help_text, stdout);
			pv_stdout_flush();
			exit(PV_EXIT_OK);
		default:
			usage();
		}
	}
	parse_threads(argc - optind, argv + optind, s);
	if (json) {
		params = pv_params_join(argc - 1, as_given + 1, json);
		if (!params)
			pv_die(PV_EXIT_USAGE, "the arguments are not one line of UTF-8");
	}
	free(as_given);
	return params;
}

/* TLB IPIs per flush and remote vCPU; NAN when there is no such thing. */
static double ipis_each(const struct result *r)
{
	if (!r->ipis_known || r->cpus < 2)
		return (double)NAN;
	return (double)r->ipis / ((double)r->latency.count * (r->cpus - 1));
}

static void print_latency(const char *name, uint64_t ns)
{
	if (ns < 10000)
		printf("  %s %" PRIu64 " ns", name, ns);
	else if (ns < 10000000)
		printf("  %s %.1f us", name, (double)ns / 1e3);
	else
		printf("  %s %.1f ms", name, (double)ns / 1e6);
}

static void print_text(const struct settings *s, const struct result *r)
{
	const struct hist *h = &r->latency;

	printf("operation      %s of %u page%s\n", op_names[s->op], s->pages,
	       s->pages == 1 ? "" : "s");
	printf("threads        %u flusher%s, %u ", s->flushers, s->flushers == 1 ? "" : "s",
	       s->bystanders);
	if (s->bystanders)
		printf("%s ", s->idle ? "idle" : "busy");
	printf("bystander%s; %s\n", s->bystanders == 1 ? "" : "s",
	       r->one_per_cpu ? "each on a CPU of its own" : "round-robin, CPUs are shared");
	printf("remote vCPUs   %u of %u allowed\n", r->cpus - 1, r->cpus_allowed);
	printf("flushes        %" PRIu64 " in %.2f s\n", h->count, r->elapsed_s);
	printf("flush rate     %.1f flushes/s\n", (double)h->count / r->elapsed_s);
	printf("latency      ");
	print_latency("min", h->min);
	print_latency("p50", hist_percentile(h, 50));
	print_latency("p95", hist_percentile(h, 95));
	print_latency("p99", hist_percentile(h, 99));
	print_latency("max", h->max);
	printf("\nTLB IPIs       ");
	if (!r->ipis_known)
		printf("unknown: no usable TLB line in /proc/interrupts\n");
	else if (r->cpus < 2)
		printf("%" PRIu64 "\n", r->ipis);
	else
		printf("%" PRIu64 " (%.3f per flush and remote vCPU)\n", r->ipis, ipis_each(r));
	pv_stdout_flush();
}

static void print_json(const struct settings *s, const struct result *r, const char *params)
{
	const struct hist *h = &r->latency;
	double each = ipis_each(r);
	json_t *details;

	details = json_pack(
		"{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:s, s:I, s:o, s:o}", "op",
		op_names[s->op], "pages", (json_int_t)s->pages, "min_ns", (json_int_t)h->min,
		"p50_ns", (json_int_t)hist_percentile(h, 50), "p95_ns",
		(json_int_t)hist_percentile(h, 95), "p99_ns", (json_int_t)hist_percentile(h, 99),
		"max_ns", (json_int_t)h->max, "elapsed_s", r->elapsed_s, "flushers",
		(json_int_t)s->flushers, "bystanders", (json_int_t)s->bystanders, "pinned",
		r->one_per_cpu ? "one per CPU" : "round-robin", "uncounted_flushes",
		(json_int_t)r->resets, "tlb_ipis",
		r->ipis_known ? json_integer((json_int_t)r->ipis) : json_null(),
		"tlb_ipis_per_flush_and_remote_vcpu", isnan(each) ? json_null() : json_real(each));
	pv_sample_print(&(struct pv_sample){
		.workload = "tlb",
		.implementation = "pv-tlb-flush",
		.metric = "flush_rate",
		.unit = "flushes/s",
		.better = "higher",
		.value = (double)h->count / r->elapsed_s,
		.params = params,
		.bystanders = s->bystanders ? (s->idle ? "idle" : "busy") : "none",
		.flushes = (long long)h->count,
		.remote_vcpus = r->cpus - 1,
		.details = details,
	});
}

int main(int argc, char *argv[])
{
	struct settings settings = {.op = OP_MADVISE, .pages = 1, .seconds = 5};
	static struct result result; /* large */
	char *params = read_options(argc, argv, &settings);

	measure(&settings, &result);
	if (params)
		print_json(&settings, &result, params);
	else
		print_text(&settings, &result);
	free(params);
	return PV_EXIT_OK;
}
