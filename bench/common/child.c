// SPDX-License-Identifier: GPL-2.0-only
#include "child.h"

#include "pv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_NS 2000000000u /* between SIGTERM and SIGKILL */

static sigset_t waited_for; /* SIGCHLD and what ends us */
static sigset_t inherited;

void pv_child_init(void)
{
	static const int ends_us[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
	struct sigaction old;

	sigemptyset(&waited_for);
	sigaddset(&waited_for, SIGCHLD);
	for (size_t i = 0; i < sizeof(ends_us) / sizeof(*ends_us); i++) {
		/* nohup and the like stay in force */
		if (sigaction(ends_us[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaddset(&waited_for, ends_us[i]);
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGCHLD, SIG_DFL); /* ignored, it would take the exit status away */
	sigprocmask(SIG_BLOCK, &waited_for, &inherited);
}

/* The signal that came within @ns (0: just look), or 0. */
static int wait_signal(uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u),
			      .tv_nsec = (long)(ns % 1000000000u)};
	int sig;

	do {
		sig = sigtimedwait(&waited_for, NULL, &ts);
	} while (sig < 0 && errno == EINTR);
	return sig < 0 ? 0 : sig;
}

static void __attribute__((noreturn)) become(const struct pv_child *child, int report_fd)
{
	int null_fd, err;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, &inherited, NULL);
	null_fd = open("/dev/null", O_RDONLY);
	if (null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 &&
	    dup2(child->err_fd, STDERR_FILENO) >= 0 && dup2(child->out_fd, STDOUT_FILENO) >= 0)
		execvp(child->argv[0], child->argv);
	err = errno;
	if (write(report_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

/* True when the leader has ended; it stays a zombie, so its group's number stays taken. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == pid;
}

static void await_end(struct pv_child *child, pid_t pid, uint64_t start)
{
	uint64_t end = UINT64_MAX, kill_at = UINT64_MAX, now, wake;
	bool stopping = false;
	int sig;

	if (child->timeout_s > 0)
		end = start + (uint64_t)(child->timeout_s * 1e9);
	while (!has_ended(pid)) {
		now = pv_now_ns();
		if (!stopping && now >= end) {
			child->timed_out = true;
			stopping = true;
			kill_at = now + GRACE_NS;
			kill(-pid, SIGTERM);
		}
		if (now >= kill_at)
			kill(-pid, SIGKILL);
		wake = stopping ? kill_at : end;
		/* the second is for a signal that was merged with another one */
		sig = wait_signal(wake > now && wake - now < 1000000000u ? wake - now
									 : 1000000000u);
		if (sig && sig != SIGCHLD) {
			child->interrupted_by = sig;
			if (!stopping)
				kill_at = pv_now_ns() + GRACE_NS;
			stopping = true;
			kill(-pid, SIGTERM);
		}
	}
}

bool pv_child_run(struct pv_child *child)
{
	uint64_t start;
	int report[2], sig;
	ssize_t got;
	pid_t pid;

	child->exec_errno = 0;
	child->timed_out = false;
	child->status = -1;
	child->wall_ns = 0;
	memset(&child->usage, 0, sizeof(child->usage));
	child->interrupted_by = 0;
	while ((sig = wait_signal(0))) {
		if (sig != SIGCHLD) {
			child->interrupted_by = sig;
			return false;
		}
	}

	if (pipe(report) || fcntl(report[0], F_SETFD, FD_CLOEXEC) ||
	    fcntl(report[1], F_SETFD, FD_CLOEXEC))
		pv_die(PV_EXIT_FAILED, "pipe: %s", strerror(errno));
	fflush(NULL);
	start = pv_now_ns();
	pid = fork();
	if (pid < 0)
		pv_die(PV_EXIT_FAILED, "fork: %s", strerror(errno));
	if (pid == 0)
		become(child, report[1]);
	setpgid(pid, pid); /* both sides do it: neither must be late */
	close(report[1]);
	do {
		got = read(report[0], &child->exec_errno, sizeof(child->exec_errno));
	} while (got < 0 && errno == EINTR);
	if (got <= 0)
		child->exec_errno = 0;
	close(report[0]);

	await_end(child, pid, start);
	child->wall_ns = pv_now_ns() - start;
	kill(-pid, SIGKILL); /* what the leader left behind */
	while (wait4(pid, &child->status, 0, &child->usage) < 0 && errno == EINTR)
		;
	while (waitpid(-pid, NULL, 0) > 0 || errno == EINTR) /* until they are gone */
		;
	return !child->exec_errno && !child->timed_out && !child->interrupted_by &&
	       WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0;
}

void pv_child_explain(const struct pv_child *child)
{
	const char *name = child->argv[0];

	if (child->exec_errno)
		pv_warn("cannot run %s: %s", name, strerror(child->exec_errno));
	else if (child->timed_out)
		pv_warn("%s: not ready after %g s, ended", name, child->timeout_s);
	else if (child->interrupted_by)
		pv_warn("%s: ended, because of the signal \"%s\" to us", name,
			strsignal(child->interrupted_by));
	else if (WIFSIGNALED(child->status))
		pv_warn("%s: died of the signal \"%s\"", name, strsignal(WTERMSIG(child->status)));
	else
		pv_warn("%s: exit status %d", name, WEXITSTATUS(child->status));
}

void pv_child_reraise(int sig)
{
	sigset_t set;

	fflush(NULL);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + sig);
}
