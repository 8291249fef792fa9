// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's /init. Process 1 does next to nothing: it starts the process that does the work,
 * reaps orphans, and powers off when that process has ended, for whatever reason.
 */
#define _GNU_SOURCE

#include "guest.h"
#include "pv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIN_DIR "/bin"
#define MODULE_ORDER "/lib/modules/order"
#define KDISK_SERIAL "kcbench"
#define KDISK_LOWER "/mnt/ro"
#define KDISK_RW "/mnt/rw"
#define KDISK_ROOT "/mnt/k"

static void read_params(struct params *p)
{
	FILE *f = fopen("/proc/cmdline", "re");
	char *line = NULL;
	size_t size = 0;

	if (!f || getline(&line, &size, f) < 0)
		pv_die(PV_EXIT_FAILED, "cannot read the kernel command line");
	params_parse(p, line);
	free(line);
	fclose(f);
}

/* ---- the machine ---- */

static bool mount_at(const char *source, const char *target, const char *type, unsigned long flags,
		     const char *data)
{
	mkdir(target, 0755);
	if (!mount(source, target, type, flags, data) || errno == EBUSY)
		return true;
	note("cannot mount %s: %s", target, strerror(errno));
	return false;
}

static void mount_all(void)
{
	mount_at("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mount_at("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mount_at("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=0755");
	mount_at("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
	mount_at("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
	mount_at("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755");
}

static void load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
		note("module %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void load_modules(void)
{
	FILE *f = fopen(MODULE_ORDER, "re");
	char *line = NULL;
	size_t size = 0;

	if (!f)
		return;
	while (getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0])
			load_module(line);
	}
	free(line);
	fclose(f);
}

/* The disk with the kernel tree and the tools to build it: read-only, written to in memory. */
static bool mount_kdisk(char *why)
{
	char dev[64];
	bool fine;

	if (!find_device("/sys/block", "vd", "serial", KDISK_SERIAL, dev, sizeof(dev))) {
		snprintf(why, WHY_MAX, "pvb.kdisk: no disk with serial " KDISK_SERIAL);
		return false;
	}
	mkdir("/mnt", 0755);
	fine = mount_at(dev, KDISK_LOWER, "squashfs", MS_RDONLY, NULL) &&
	       mount_at("tmpfs", KDISK_RW, "tmpfs", 0, "mode=0755,size=80%") &&
	       !mkdir(KDISK_RW "/upper", 0755) && !mkdir(KDISK_RW "/work", 0755) &&
	       mount_at("overlay", KDISK_ROOT, "overlay", 0,
			"lowerdir=" KDISK_LOWER ",upperdir=" KDISK_RW "/upper,workdir=" KDISK_RW
			"/work") &&
	       mount_at("/proc", KDISK_ROOT "/proc", NULL, MS_BIND, NULL) &&
	       mount_at("/dev", KDISK_ROOT "/dev", NULL, MS_BIND | MS_REC, NULL) &&
	       mount_at("tmpfs", KDISK_ROOT "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
	if (!fine)
		snprintf(why, WHY_MAX, "pvb.kdisk: cannot mount %s: %s", dev, strerror(errno));
	return fine;
}

/* ---- the process that works ---- */

__attribute__((noreturn)) static void work(void)
{
	struct runner r = {.bindir = BIN_DIR, .init = true};
	struct session s = {.bye = true};
	struct params p;

	mount_all();
	load_modules();
	read_params(&p);
	if (p.watch && p.why[0])
		pv_die(PV_EXIT_FAILED, "%s", p.why);
	if (p.watch)
		session_watch(p.feature);
	channel_open(p.channel);
	if (p.why[0])
		session_fail(p.why);
	if (p.kdisk) {
		if (!mount_kdisk(p.why))
			session_fail(p.why);
		r.newroot = KDISK_ROOT;
	}
	s.feature = p.feature;
	s.barrier_timeout_s = p.barrier ? p.barrier_timeout_s : 0;
	s.jobs = p.jobs;
	s.n_jobs = p.n_jobs;
	exit(session_run(&s, &r));
}

/* ---- process 1 ---- */

__attribute__((noreturn)) static void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	/* No way to power off: stay, an exit of process 1 is a panic. */
	for (;;)
		pause();
}

static void open_console(void)
{
	int fd;

	mkdir("/dev", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=0755");
	fd = open("/dev/console", O_RDWR | O_NOCTTY);
	if (fd < 0)
		return;
	for (int i = 0; i < 3; i++)
		if (fd != i)
			dup2(fd, i);
	if (fd > 2)
		close(fd);
}

void init_main(void)
{
	pid_t worker, pid;
	int status = 0;

	open_console();
	/* The kernel hands unknown parameters of its command line on as environment. */
	clearenv();
	worker = fork();
	if (!worker)
		work();
	while (worker > 0) {
		pid = wait(&status);
		if (pid == worker || (pid < 0 && errno != EINTR))
			break;
	}
	if (worker < 0)
		note("cannot fork: %s", strerror(errno));
	else if (WIFSIGNALED(status))
		note("killed by signal %d", WTERMSIG(status));
	note("power off");
	power_off();
}
