// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asks a QEMU by QMP. The binary is what a domain names, so it runs without privileges: as nobody,
 * but in the group of /dev/kvm, without an environment.
 */
#define _GNU_SOURCE
#include "io.h"
#include "pv.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static void __attribute__((noreturn)) become(const char *binary, const char *machine, int in,
					     int out)
{
	char *const argv[] = {(char *)binary,
			      "-S",
			      "-no-user-config",
			      "-nodefaults",
			      "-display",
			      "none",
			      "-machine",
			      (char *)machine,
			      "-qmp",
			      "stdio",
			      NULL};
	char *const envp[] = {"LC_ALL=C", "PATH=/usr/bin:/bin", NULL};
	struct rlimit no_core = {0, 0};
	struct stat kvm;
	int null_fd = open("/dev/null", O_WRONLY);
	gid_t group = stat("/dev/kvm", &kvm) ? NOBODY : kvm.st_gid;

	if (geteuid() == 0 && (setgroups(1, &group) || setgid(NOBODY) || setuid(NOBODY)))
		_exit(126);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &no_core);
	if (null_fd < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(null_fd, STDERR_FILENO) < 0)
		_exit(126);
	execve(binary, argv, envp);
	_exit(127);
}

/* Sends @questions and takes what comes until the end; the length, or -1. */
static ssize_t talk(int to, int from, const char *questions, char *text, size_t room, uint64_t end)
{
	size_t sent = 0, length = strlen(questions), n = 0;

	while (n < room) {
		uint64_t now = pv_now_ns();
		struct pollfd fds[2] = {{.fd = from, .events = POLLIN},
					{.fd = to, .events = POLLOUT}};
		ssize_t got;

		if (now >= end)
			return -1;
		if (poll(fds, sent < length ? 2 : 1, (int)((end - now) / 1000000) + 1) < 0 &&
		    errno != EINTR)
			return -1;
		if (sent < length && fds[1].revents) {
			got = write(to, questions + sent, length - sent);
			if (got < 0 && errno != EAGAIN)
				sent = length; /* it has gone; what it said is still there */
			else if (got > 0)
				sent += (size_t)got;
		}
		if (!fds[0].revents)
			continue;
		got = read(from, text + n, room - n);
		if (got > 0)
			n += (size_t)got;
		else if (!got || (errno != EAGAIN && errno != EINTR))
			return (ssize_t)n;
	}
	return (ssize_t)n;
}

static bool run(const char *binary, const char *questions, double timeout_s, char *text,
		size_t room, size_t *length, struct problem *p)
{
	int to[2], from[2], status = 0;
	void (*old)(int);
	ssize_t n;
	pid_t pid;

	if (pipe2(to, O_CLOEXEC))
		return wrong(p, "pipe: %s", strerror(errno));
	if (pipe2(from, O_CLOEXEC)) {
		close(to[0]);
		close(to[1]);
		return wrong(p, "pipe: %s", strerror(errno));
	}
	old = signal(SIGPIPE, SIG_IGN);
	pid = fork();
	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		become(binary, "none,accel=kvm:tcg", to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	fcntl(to[1], F_SETFL, O_NONBLOCK);
	n = pid < 0 ? -1
		    : talk(to[1], from[0], questions, text, room,
			   pv_now_ns() + (uint64_t)(timeout_s * 1e9));
	close(to[1]);
	close(from[0]);
	signal(SIGPIPE, old);
	if (pid < 0)
		return wrong(p, "fork: %s", strerror(errno));
	kill(pid, SIGKILL); /* what it said is all that was wanted of it */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (n < 0)
		return wrong(p, "no answer within %g s", timeout_s);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && !n)
		return wrong(p, "it cannot be run");
	*length = (size_t)n;
	return true;
}

void ask_qemu(struct host *host, const char *binary, double timeout_s)
{
	char *text = malloc(MAX_BYTES + 1), *questions = qmp_questions(host->arch);
	struct qemu_answer answer;
	struct problem p;
	size_t length = 0;

	put_clean(host->emulator, sizeof(host->emulator), binary);
	host->offer[PART_QEMU] = (struct offer){0};
	if (!text || !questions)
		snprintf(host->why[PART_QEMU], TEXT_ROOM, "out of memory");
	else if (binary[0] != '/')
		snprintf(host->why[PART_QEMU], TEXT_ROOM, "no path of a QEMU binary");
	else if (!run(binary, questions, timeout_s, text, MAX_BYTES + 1, &length, &p) ||
		 !qmp_answers(host->arch, text, length, &answer, &p))
		snprintf(host->why[PART_QEMU], TEXT_ROOM, "%.100s: %.140s", binary, p.text);
	else {
		snprintf(host->about[PART_QEMU], TEXT_ROOM, "%.64s", answer.version);
		host->offer[PART_QEMU] =
			offer_of_qemu(host->arch, &answer, &host->offer[PART_KERNEL],
				      host->why[PART_QEMU], TEXT_ROOM);
	}
	free(questions);
	free(text);
}
