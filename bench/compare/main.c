// SPDX-License-Identifier: GPL-2.0-only
#include "compare.h"
#include "pv.h"

#include <errno.h>
#include <getopt.h>
#include <gsl/gsl_errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *pv_progname = "pv-compare";

static const char help[] =
	"Usage:\n"
	"  pv-compare [OPTION]... SAMPLES...\n"
	"  pv-compare --check SAMPLES...\n"
	"  pv-compare --numbers OFF ON [--better higher|lower] [--unit UNIT] [--equivalence "
	"PERCENT]\n"
	"\n"
	"Compares samples with a feature off and on (bench/samples.md), cell by cell, prints a "
	"table.\n"
	"\n"
	"  --out DIR              also write DIR/report.json and DIR/report.html (needs gnuplot)\n"
	"  --profile quick|full   quick: no verdict on times; full (default): verdict from 10 "
	"runs\n"
	"  --title TEXT           of the report\n"
	"  --env FILE             JSON object of strings, shown as the environment of the whole "
	"run\n"
	"  --equivalence PERCENT  differences up to this do not matter (default 5)\n"
	"  --allow-partial        list cells without one of the arms as incomplete\n"
	"  --allow-mixed-env      accept samples of several environments, keep them apart\n"
	"  --check                only judge the samples\n"
	"  --numbers              compare two files of plain numbers > 0 between white space\n"
	"  --better higher|lower  --numbers: these are rates, or times\n"
	"  --unit UNIT            --numbers: of the numbers\n"
	"  --help                 this text\n"
	"\n"
	"Exit status: 0 done; 1 could not write or draw; 2 bad options, malformed or "
	"contradictory\n"
	"samples; 3 samples that are well-formed but must not be used (refused). Nothing is "
	"written\n"
	"unless the status is 0.\n";

enum {
	OPT_OUT = 1,
	OPT_PROFILE,
	OPT_TITLE,
	OPT_ENV,
	OPT_EQUIVALENCE,
	OPT_PARTIAL,
	OPT_MIXED_ENV,
	OPT_CHECK,
	OPT_NUMBERS,
	OPT_BETTER,
	OPT_UNIT,
	OPT_HELP,
};

static const struct option options[] = {
	{"out", required_argument, NULL, OPT_OUT},
	{"profile", required_argument, NULL, OPT_PROFILE},
	{"title", required_argument, NULL, OPT_TITLE},
	{"env", required_argument, NULL, OPT_ENV},
	{"equivalence", required_argument, NULL, OPT_EQUIVALENCE},
	{"allow-partial", no_argument, NULL, OPT_PARTIAL},
	{"allow-mixed-env", no_argument, NULL, OPT_MIXED_ENV},
	{"check", no_argument, NULL, OPT_CHECK},
	{"numbers", no_argument, NULL, OPT_NUMBERS},
	{"better", required_argument, NULL, OPT_BETTER},
	{"unit", required_argument, NULL, OPT_UNIT},
	{"help", no_argument, NULL, OPT_HELP},
	{NULL, 0, NULL, 0},
};

/* Which mode may use which option. */
#define MODE_REPORT 1u
#define MODE_CHECK 2u
#define MODE_NUMBERS 4u

static unsigned int modes_of(int option)
{
	switch (option) {
	case OPT_EQUIVALENCE:
		return MODE_REPORT | MODE_NUMBERS;
	case OPT_BETTER:
	case OPT_UNIT:
		return MODE_NUMBERS;
	case OPT_CHECK:
		return MODE_CHECK;
	case OPT_NUMBERS:
		return MODE_NUMBERS;
	default:
		return MODE_REPORT;
	}
}

static int one_of(const char *option, const char *value, const char *zero, const char *one)
{
	if (!strcmp(value, zero))
		return 0;
	if (!strcmp(value, one))
		return 1;
	pv_die(PV_EXIT_USAGE, "--%s: neither %s nor %s", option, zero, one);
}

static const char *one_line(const char *option, const char *value)
{
	if (!clean_text(value))
		pv_die(PV_EXIT_USAGE, "--%s: not a text on one line in UTF-8", option);
	return value;
}

static json_t *read_env(const char *path)
{
	json_error_t error;
	json_t *env = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	const char *name;
	json_t *value;

	if (!env) {
		char *why = cleaned(error.text);

		pv_die(PV_EXIT_USAGE, "%s:%d: %s", path, error.line, why);
	}
	if (!json_is_object(env))
		pv_die(PV_EXIT_USAGE, "%s: not a JSON object of strings", path);
	json_object_foreach(env, name, value)
	{
		char *shown = cleaned(name);

		if (!clean_text(name) || !json_is_string(value) ||
		    !clean_text(json_string_value(value)))
			pv_die(PV_EXIT_USAGE, "%s: %s: not a string on one line", path, shown);
		free(shown);
	}
	return env;
}

/* Reads every file; exits when a sample is malformed or refused. */
static void read_all(struct sample_list *list, char **paths, size_t n)
{
	int status = PV_EXIT_OK;
	size_t i;

	for (i = 0; i < n; i++)
		samples_read(list, paths[i]);
	if (list->malformed)
		status = PV_EXIT_USAGE;
	else if (list->refused)
		status = PV_EXIT_REFUSED;
	if (status == PV_EXIT_OK)
		return;
	pv_warn("%zu malformed, %zu refused, %zu good samples", list->malformed, list->refused,
		list->n);
	samples_free(list);
	exit(status);
}

static void write_reports(struct report *r)
{
	struct new_file json, html;

	if (mkdir(r->out, 0777) && errno != EEXIST)
		pv_die(PV_EXIT_FAILED, "%s: cannot create: %s", r->out, strerror(errno));
	plots_make(r);
	new_file_open(&json, r->out, "report.json");
	new_file_open(&html, r->out, "report.html");
	report_json(json.f, r);
	report_html(html.f, r);
	new_file_finish(&json);
	new_file_finish(&html);
	new_file_publish(&json);
	new_file_publish(&html);
}

static void flush_stdout(void)
{
	if (fflush(stdout) || ferror(stdout))
		pv_die(PV_EXIT_FAILED, "cannot write to standard output: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	struct report r = {.title = "Feature off and on", .full = true, .equivalence = 5};
	unsigned int mode = MODE_REPORT;
	unsigned int allowed = MODE_REPORT | MODE_CHECK | MODE_NUMBERS;
	const char *last = NULL;
	const char *unit = "";
	const char *env = NULL;
	int higher = -1;
	int option, index;

	gsl_set_error_handler_off();
	while ((option = getopt_long(argc, argv, "", options, &index)) != -1) {
		if (option == '?')
			pv_die(PV_EXIT_USAGE, "see pv-compare --help");
		if (!(allowed & modes_of(option)))
			pv_die(PV_EXIT_USAGE, "--%s and --%s do not go together", last,
			       options[index].name);
		allowed &= modes_of(option);
		last = options[index].name;
		switch (option) {
		case OPT_OUT:
			r.out = optarg;
			break;
		case OPT_PROFILE:
			r.full = one_of("profile", optarg, "quick", "full");
			break;
		case OPT_TITLE:
			r.title = one_line("title", optarg);
			break;
		case OPT_ENV:
			env = optarg;
			break;
		case OPT_EQUIVALENCE:
			if (!pv_parse_double(optarg, 0, 100, &r.equivalence))
				pv_die(PV_EXIT_USAGE, "--equivalence: not a number from 0 to 100");
			break;
		case OPT_PARTIAL:
			r.allow_partial = true;
			break;
		case OPT_MIXED_ENV:
			r.allow_mixed_env = true;
			break;
		case OPT_CHECK:
			mode = MODE_CHECK;
			break;
		case OPT_NUMBERS:
			mode = MODE_NUMBERS;
			break;
		case OPT_BETTER:
			higher = one_of("better", optarg, "lower", "higher");
			break;
		case OPT_UNIT:
			unit = one_line("unit", optarg);
			break;
		case OPT_HELP:
			fputs(help, stdout);
			flush_stdout();
			return PV_EXIT_OK;
		}
	}
	if (mode == MODE_NUMBERS) {
		if (argc - optind != 2)
			pv_die(PV_EXIT_USAGE, "--numbers: two files, off and on");
		option = numbers_main(argv[optind], argv[optind + 1], higher, unit, r.equivalence);
		flush_stdout();
		return option;
	}
	if (!(allowed & mode))
		pv_die(PV_EXIT_USAGE, "--%s goes with --numbers only", last);
	if (optind == argc)
		pv_die(PV_EXIT_USAGE, "no samples; see pv-compare --help");
	r.sources = argv + optind;
	r.n_sources = (size_t)(argc - optind);
	read_all(&r.list, r.sources, r.n_sources);
	if (mode == MODE_CHECK) {
		printf("%zu good sample%s\n", r.list.n, r.list.n == 1 ? "" : "s");
		samples_free(&r.list);
		flush_stdout();
		return PV_EXIT_OK;
	}
	if (env)
		r.run_env = read_env(env);
	if (!report_build(&r)) {
		report_free(&r);
		return PV_EXIT_USAGE;
	}
	if (r.out)
		write_reports(&r);
	report_text(stdout, &r);
	if (r.out)
		printf("\nWritten: %s/report.json and %s/report.html\n", r.out, r.out);
	flush_stdout();
	report_free(&r);
	return PV_EXIT_OK;
}
