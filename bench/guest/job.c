// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE

#include "fields.h"
#include "guest.h"
#include "pv.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_MAX 86400
#define TERM_GRACE_NS 3000000000u
#define HEARTBEAT_NS 2000000000u

/* ---- the specification ---- */

static int hex(char c)
{
	if (!isxdigit((unsigned char)c))
		return -1;
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* %XX in @text, in place. %00 is refused: an argument cannot have it. */
static bool percent_decode(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text == '%') {
			int high = hex(text[1]), low = high < 0 ? -1 : hex(text[2]);

			if (low < 0 || high + low == 0)
				return false;
			*text = '\0';
			text += 2;
			*to++ = (char)(high << 4 | low);
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
	return true;
}

__attribute__((format(printf, 2, 3))) static bool refuse(char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, WHY_MAX, fmt, ap);
	va_end(ap);
	pv_printable(why);
	return false;
}

static bool name_valid(const char *name)
{
	return islower((unsigned char)name[0]) &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0' &&
	       strcmp(name, "exec") != 0;
}

static bool parse_args(struct job *job, const char *args, const char *spec, char *why)
{
	char *copy = strdup(args), *rest = copy, *arg;
	bool fine = copy;

	while (fine && (arg = strsep(&rest, ","))) {
		char **argv = realloc(job->argv, (job->argc + 2) * sizeof(*argv));

		fine = argv;
		if (!argv)
			break;
		job->argv = argv;
		if (!*arg)
			fine = refuse(why, "job \"%.60s\": an empty argument", spec);
		else if (!percent_decode(arg))
			fine = refuse(why, "job \"%.60s\": bad %% escape", spec);
		if (!fine)
			break;
		argv[job->argc] = strdup(arg);
		fine = argv[job->argc];
		job->argc += fine;
		argv[job->argc] = NULL;
	}
	free(copy);
	return fine;
}

bool job_parse(const char *spec, struct job *job, char *why)
{
	const char *timeout = strchr(spec, ':'), *args;
	char number[16];
	size_t len;

	memset(job, 0, sizeof(*job));
	if (!timeout)
		return refuse(why, "job \"%.60s\": not NAME:TIMEOUT[:ARG,ARG,...]", spec);
	len = (size_t)(timeout++ - spec);
	if (len < sizeof(job->name)) {
		memcpy(job->name, spec, len);
		job->name[len] = '\0';
	}
	if (len >= sizeof(job->name) || !name_valid(job->name))
		return refuse(why, "job \"%.60s\": not a workload's name", spec);
	args = strchr(timeout, ':');
	len = args ? (size_t)(args++ - timeout) : strlen(timeout);
	snprintf(number, sizeof(number), "%.*s", (int)(len < sizeof(number) ? len : sizeof(number)),
		 timeout);
	if (!pv_parse_long(number, 1, TIMEOUT_MAX, &job->timeout_s))
		return refuse(why, "job \"%.60s\": timeout must be 1 to %d seconds", spec,
			      TIMEOUT_MAX);
	if (args && *args && !parse_args(job, args, spec, why)) {
		job_free(job);
		return false;
	}
	return true;
}

void job_free(struct job *job)
{
	for (size_t i = 0; i < job->argc; i++)
		free(job->argv[i]);
	free(job->argv);
	job->argv = NULL;
	job->argc = 0;
}

/* ---- one run ---- */

struct run {
	const struct runner *runner;
	const struct job *job;
	pid_t pid;
	int out, err; /* read ends, non-blocking; -1 when closed */
	char *output; /* OUTPUT_MAX + 1 */
	size_t output_len;
	char stderr_tail[STDERR_KEPT + 1];
	size_t stderr_len;
	int status; /* of waitpid() */
	bool flooded, timed_out;
	char why[WHY_MAX]; /* not empty: failed */
};

static char **build_argv(const struct job *job, char *program)
{
	char **argv = calloc(job->argc + 3, sizeof(*argv));
	static char json[] = "--json";

	if (!argv)
		pv_die(PV_EXIT_FAILED, "no memory");
	argv[0] = program;
	argv[1] = json;
	for (size_t i = 0; i < job->argc; i++)
		argv[i + 2] = job->argv[i];
	return argv;
}

static char *const init_env[] = {
	(char[]){"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
	(char[]){"HOME=/root"},
	(char[]){"TMPDIR=/tmp"},
	(char[]){"LC_ALL=C"},
	NULL,
};

static bool wants_root(const struct run *r)
{
	return r->runner->newroot &&
	       (!strcmp(r->job->name, "kcbench") || !strncmp(r->job->name, "kcbench-", 8));
}

/* In the child. The program stays reachable by its descriptor when the root changes. */
__attribute__((noreturn)) static void child(const struct run *r, int out, int err, char *program,
					    char **argv)
{
	char *const *env = r->runner->init ? init_env : environ;
	int null = open("/dev/null", O_RDONLY), fd = -1;
	const char *what = "cannot set up";
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		goto fail;
	if (null > 2)
		close(null);
	what = "cannot run";
	if (wants_root(r)) {
		fd = open(program, O_PATH | O_CLOEXEC);
		if (fd < 0 || chroot(r->runner->newroot) || chdir("/"))
			goto fail;
		fexecve(fd, argv, env);
	} else {
		execve(program, argv, env);
	}
fail:
	dprintf(2, "%s %s: %s\n", what, program, strerror(errno));
	_exit(127);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool start(struct run *r)
{
	char program[4200];
	int out[2] = {-1, -1}, err[2] = {-1, -1};
	char **argv;

	snprintf(program, sizeof(program), "%s/pv-%s", r->runner->bindir, r->job->name);
	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) {
		refuse(r->why, "no pipe: %s", strerror(errno));
		close_fd(&out[0]);
		close_fd(&out[1]);
		return false;
	}
	argv = build_argv(r->job, program);
	r->pid = fork();
	if (!r->pid)
		child(r, out[1], err[1], program, argv);
	free(argv);
	close(out[1]);
	close(err[1]);
	if (r->pid < 0) {
		refuse(r->why, "cannot fork: %s", strerror(errno));
		close(out[0]);
		close(err[0]);
		return false;
	}
	/* In both: whoever comes first, the group is there before it is needed. */
	setpgid(r->pid, r->pid);
	r->out = out[0];
	r->err = err[0];
	fcntl(r->out, F_SETFL, O_NONBLOCK);
	fcntl(r->err, F_SETFL, O_NONBLOCK);
	return true;
}

/* One read; false: nothing more for now, or ever (then the descriptor is closed). */
static bool read_some(int *fd, char *buf, size_t size, size_t *got)
{
	ssize_t n;

	if (*fd < 0)
		return false;
	n = read(*fd, buf, size);
	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			close_fd(fd);
		return false;
	}
	*got = (size_t)n;
	return true;
}

static void read_out(struct run *r)
{
	size_t got;

	if (r->flooded) {
		/* Emptied, so that the workload is not stuck in write() before it is killed. */
		char waste[4096];

		read_some(&r->out, waste, sizeof(waste), &got);
	} else if (read_some(&r->out, r->output + r->output_len, OUTPUT_MAX + 1 - r->output_len,
			     &got)) {
		r->output_len += got;
		r->flooded = r->output_len > OUTPUT_MAX;
	}
}

/* Keeps the last STDERR_KEPT bytes. */
static bool read_err(struct run *r)
{
	char buf[STDERR_KEPT];
	size_t got, keep;

	if (!read_some(&r->err, buf, sizeof(buf), &got))
		return false;
	keep = r->stderr_len;
	if (keep + got > STDERR_KEPT) {
		keep = STDERR_KEPT - got;
		memmove(r->stderr_tail, r->stderr_tail + r->stderr_len - keep, keep);
	}
	memcpy(r->stderr_tail + keep, buf, got);
	r->stderr_len = keep + got;
	return true;
}

/* What is left in the pipes; a descendant that still has them open is not waited for. */
static void drain(struct run *r)
{
	size_t before;

	do {
		before = r->output_len;
		read_out(r);
	} while (r->output_len != before && !r->flooded);
	for (int i = 0; i < 64 && read_err(r); i++)
		;
	close_fd(&r->out);
	close_fd(&r->err);
}

/* Has the job ended? Its group is killed while its leader's id cannot be another's. */
static bool reap(struct run *r)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
		return false;
	kill(-r->pid, SIGKILL);
	if (r->runner->init)
		kill(-1, SIGKILL); /* all but PID 1 and us, also who left the group */
	waitpid(r->pid, &r->status, 0);
	return true;
}

static void heartbeat(const struct run *r, double seconds)
{
	event_send(json_pack("{s:s, s:s, s:f}", "event", "progress", "job", r->job->name,
			     "elapsed_s", seconds));
}

/* SIGCHLD only wakes us up; SIGTERM, SIGINT and SIGHUP end the run. */
static bool interrupted(int sigfd)
{
	struct signalfd_siginfo si;
	static bool stop;

	while (read(sigfd, &si, sizeof(si)) == sizeof(si))
		stop |= si.ssi_signo != SIGCHLD;
	return stop;
}

static void wait_end(struct run *r, int sigfd, uint64_t start_ns)
{
	uint64_t now, beat = start_ns + HEARTBEAT_NS, kill_at = UINT64_MAX;
	uint64_t end = start_ns + (uint64_t)r->job->timeout_s * 1000000000u;
	uint64_t next;

	while (!reap(r)) {
		now = pv_now_ns();
		r->timed_out |= now >= end;
		if (kill_at == UINT64_MAX &&
		    (r->timed_out || r->flooded || interrupted(sigfd) || event_hangup())) {
			kill(-r->pid, SIGTERM);
			kill_at = now + TERM_GRACE_NS;
		}
		if (now >= kill_at) {
			kill(-r->pid, SIGKILL);
			kill_at = UINT64_MAX - 1; /* once */
		}
		if (now >= beat) {
			if (!event_hangup())
				heartbeat(r, (double)(now - start_ns) / 1e9);
			beat = now + HEARTBEAT_NS;
		}
		next = kill_at < UINT64_MAX - 1 && kill_at < beat ? kill_at : beat;
		next = !r->timed_out && end < next ? end : next;

		struct pollfd p[] = {
			{.fd = sigfd, .events = POLLIN},
			{.fd = r->out, .events = POLLIN},
			{.fd = r->err, .events = POLLIN},
		};
		poll(p, 3, next > now ? (int)((next - now) / 1000000u) + 1 : 0);
		interrupted(sigfd);
		read_out(r);
		read_err(r);
	}
	drain(r);
}

/* ---- what came of it ---- */

/* The one line of output as an object with the fields of a result; NULL with r->why. */
static json_t *parse_output(struct run *r)
{
	char *end = memchr(r->output, '\n', r->output_len);
	json_error_t error;
	json_t *result;
	char why[160];

	if (!r->output_len) {
		refuse(r->why, "printed no result");
		return NULL;
	}
	if (end && (size_t)(end + 1 - r->output) != r->output_len) {
		refuse(r->why, "printed more than one line");
		return NULL;
	}
	result = json_loadb(r->output, r->output_len, JSON_REJECT_DUPLICATES, &error);
	if (!result) {
		refuse(r->why, "the result is not JSON: %s", error.text);
		return NULL;
	}
	if (!pv_check_fields(result, pv_result_fields, NULL, why, sizeof(why))) {
		refuse(r->why, "the result is wrong: %s", why);
		json_decref(result);
		return NULL;
	}
	return result;
}

static bool failed(struct run *r, int sigfd)
{
	if (interrupted(sigfd))
		refuse(r->why, "interrupted by a signal");
	else if (r->timed_out)
		refuse(r->why, "timeout after %ld s", r->job->timeout_s);
	else if (r->flooded)
		refuse(r->why, "printed more than %u bytes", OUTPUT_MAX);
	else if (WIFSIGNALED(r->status))
		refuse(r->why, "killed by signal %d (%s)", WTERMSIG(r->status),
		       strsignal(WTERMSIG(r->status)));
	else if (WEXITSTATUS(r->status))
		refuse(r->why, "exit status %d", WEXITSTATUS(r->status));
	return r->why[0];
}

/*
 * The workload's own count of TLB interrupts leads: its window leaves out starting and warming up.
 * Ours stays in details.interrupts.
 */
static bool add_interrupts(struct run *r, json_t *sample, json_t *interrupts)
{
	json_t *details = json_object_get(sample, "details");
	json_t *ipis = json_object_get(details, "tlb_ipis");

	if (json_object_get(details, "interrupts") || json_object_get(details, "host"))
		return refuse(r->why, "the result is wrong: details.%s is not the workload's",
			      json_object_get(details, "host") ? "host" : "interrupts");
	if (ipis && !json_is_null(ipis) && (!json_is_integer(ipis) || json_integer_value(ipis) < 0))
		return refuse(r->why, "the result is wrong: details.tlb_ipis must be an integer "
				      ">= 0 or null");
	if (!ipis || json_is_null(ipis))
		ipis = json_object_get(interrupts, "TLB");
	json_object_set(sample, "tlb_ipis", ipis);
	json_object_set(details, "interrupts", interrupts);
	return true;
}

static json_t *make_sample(struct run *r, double elapsed, const struct counters *before,
			   const struct counters *after)
{
	const struct state *st = r->runner->state;
	json_t *sample = parse_output(r), *interrupts, *more;

	if (!sample)
		return NULL;
	interrupts = probe_interrupts(before, after);
	if (!add_interrupts(r, sample, interrupts)) {
		json_decref(interrupts);
		json_decref(sample);
		return NULL;
	}
	json_decref(interrupts);
	more = json_pack("{s:I, s:s, s:s, s:s, s:f, s:{s:s, s:s, s:s}}", "vcpus",
			 (json_int_t)st->vcpus, "feature", st->feature, "offered", st->offered,
			 "active", st->active, "elapsed_s", elapsed, "env", "guest_kernel",
			 st->kernel, "guest_build", st->build, "glibc", gnu_get_libc_version());
	json_object_update(sample, more);
	json_decref(more);
	json_object_set_new(sample, "steal_s", probe_steal(st, before, after));
	return sample;
}

static void send_error(struct run *r)
{
	r->stderr_tail[r->stderr_len] = '\0';
	for (size_t i = 0; i < r->stderr_len; i++)
		if (!r->stderr_tail[i])
			r->stderr_tail[i] = '?';
	pv_printable(r->stderr_tail);
	event_send(json_pack("{s:s, s:s, s:s, s:s}", "event", "error", "job", r->job->name,
			     "reason", r->why, "stderr", r->stderr_tail));
}

static bool job_run(const struct runner *runner, const struct job *job, int sigfd)
{
	struct run r = {.runner = runner, .job = job, .out = -1, .err = -1};
	struct counters before, after;
	uint64_t start_ns, end_ns;
	json_t *sample = NULL;
	bool fine = false;

	r.output = malloc(OUTPUT_MAX + 1);
	if (!r.output)
		pv_die(PV_EXIT_FAILED, "no memory");
	probe_counters(&before);
	start_ns = pv_now_ns();
	if (start(&r)) {
		wait_end(&r, sigfd, start_ns);
		end_ns = pv_now_ns();
		probe_counters(&after);
		if (!failed(&r, sigfd))
			sample =
				make_sample(&r, (double)(end_ns - start_ns) / 1e9, &before, &after);
		note("%s: %s after %.1f s", job->name, sample ? "done" : r.why,
		     (double)(end_ns - start_ns) / 1e9);
	}
	if (sample)
		fine = event_send(json_pack("{s:s, s:s, s:o}", "event", "sample", "job", job->name,
					    "sample", sample));
	else
		send_error(&r);
	free(r.output);
	return fine;
}

json_t *job_args(const struct job *job)
{
	json_t *args = json_array();

	for (size_t i = 0; i < job->argc; i++)
		if (json_array_append_new(args, json_string(job->argv[i])))
			json_array_append_new(args, json_null());
	return args;
}

static void send_begin(const struct job *job, size_t k, size_t n)
{
	event_send(json_pack("{s:s, s:s, s:I, s:I, s:I, s:o}", "event", "begin", "job", job->name,
			     "k", (json_int_t)k, "n", (json_int_t)n, "timeout_s",
			     (json_int_t)job->timeout_s, "args", job_args(job)));
}

static int block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

size_t jobs_run(const struct runner *runner, struct job *jobs, size_t n)
{
	int sigfd = block_signals();
	size_t lost = 0;

	if (sigfd < 0)
		pv_die(PV_EXIT_FAILED, "no signalfd: %s", strerror(errno));
	signal(SIGPIPE, SIG_IGN);
	for (size_t k = 0; k < n; k++) {
		if (interrupted(sigfd))
			pv_die(PV_EXIT_FAILED, "interrupted by a signal");
		note("job %zu of %zu: %s", k + 1, n, jobs[k].name);
		send_begin(&jobs[k], k + 1, n);
		if (!job_run(runner, &jobs[k], sigfd))
			lost++;
	}
	event_send(json_pack("{s:s, s:I, s:I}", "event", "done", "jobs", (json_int_t)n, "failed",
			     (json_int_t)lost));
	close(sigfd);
	return lost;
}
