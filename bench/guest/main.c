// SPDX-License-Identifier: GPL-2.0-only
#include "guest.h"
#include "pv.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *pv_progname = "pv-guest";

static void usage(FILE *to)
{
	fputs("usage: pv-guest run [--feature F] [--out FILE|- | --channel PORT] --job "
	      "NAME:TIMEOUT[:ARG,...]...\n"
	      "       pv-guest state [--feature F]\n"
	      "       pv-guest counters\n"
	      "       pv-guest params KERNEL-COMMAND-LINE\n"
	      "\n"
	      "Runs the workload pv-NAME that lies beside this program as `pv-NAME --json "
	      "ARG...`,\n"
	      "for at most TIMEOUT seconds, and prints what happens as one JSON object per line:\n"
	      "state, ready, then begin, progress and sample or error for each job, and done.\n"
	      "Arguments are percent-encoded: %2C is a comma, %20 a blank, %25 a percent sign.\n"
	      "  --feature F   the feature under test (" FEATURE_DEFAULT ")\n"
	      "  --out FILE    write the events to FILE; - is standard output, the default\n"
	      "  --channel PORT  speak with pv-collect on the virtio-serial port with that name\n"
	      "                (" CHANNEL_DEFAULT "): wait for its \"go\" before the first job,\n"
	      "                and after done for its \"bye\"\n"
	      "state prints the state event alone; counters the rows of /proc/interrupts and the\n"
	      "steal time (clock ticks) that samples are made of; params what /init would make of "
	      "a\n"
	      "kernel command line.\n"
	      "Started as /init with process id 1 it reads its jobs from the kernel command line\n"
	      "(pvb.*, see README.md) and powers the guest off at the end.\n"
	      "PV_PROC_ROOT: a folder with files to read in place of /proc, for tests.\n"
	      "Exit status: 0 all jobs succeeded, 1 some failed, 2 bad usage.\n",
	      to);
}

struct options {
	const char *feature, *out, *channel;
	struct job *jobs;
	size_t n_jobs;
};

static void add_job(struct options *o, const char *spec)
{
	struct job *jobs = realloc(o->jobs, (o->n_jobs + 1) * sizeof(*jobs));
	char why[WHY_MAX];

	if (!jobs)
		pv_die(PV_EXIT_FAILED, "no memory");
	o->jobs = jobs;
	if (o->n_jobs == JOBS_MAX)
		pv_die(PV_EXIT_USAGE, "more than %d jobs", JOBS_MAX);
	if (!job_parse(spec, &jobs[o->n_jobs], why))
		pv_die(PV_EXIT_USAGE, "%s", why);
	o->n_jobs++;
}

static void parse_options(struct options *o, int argc, char **argv, bool run)
{
	static const struct option longopts[] = {
		{"channel", required_argument, NULL, 'c'},
		{"feature", required_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},
		{"job", required_argument, NULL, 'j'},
		{"out", required_argument, NULL, 'o'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", longopts, NULL)) != -1) {
		if (c == 'h') {
			usage(stdout);
			exit(0);
		}
		if (c == 'f' && feature_valid(optarg))
			o->feature = optarg;
		else if (c == 'f')
			pv_die(PV_EXIT_USAGE, "--feature: not a feature's name");
		else if (c == 'j' && run)
			add_job(o, optarg);
		else if (c == 'o' && run)
			o->out = optarg;
		else if (c == 'c' && run)
			o->channel = optarg;
		else
			pv_die(PV_EXIT_USAGE, "bad option; --help explains");
	}
	if (optind < argc)
		pv_die(PV_EXIT_USAGE, "unexpected argument \"%s\"", argv[optind]);
	if (run && !o->n_jobs)
		pv_die(PV_EXIT_USAGE, "no --job");
	if (o->out && o->channel)
		pv_die(PV_EXIT_USAGE, "--out and --channel exclude each other");
}

static void find_bindir(struct runner *r)
{
	ssize_t len = readlink("/proc/self/exe", r->bindir, sizeof(r->bindir) - 1);
	char *slash;

	if (len <= 0)
		pv_die(PV_EXIT_FAILED, "cannot read /proc/self/exe: %s", strerror(errno));
	r->bindir[len] = '\0';
	slash = strrchr(r->bindir, '/');
	if (slash)
		*slash = '\0';
}

static int cmd_run(struct options *o)
{
	struct session s = {.feature = o->feature, .jobs = o->jobs, .n_jobs = o->n_jobs};
	struct runner r = {0};
	int fd = -1, status;

	find_bindir(&r);
	if (o->channel) {
		channel_open(o->channel);
		s.barrier_timeout_s = BARRIER_TIMEOUT_S;
		s.bye = true;
	} else if (o->out && strcmp(o->out, "-") != 0) {
		fd = open(o->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (fd < 0)
			pv_die(PV_EXIT_FAILED, "%s: %s", o->out, strerror(errno));
		event_to(fd, false);
	}
	status = session_run(&s, &r);
	for (size_t i = 0; i < o->n_jobs; i++)
		job_free(&o->jobs[i]);
	free(o->jobs);
	if (!o->channel && close(fd < 0 ? STDOUT_FILENO : fd))
		pv_die(PV_EXIT_FAILED, "%s: %s", o->out ? o->out : "-", strerror(errno));
	return status;
}

static int cmd_state(const struct options *o)
{
	struct state st;

	probe_state(&st, o->feature);
	event_send(probe_event(&st, false, 0));
	return PV_EXIT_OK;
}

static int cmd_counters(void)
{
	struct counters zero = {0}, c;
	json_t *out;

	probe_counters(&c);
	out = probe_interrupts(&zero, &c);
	json_object_set_new(out, "steal_ticks",
			    c.steal_ticks < 0 ? json_null() : json_integer(c.steal_ticks));
	event_send(out);
	return PV_EXIT_OK;
}

static int cmd_params(const char *line)
{
	char *copy = strdup(line);
	struct params p;

	if (!copy)
		pv_die(PV_EXIT_FAILED, "no memory");
	params_parse(&p, copy);
	free(copy);
	if (p.why[0])
		pv_die(PV_EXIT_USAGE, "%s", p.why);
	event_send(params_json(&p));
	params_free(&p);
	return PV_EXIT_OK;
}

int main(int argc, char **argv)
{
	struct options o = {.feature = FEATURE_DEFAULT};
	const char *name = strrchr(argv[0], '/');

	if (getpid() == 1 && !strcmp(name ? name + 1 : argv[0], "init"))
		init_main();
	if (argc < 2) {
		usage(stderr);
		return PV_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		usage(stdout);
		return PV_EXIT_OK;
	}
	if (!strcmp(argv[1], "run")) {
		parse_options(&o, argc - 1, argv + 1, true);
		return cmd_run(&o);
	}
	if (!strcmp(argv[1], "state")) {
		parse_options(&o, argc - 1, argv + 1, false);
		return cmd_state(&o);
	}
	if (!strcmp(argv[1], "counters")) {
		parse_options(&o, argc - 1, argv + 1, false);
		return cmd_counters();
	}
	if (!strcmp(argv[1], "params") && argc == 3)
		return cmd_params(argv[2]);
	pv_die(PV_EXIT_USAGE, "\"%s\": no such command; --help explains", argv[1]);
}
