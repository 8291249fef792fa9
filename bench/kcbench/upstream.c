// SPDX-License-Identifier: GPL-2.0-only
#include "child.h"
#include "kcbench.h"
#include "pv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void __attribute__((noreturn)) failed(const char *what)
{
	pv_warn("%s: %s", what, strerror(errno));
	finish(PV_EXIT_FAILED, 0);
}

/* kcbench takes one string of them, which it splits at blanks. */
static char *join_make_args(const struct settings *s)
{
	size_t size = 1;
	char *text, *end;

	for (size_t i = 0; i < s->make_args; i++)
		size += strlen(s->make_arg[i]) + 1;
	text = malloc(size);
	if (!text)
		failed("memory");
	end = text;
	*end = '\0';
	for (size_t i = 0; i < s->make_args; i++) {
		if (i)
			*end++ = ' ';
		end = stpcpy(end, s->make_arg[i]);
	}
	return text;
}

static struct run *parse(const struct settings *s, FILE *out, size_t *count)
{
	struct run *runs = NULL, *grown, run;
	char *line = NULL;
	size_t size = 0;

	*count = 0;
	while (getline(&line, &size, out) >= 0) {
		int what;

		line[strcspn(line, "\n")] = '\0';
		what = parse_run(line, &run);
		if (what == 0)
			continue;
		if (what < 0 || run.number != (long)*count + 1 || run.jobs != s->jobs) {
			pv_warn("%s: not a result of run %zu with -j %ld: '%.200s'", s->real,
				*count + 1, s->jobs, line);
			finish(PV_EXIT_FAILED, 0);
		}
		grown = realloc(runs, (*count + 1) * sizeof(*runs));
		if (!grown)
			failed("memory");
		runs = grown;
		runs[(*count)++] = run;
	}
	free(line);
	if (*count != (size_t)s->iterations) {
		show_tail(out);
		pv_warn("%s: %zu results, wanted: %ld", s->real, *count, s->iterations);
		finish(PV_EXIT_FAILED, 0);
	}
	return runs;
}

struct run *run_upstream(const struct settings *s, size_t *count)
{
	char jobs[32], iterations[32], *make_args = join_make_args(s);
	const char *argv[16];
	size_t n = 0;
	struct run *runs;
	struct pv_child child;
	FILE *out = tmpfile();

	if (!out)
		failed("temporary file");
	snprintf(jobs, sizeof(jobs), "%ld", s->jobs);
	snprintf(iterations, sizeof(iterations), "%ld", s->iterations);
	argv[n++] = s->real;
	argv[n++] = "-s";
	argv[n++] = s->tree;
	argv[n++] = "--no-download";
	argv[n++] = "-j";
	argv[n++] = jobs;
	argv[n++] = "-i";
	argv[n++] = iterations;
	if (s->outdir) {
		argv[n++] = "-o";
		argv[n++] = s->outdir;
	}
	if (s->config) {
		argv[n++] = "-k";
		argv[n++] = s->config;
	}
	if (s->make_args) {
		argv[n++] = "--add-make-args";
		argv[n++] = make_args;
	}
	argv[n] = NULL;

	child = (struct pv_child){
		.argv = (char *const *)argv,
		.out_fd = fileno(out),
		.err_fd = fileno(out),
		.timeout_s = s->timeout_s,
	};
	if (!pv_child_run(&child)) {
		if (!child.interrupted_by)
			show_tail(out);
		pv_child_explain(&child);
		finish(PV_EXIT_FAILED, child.interrupted_by);
	}
	if (fseek(out, 0, SEEK_SET))
		failed("temporary file");
	runs = parse(s, out, count);
	fclose(out);
	free(make_args);
	return runs;
}
