// SPDX-License-Identifier: GPL-2.0-only
#include "kcbench.h"
#include "pv.h"
#include "sample.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help_text[] =
	"Usage: pv-kcbench -s TREE [options]\n"
	"\n"
	"Measures how long it takes to compile a Linux kernel, and prints result lines like\n"
	"those of kcbench 0.9.10; --real has the real kcbench do it.\n"
	"\n"
	"  -s, --src TREE         kernel sources; nothing is ever downloaded\n"
	"  -j, --jobs N           make -j N (number of online CPUs)\n"
	"  -i, --iterations N     how often (2)\n"
	"  -t, --target TARGET    what to build, repeatable (vmlinux)\n"
	"  -o, --outdir DIR       where to build; a .config in there is used as it is\n"
	"                         (a temporary folder)\n"
	"      --config FILE      configure with FILE and olddefconfig\n"
	"      --defconfig NAME   configure with make NAME (defconfig)\n"
	"      --clean WHAT       before each run, not timed: \"make\" runs make clean, "
	"\"objects\"\n"
	"                         removes the .o files below the targets, which then have to be\n"
	"                         folders, like kernel/sched/ (make)\n"
	"      --min-objects N    a run that compiles fewer .o files has failed (1)\n"
	"      --make-arg ARG     one more argument for every make, repeatable\n"
	"      --timeout SECONDS  end a make, or the real kcbench, that takes longer\n"
	"      --label TEXT       goes into the JSON object\n"
	"      --real[=KCBENCH]   run KCBENCH (kcbench) with -s TREE --no-download; not together\n"
	"                         with -t, --defconfig, --clean and --min-objects\n"
	"      --json             print one JSON object for each run (bench/samples.md)\n"
	"  -h, --help             this text\n"
	"\n"
	"A build in DIR writes to DIR/.pv-kcbench.log. There is no run to fill the caches: the\n"
	"first one is the warm-up.\n"
	"Exit status: 0 all runs done; 1 a run failed; 2 bad usage. A signal that ends this\n"
	"program ends the build too.\n";

static void __attribute__((noreturn)) usage(void)
{
	fputs("Usage: pv-kcbench -s TREE [options] (see --help)\n", stderr);
	exit(PV_EXIT_USAGE);
}

static long number(const char *option, const char *text, long min, long max)
{
	long value = 0;

	if (!pv_parse_long(text, min, max, &value)) {
		pv_warn("%s: '%s' is not a whole number from %ld to %ld", option, text, min, max);
		usage();
	}
	return value;
}

/* It must be a target and nothing else to make: no option, no assignment, no way out of DIR. */
static bool is_target(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._/+-";

	return *text && *text != '-' && *text != '/' && !text[strspn(text, allowed)] &&
	       !strstr(text, "..");
}

static void append(const char ***list, size_t *count, const char *text)
{
	const char **grown = realloc(*list, (*count + 1) * sizeof(*grown));

	if (!grown)
		pv_die(PV_EXIT_FAILED, "out of memory");
	grown[(*count)++] = text;
	*list = grown;
}

static void add_target(struct settings *s, const char *text)
{
	if (!is_target(text)) {
		pv_warn("--target: '%s' is not the name of a target", text);
		usage();
	}
	append(&s->target, &s->targets, text);
}

static void add_make_arg(struct settings *s, const char *text)
{
	if (!*text || strncmp(text, "O=", 2) == 0 || strncmp(text, "KBUILD_OUTPUT=", 14) == 0) {
		pv_warn("--make-arg: '%s' is not possible; -o tells where to build", text);
		usage();
	}
	append(&s->make_arg, &s->make_args, text);
}

static char *absolute(const char *option, const char *path)
{
	char *result = realpath(path, NULL);

	if (!result) {
		pv_warn("%s: %s: %s", option, path, strerror(errno));
		usage();
	}
	return result;
}

static void want_folder(const char *option, const char *path)
{
	struct stat st;

	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		pv_warn("%s: %s is not a folder", option, path);
		usage();
	}
}

static void check(struct settings *s, const char *outdir, const char *clean)
{
	if (s->real && (s->targets || s->defconfig || clean || s->min_objects >= 0)) {
		pv_warn("--real excludes -t, --defconfig, --clean and --min-objects");
		usage();
	}
	if (s->config && s->defconfig) {
		pv_warn("--config and --defconfig exclude each other");
		usage();
	}
	if (clean && strcmp(clean, "make") != 0 && strcmp(clean, "objects") != 0) {
		pv_warn("--clean: '%s' is not make or objects", clean);
		usage();
	}
	s->clean_objects = clean && strcmp(clean, "objects") == 0;
	for (size_t i = 0; s->clean_objects && i < s->targets; i++) {
		if (s->target[i][strlen(s->target[i]) - 1] != '/') {
			pv_warn("--clean objects: the target '%s' is not a folder (no / at its "
				"end)",
				s->target[i]);
			usage();
		}
	}
	if (s->clean_objects && !s->targets) {
		pv_warn("--clean objects: below which targets?");
		usage();
	}
	if (outdir) {
		if (mkdir(outdir, 0777) && errno != EEXIST) {
			pv_warn("--outdir: %s: %s", outdir, strerror(errno));
			usage();
		}
		s->outdir = absolute("--outdir", outdir);
		want_folder("--outdir", s->outdir);
		if (strcmp(s->outdir, s->tree) == 0) {
			pv_warn("--outdir: it must not be the tree itself");
			usage();
		}
	}
}

void read_options(int argc, char *argv[], struct settings *s)
{
	enum { CONFIG = 256, DEFCONFIG, CLEAN, MIN_OBJECTS, MAKE_ARG, TIMEOUT, LABEL, REAL, JSON };
	static const struct option options[] = {
		{"src", required_argument, NULL, 's'},
		{"jobs", required_argument, NULL, 'j'},
		{"iterations", required_argument, NULL, 'i'},
		{"target", required_argument, NULL, 't'},
		{"outdir", required_argument, NULL, 'o'},
		{"config", required_argument, NULL, CONFIG},
		{"defconfig", required_argument, NULL, DEFCONFIG},
		{"clean", required_argument, NULL, CLEAN},
		{"min-objects", required_argument, NULL, MIN_OBJECTS},
		{"make-arg", required_argument, NULL, MAKE_ARG},
		{"timeout", required_argument, NULL, TIMEOUT},
		{"label", required_argument, NULL, LABEL},
		{"real", optional_argument, NULL, REAL},
		{"json", no_argument, NULL, JSON},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *tree = NULL, *outdir = NULL, *config = NULL, *clean = NULL, *json = NULL;
	char **as_given = calloc((size_t)argc + 1, sizeof(*as_given)); /* getopt reorders */
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int c;

	if (!as_given)
		pv_die(PV_EXIT_FAILED, "out of memory");
	memcpy(as_given, argv, (size_t)argc * sizeof(*argv));
	memset(s, 0, sizeof(*s));
	s->jobs = cpus < 1 ? 1 : cpus;
	s->iterations = 2;
	s->min_objects = -1;
	while ((c = getopt_long(argc, argv, "s:j:i:t:o:h", options, NULL)) != -1) {
		const char *arg = optarg ? optarg : "";

		switch (c) {
		case 's':
			tree = arg;
			break;
		case 'j':
			s->jobs = number("--jobs", arg, 1, 65536);
			break;
		case 'i':
			s->iterations = number("--iterations", arg, 1, 1000000);
			break;
		case 't':
			add_target(s, arg);
			break;
		case 'o':
			outdir = arg;
			break;
		case CONFIG:
			config = arg;
			break;
		case DEFCONFIG:
			if (!is_target(arg)) {
				pv_warn("--defconfig: '%s' is not the name of a target", arg);
				usage();
			}
			s->defconfig = arg;
			break;
		case CLEAN:
			clean = arg;
			break;
		case MIN_OBJECTS:
			s->min_objects = number("--min-objects", arg, 0, LONG_MAX);
			break;
		case MAKE_ARG:
			add_make_arg(s, arg);
			break;
		case TIMEOUT:
			if (!pv_parse_double(arg, 0.001, 1e9, &s->timeout_s)) {
				pv_warn("--timeout: '%s' is not a number from 0.001 to 1e9", arg);
				usage();
			}
			break;
		case LABEL:
			s->label = arg;
			break;
		case REAL:
			s->real = *arg ? arg : "kcbench";
			break;
		case JSON:
			s->json = true;
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
	if (optind != argc) {
		pv_warn("'%s' belongs to no option", argv[optind]);
		usage();
	}
	if (!tree) {
		pv_warn("where are the kernel sources (-s TREE)?");
		usage();
	}
	s->params = pv_params_join(argc - 1, as_given + 1, json);
	free(as_given);
	if (!s->params) {
		pv_warn("the arguments are not one line of UTF-8");
		usage();
	}
	s->tree = absolute("--src", tree);
	want_folder("--src", s->tree);
	if (config)
		s->config = absolute("--config", config);
	check(s, outdir, clean);
	if (!s->targets)
		append(&s->target, &s->targets, "vmlinux");
	if (s->min_objects < 0)
		s->min_objects = 1;
	s->target_text = pv_params_join((int)s->targets, (char *const *)s->target, NULL);
}

void free_settings(struct settings *s)
{
	free(s->tree);
	free(s->outdir);
	free(s->config);
	free((void *)s->target);
	free((void *)s->make_arg);
	free(s->params);
	free(s->target_text);
}
