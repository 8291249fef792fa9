// SPDX-License-Identifier: GPL-2.0-only
#include "child.h"
#include "parse.h"
#include "pv.h"
#include "sample.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *pv_progname = "pv-ebizzy-json";

static const char help_text[] =
	"Usage: pv-ebizzy-json [--seconds-limit N] -- EBIZZY [ARGUMENT...]\n"
	"\n"
	"Runs EBIZZY, a real ebizzy 0.3, with the ARGUMENTs, reads what it prints and prints the\n"
	"result as one JSON object (bench/samples.md, implementation \"upstream\").\n"
	"\n"
	"  --seconds-limit N  end it after N seconds, as a failure\n"
	"  --help             this text\n"
	"\n"
	"Exit status: 0 done; 1 EBIZZY failed or printed something else; 2 bad usage; a signal\n"
	"that ends this program ends EBIZZY too.\n";

static void __attribute__((noreturn)) usage(void)
{
	fputs("Usage: pv-ebizzy-json [--seconds-limit N] -- EBIZZY [ARGUMENT...]\n", stderr);
	exit(PV_EXIT_USAGE);
}

static void print_sample(const struct ebizzy_output *out, const char *program, const char *params,
			 double wall_s)
{
	json_t *per_thread = json_array(), *details;

	for (size_t i = 0; i < out->per_thread_count; i++)
		json_array_append_new(per_thread, json_integer(out->per_thread[i]));
	details = json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:o}", "program", program,
			    "records_per_s", (json_int_t)out->records_per_s, "real_s", out->real_s,
			    "user_s", out->user_s, "sys_s", out->sys_s, "wall_s", wall_s,
			    "per_thread", per_thread);
	pv_sample_print(&(struct pv_sample){
		.workload = "ebizzy",
		.implementation = "upstream",
		.metric = "throughput",
		.unit = "records/s",
		.better = "higher",
		.value = (double)out->records_per_s,
		.params = params,
		.bystanders = "none",
		.flushes = -1,
		.remote_vcpus = -1,
		.details = details,
	});
}

/* Leaves the output in @file, at its beginning. */
static void run_ebizzy(char *const argv[], long limit, FILE *file, double *wall_s)
{
	struct pv_child child = {
		.argv = argv,
		.out_fd = fileno(file),
		.err_fd = STDERR_FILENO,
		.timeout_s = (double)limit,
	};
	bool ok;

	pv_child_init();
	ok = pv_child_run(&child);
	if (!ok)
		pv_child_explain(&child);
	if (child.interrupted_by)
		pv_child_reraise(child.interrupted_by);
	if (!ok)
		exit(PV_EXIT_FAILED);
	*wall_s = (double)child.wall_ns / 1e9;
	if (fseek(file, 0, SEEK_SET))
		pv_die(PV_EXIT_FAILED, "temporary file: %s", strerror(errno));
}

int main(int argc, char *argv[])
{
	static const struct option options[] = {
		{"help", no_argument, NULL, 'h'},
		{"seconds-limit", required_argument, NULL, 'l'},
		{NULL, 0, NULL, 0},
	};
	struct ebizzy_output output;
	char *params, *program, *why;
	double wall_s = 0;
	long limit = 0;
	FILE *file;
	int c;

	while ((c = getopt_long(argc, argv, "+h", options, NULL)) != -1) {
		switch (c) {
		case 'h':
			fputs(help_text, stdout);
			pv_stdout_flush();
			return PV_EXIT_OK;
		case 'l':
			if (!pv_parse_long(optarg, 1, 1000000000, &limit)) {
				pv_warn("--seconds-limit: '%s' is not a whole number from 1 to "
					"1000000000",
					optarg);
				usage();
			}
			break;
		default:
			usage();
		}
	}
	if (optind == argc || !*argv[optind]) {
		pv_warn("which program to run?");
		usage();
	}
	program = pv_params_join(1, argv + optind, NULL);
	params = pv_params_join(argc - optind - 1, argv + optind + 1, NULL);
	if (!program || !params)
		pv_die(PV_EXIT_USAGE, "the arguments are not one line of UTF-8");

	file = tmpfile();
	if (!file)
		pv_die(PV_EXIT_FAILED, "temporary file: %s", strerror(errno));
	run_ebizzy(argv + optind, limit, file, &wall_s);
	if (!ebizzy_parse(file, &output, &why))
		pv_die(PV_EXIT_FAILED, "%s: %s", program, why ? why : "bad output");
	print_sample(&output, program, params, wall_s);
	ebizzy_output_free(&output);
	fclose(file);
	free(program);
	free(params);
	return PV_EXIT_OK;
}
