// SPDX-License-Identifier: GPL-2.0-only
/*
 * virt-pv-check hook: libvirt's qemu hook on the destination. It must not ask libvirt, which waits
 * for it.
 *
 * libvirt calls "migrate begin" or "restore begin" with the user's definition, then "prepare begin"
 * with what the guest really runs with; but "prepare begin" comes before every start. So the first
 * leaves a note that this guest arrives, and refuses what is certain; the second judges in full if
 * there is a note.
 *
 * The check runs in a child. Whatever becomes of it (a crash, no answer in time), the parent
 * refuses in one line.
 */
#include "io.h"
#include "pv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define NOTE_SECONDS 600 /* an arrival that was begun longer ago has failed elsewhere */

static void __attribute__((format(printf, 2, 3))) tell(int priority, const char *fmt, ...)
{
	char text[2048], clean[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_clean(clean, sizeof(clean), text);
	syslog(priority, "%s", clean);
	if (priority <= LOG_WARNING)
		pv_warn("%s", clean);
}

static void note_path(const struct options *o, const struct guest *g, char *path, size_t room)
{
	snprintf(path, room, "%s/%s", o->state, g->uuid);
}

static bool leave_note(const struct options *o, const struct guest *g)
{
	char path[1024];
	int fd;

	note_path(o, g, path, sizeof(path));
	if (mkdir(o->state, 0700) && errno != EEXIST)
		return false;
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd >= 0 && close(fd) == 0;
}

static bool take_note(const struct options *o, const struct guest *g)
{
	char path[1024];
	struct stat st;
	bool there;

	note_path(o, g, path, sizeof(path));
	there = lstat(path, &st) == 0;
	if (there)
		unlink(path);
	return there && time(NULL) - st.st_mtime <= NOTE_SECONDS;
}

static int check(const struct options *o, const char *name, const char *operation)
{
	bool prepare = !strcmp(operation, "prepare");
	struct reason reasons[1] = {0};
	struct policy *policy = NULL;
	struct host_rules rules;
	char host_name[NAME_ROOM] = "localhost", *text;
	struct judgement j;
	struct guest guest;
	struct problem p;
	struct utsname uts;
	struct host host;
	size_t length, n;

	text = read_input("-", &length, &p);
	if (!text || !guest_from_xml(text, length, &guest, &p)) {
		tell(LOG_ERR, "refused: %s: its XML: %s", name, p.text);
		return EXIT_BAD_INPUT;
	}
	free(text);
	if (!guest.uuid[0]) {
		tell(LOG_ERR, "refused: %s: its XML: no <uuid>", name);
		return EXIT_BAD_INPUT;
	}
	if (prepare && !take_note(o, &guest))
		return EXIT_ALLOWED; /* a fresh start: nothing is in use yet */
	if (o->policy) {
		policy = load_policy(o->policy, &p);
		if (!policy) {
			tell(LOG_ERR, "refused: %s: policy: %s", name, p.text);
			return EXIT_BAD_INPUT;
		}
	}
	gethostname(host_name, sizeof(host_name) - 1);
	host_init(&host, host_name, uname(&uts) ? ARCHS : arch_by_name(uts.machine));
	if (guest.arch < ARCHS && guest.kvm && guest.arch == host.arch) {
		ask_kernel(&host);
		if (!prepare) /* that takes most of the time, and prepare follows */
			host.offer[PART_QEMU].yes = all_features(guest.arch);
		else if (guest.emulator[0])
			ask_qemu(&host, guest.emulator, o->timeout_s);
		else
			snprintf(host.why[PART_QEMU], TEXT_ROOM,
				 "the guest's XML names no emulator");
	}
	/* this libvirt reads the guest's XML itself, and refuses names that it does not know */
	host.offer[PART_LIBVIRT].yes = all_features(guest.arch);
	rules = policy_for(policy, host_name, guest.arch, today());
	if (rules.expired)
		tell(LOG_NOTICE, "%s: the policy has exceptions for this host that are over", name);
	j = judge(&guest, NULL, &host, &rules, !prepare);
	n = judgement_reasons(&j, &guest, &host, reasons, 1);
	policy_free(policy);
	if (j.verdict != VERDICT_ALLOW) {
		tell(LOG_ERR, "refused: %s: %s%s%s", name, reasons[0].text,
		     reasons[0].remedy[0] ? "; remedy: " : "", reasons[0].remedy);
		if (n > 1)
			syslog(LOG_ERR, "%s: and %zu more reasons", name, n - 1);
		return j.verdict == VERDICT_REFUSE ? EXIT_REFUSED : EXIT_UNKNOWN;
	}
	if (!prepare && !leave_note(o, &guest)) {
		tell(LOG_ERR, "refused: %s: cannot write in %s: %s", name, o->state,
		     strerror(errno));
		return EXIT_TROUBLE;
	}
	tell(LOG_INFO, "allowed: %s, %s", name, operation);
	return EXIT_ALLOWED;
}

int cmd_hook(const struct options *o, int argc, char **argv)
{
	static const char *const judged[] = {"migrate", "prepare", "restore"};
	const struct timespec step = {.tv_nsec = 2000000};
	uint64_t end = pv_now_ns() + (uint64_t)(o->timeout_s * 1e9);
	int status, i;
	pid_t child, got;

	if (argc < 3)
		pv_die(EXIT_USAGE, "hook: needs what libvirt calls it with: DOMAIN OPERATION "
				   "SUBOPERATION EXTRA");
	for (i = 0; i < 3 && strcmp(argv[1], judged[i]) != 0; i++)
		;
	if (i == 3 || strcmp(argv[2], "begin") != 0)
		return EXIT_ALLOWED;
	openlog("virt-pv-check", LOG_PID, LOG_DAEMON);
	signal(SIGCHLD, SIG_DFL);
	child = fork();
	if (child == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(check(o, argv[0], argv[1]));
	}
	if (child < 0) {
		tell(LOG_ERR, "refused: %s: fork: %s", argv[0], strerror(errno));
		return EXIT_TROUBLE;
	}
	setpgid(child, child); /* both sides do it: neither must be late */
	while ((got = waitpid(child, &status, WNOHANG)) == 0 && pv_now_ns() < end)
		nanosleep(&step, NULL);
	kill(-child, SIGKILL); /* what it left behind, if anything */
	if (got == child && WIFEXITED(status) && WEXITSTATUS(status) <= EXIT_TROUBLE)
		return WEXITSTATUS(status);
	if (got == 0) {
		waitpid(child, &status, 0);
		tell(LOG_ERR, "refused: %s: the check was not done within %g s", argv[0],
		     o->timeout_s);
	} else {
		tell(LOG_ERR, "refused: %s: the check itself failed (%s)", argv[0],
		     got == child && WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
							 : "no status");
	}
	return EXIT_TROUBLE;
}
