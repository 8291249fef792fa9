// SPDX-License-Identifier: GPL-2.0-only
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* nftw */
#endif
#include "child.h"
#include "kcbench.h"
#include "pv.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_NAME ".pv-kcbench.log"
#define TAIL_LINES 20
#define TAIL_BYTES 65536L
#define WALK_FDS 64

static char *temporary; /* a folder of ours, or NULL */

/* nftw() passes nothing on */
static struct timespec newer_than;
static long objects;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_temporary(void)
{
	if (temporary && nftw(temporary, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS))
		pv_warn("cannot remove %s: %s", temporary, strerror(errno));
	free(temporary);
	temporary = NULL;
}

void finish(int status, int sig)
{
	if (sig) {
		remove_temporary();
		pv_child_reraise(sig);
	}
	exit(status);
}

static void __attribute__((noreturn)) failed(const char *what)
{
	pv_warn("%s: %s", what, strerror(errno));
	finish(PV_EXIT_FAILED, 0);
}

void prepare_outdir(struct settings *s)
{
	const char *parent = getenv("TMPDIR");
	char path[4096];

	if (s->outdir)
		return;
	if (!parent || !*parent)
		parent = "/tmp";
	if ((size_t)snprintf(path, sizeof(path), "%s/pv-kcbench.XXXXXX", parent) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		failed("TMPDIR");
	}
	if (!mkdtemp(path))
		failed(path);
	temporary = strdup(path);
	s->outdir = strdup(path);
	if (!temporary || !s->outdir)
		failed("memory");
	atexit(remove_temporary);
}

void show_tail(FILE *log)
{
	char *text = malloc(TAIL_BYTES);
	size_t len, from;
	unsigned int lines = 0;
	long size;

	if (!text)
		return;
	fseek(log, 0, SEEK_END);
	size = ftell(log);
	fseek(log, size > TAIL_BYTES ? size - TAIL_BYTES : 0, SEEK_SET);
	len = fread(text, 1, TAIL_BYTES, log);
	for (from = len; from; from--) {
		if (text[from - 1] == '\n' && from != len && ++lines == TAIL_LINES)
			break;
	}
	fwrite(text + from, 1, len - from, stderr);
	if (len && text[len - 1] != '\n')
		fputc('\n', stderr);
	free(text);
}

static char *in_outdir(const struct settings *s, const char *name)
{
	size_t size = strlen(s->outdir) + strlen(name) + 2;
	char *path = malloc(size);

	if (!path)
		failed("memory");
	snprintf(path, size, "%s/%s", s->outdir, name);
	return path;
}

/* A new and empty one, so that the time of its making is the file system's "now". */
static FILE *new_log(const struct settings *s)
{
	char *path = in_outdir(s, LOG_NAME);
	FILE *log = NULL;
	int fd;

	if (unlink(path) && errno != ENOENT)
		failed(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd >= 0)
		log = fdopen(fd, "r");
	if (!log)
		failed(path);
	free(path);
	return log;
}

/* make -C TREE O=OUTDIR ARGUMENT... @goal... */
static const char **make_command(const struct settings *s, const char *const goal[], size_t goals)
{
	const char **argv = calloc(s->make_args + goals + 8, sizeof(*argv));
	static char jobs[32], out[4200];
	size_t n = 0;

	if (!argv || (size_t)snprintf(out, sizeof(out), "O=%s", s->outdir) >= sizeof(out))
		failed("make's arguments");
	snprintf(jobs, sizeof(jobs), "-j%ld", s->jobs);
	argv[n++] = "make";
	argv[n++] = "-C";
	argv[n++] = s->tree;
	argv[n++] = out;
	argv[n++] = jobs;
	for (size_t i = 0; i < s->make_args; i++)
		argv[n++] = s->make_arg[i];
	for (size_t i = 0; i < goals; i++)
		argv[n++] = goal[i];
	return argv;
}

/* Everything it prints goes to @log; finish() when it fails. */
static void run_logged(const struct settings *s, const char *const *argv, FILE *log,
		       struct pv_child *child)
{
	*child = (struct pv_child){
		.argv = (char *const *)argv,
		.out_fd = fileno(log),
		.err_fd = fileno(log),
		.timeout_s = s->timeout_s,
	};
	if (pv_child_run(child))
		return;
	if (!child->interrupted_by)
		show_tail(log);
	pv_child_explain(child);
	finish(PV_EXIT_FAILED, child->interrupted_by);
}

static void make(const struct settings *s, const char *goal, FILE *log)
{
	const char **argv = make_command(s, &goal, 1);
	struct pv_child child;

	run_logged(s, argv, log, &child);
	free((void *)argv);
}

char *tree_version(const struct settings *s)
{
	const char *argv[] = {"make",	       "-s", "--no-print-directory", "-C", s->tree,
			      "kernelversion", NULL};
	FILE *out = tmpfile();
	struct pv_child child;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	if (!out)
		failed("temporary file");
	run_logged(s, argv, out, &child);
	if (fseek(out, 0, SEEK_SET))
		failed("temporary file");
	len = getline(&line, &size, out);
	if (len > 0 && line[len - 1] == '\n')
		line[--len] = '\0';
	if (len <= 0 || len > 200) {
		pv_warn("%s: \"make kernelversion\" tells no version", s->tree);
		finish(PV_EXIT_FAILED, 0);
	}
	for (ssize_t i = 0; i < len; i++) {
		if (line[i] < 0x20 || line[i] > 0x7e) {
			pv_warn("%s: \"make kernelversion\" tells no version", s->tree);
			finish(PV_EXIT_FAILED, 0);
		}
	}
	fclose(out);
	return line;
}

static void copy_config(const struct settings *s, const char *to)
{
	FILE *in = fopen(s->config, "re"), *out;
	char buffer[8192];
	size_t len;

	if (!in)
		failed(s->config);
	out = fopen(to, "we");
	if (!out)
		failed(to);
	do {
		len = fread(buffer, 1, sizeof(buffer), in);
		fwrite(buffer, 1, len, out);
	} while (len == sizeof(buffer));
	if (ferror(in))
		failed(s->config);
	fclose(in);
	if (fflush(out) || ferror(out))
		failed(to);
	fclose(out);
}

/* As kcbench does it: a newer compiler's warnings shall not end the build. */
static void disable_werror(const struct settings *s, const char *config, FILE *log)
{
	size_t size = strlen(s->tree) + sizeof("/scripts/config");
	char *script = malloc(size);
	const char *argv[] = {script, "--file", config, "-d", "WERROR", NULL};
	struct pv_child child;

	if (!script)
		failed("memory");
	snprintf(script, size, "%s/scripts/config", s->tree);
	if (access(script, X_OK) == 0) {
		run_logged(s, argv, log, &child);
		make(s, "olddefconfig", log);
	}
	free(script);
}

void configure(const struct settings *s)
{
	char *config = in_outdir(s, ".config");
	FILE *log;

	if (!s->config && !s->defconfig && access(config, F_OK) == 0) {
		free(config);
		return;
	}
	log = new_log(s);
	if (s->config) {
		copy_config(s, config);
		make(s, "olddefconfig", log);
	} else {
		make(s, s->defconfig ? s->defconfig : "defconfig", log);
	}
	disable_werror(s, config, log);
	fclose(log);
	free(config);
}

static bool is_object(const char *path, const struct stat *st, int type)
{
	size_t len = strlen(path);

	return type == FTW_F && S_ISREG(st->st_mode) && len > 2 &&
	       strcmp(path + len - 2, ".o") == 0;
}

static int remove_object(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	return is_object(path, st, type) ? unlink(path) : 0;
}

static int count_object(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (is_object(path, st, type) &&
	    (st->st_mtim.tv_sec > newer_than.tv_sec || (st->st_mtim.tv_sec == newer_than.tv_sec &&
							st->st_mtim.tv_nsec >= newer_than.tv_nsec)))
		objects++;
	return 0;
}

static void clean(const struct settings *s)
{
	FILE *log;

	if (!s->clean_objects) {
		log = new_log(s);
		make(s, "clean", log);
		fclose(log);
		return;
	}
	for (size_t i = 0; i < s->targets; i++) {
		char *path = in_outdir(s, s->target[i]);

		/* nothing there yet: nothing to remove */
		if (access(path, F_OK) == 0 && nftw(path, remove_object, WALK_FDS, FTW_PHYS))
			failed(path);
		free(path);
	}
}

static double seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

void build(const struct settings *s, struct run *run)
{
	const char **argv = make_command(s, s->target, s->targets);
	struct pv_child child;
	struct stat st;
	FILE *log;

	clean(s);
	log = new_log(s);
	if (fstat(fileno(log), &st))
		failed(LOG_NAME);
	run_logged(s, argv, log, &child);

	newer_than = st.st_mtim;
	objects = 0;
	if (nftw(s->outdir, count_object, WALK_FDS, FTW_PHYS))
		failed(s->outdir);
	if (objects < s->min_objects) {
		show_tail(log);
		pv_warn("only %ld objects were compiled, wanted: at least %ld", objects,
			s->min_objects);
		finish(PV_EXIT_FAILED, 0);
	}
	fclose(log);
	free((void *)argv);

	run->jobs = s->jobs;
	run->seconds = (double)child.wall_ns / 1e9;
	run->kernels_per_hour = 3600 / run->seconds;
	run->user_s = seconds(child.usage.ru_utime);
	run->sys_s = seconds(child.usage.ru_stime);
	run->percent = (run->user_s + run->sys_s) / run->seconds * 100;
	run->majfaults = child.usage.ru_majflt;
	run->objects = objects;
}
