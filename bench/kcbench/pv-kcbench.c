// SPDX-License-Identifier: GPL-2.0-only
#include "child.h"
#include "kcbench.h"
#include "pv.h"
#include "sample.h"

#include <stdlib.h>
#include <sys/utsname.h>

const char *pv_progname = "pv-kcbench";

static json_t *real_or_null(double value)
{
	return value < 0 ? json_null() : json_real(value);
}

static json_t *count_or_null(long value)
{
	return value < 0 ? json_null() : json_integer(value);
}

static void print_json(const struct settings *s, const struct run *run, const char *version)
{
	json_t *details;

	details = json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:f, s:s, s:s?, s:s}", "run",
			    (json_int_t)run->number, "jobs", (json_int_t)run->jobs, "objects",
			    count_or_null(run->objects), "user_s", real_or_null(run->user_s),
			    "sys_s", real_or_null(run->sys_s), "percent",
			    real_or_null(run->percent), "majfaults", count_or_null(run->majfaults),
			    "kernels_per_hour", run->kernels_per_hour, "target", s->target_text,
			    "label", s->label, "tree_version", version);
	pv_sample_print(&(struct pv_sample){
		.workload = "kcbench",
		.implementation = s->real ? "upstream" : "pv-tlb-flush",
		.metric = "build_time",
		.unit = "s",
		.better = "lower",
		.value = run->seconds,
		.params = s->params,
		.bystanders = "none",
		.flushes = -1,
		.remote_vcpus = -1,
		.details = details,
	});
}

static void report(const struct settings *s, const struct run *run, const char *version)
{
	if (s->json)
		print_json(s, run, version);
	else
		print_run(run);
	pv_stdout_flush();
}

static void print_header(const struct settings *s, const char *version)
{
	struct utsname name;

	uname(&name);
	printf("%-21s%s [%s]\n", "Linux running:", name.release, name.machine);
	printf("%-21s%s [%s]\n", "Linux compiled:", version, s->tree);
	printf("%-21s%s %s\n", "Build command:", s->real ? s->real : "make", s->target_text);
	pv_stdout_flush();
}

/* Neither a parent make's options and job server nor ccache shall have a say. */
static void clean_environment(void)
{
	static const char *const names[] = {"MAKEFLAGS",     "MFLAGS",	     "MAKELEVEL",
					    "MAKEOVERRIDES", "GNUMAKEFLAGS", "KBUILD_OUTPUT"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
	setenv("CCACHE_DISABLE", "1", 1);
	setenv("LC_ALL", "C", 1);
}

int main(int argc, char *argv[])
{
	struct settings settings;
	struct run *runs;
	size_t count;
	char *version;

	read_options(argc, argv, &settings);
	clean_environment();
	pv_child_init();
	version = tree_version(&settings);
	if (!settings.json)
		print_header(&settings, version);
	if (settings.real) {
		runs = run_upstream(&settings, &count);
		for (size_t i = 0; i < count; i++)
			report(&settings, &runs[i], version);
		free(runs);
	} else {
		prepare_outdir(&settings);
		configure(&settings);
		for (long i = 1; i <= settings.iterations; i++) {
			struct run run = {.number = i};

			build(&settings, &run);
			report(&settings, &run, version);
		}
	}
	free(version);
	free_settings(&settings);
	return PV_EXIT_OK;
}
