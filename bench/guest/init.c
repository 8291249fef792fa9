// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's /init. Process 1 does next to nothing: it starts the process that does the work,
 * reaps orphans, and powers off when that process has ended, for whatever reason.
 */
#define _GNU_SOURCE

#include "guest.h"
#include "pv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
#define DEVICE_WAIT_MS 10000
#define HOST_WAIT_S 600
#define BYE_WAIT_S 5

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

/* Does DIR/ENTRY/FILE hold @wanted, and nothing else but blanks at its end? */
static bool attribute_is(const char *dir, const char *entry, const char *file, const char *wanted)
{
	char path[512], buf[128];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%.200s/%s", dir, entry, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	len = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	while (len && (buf[len - 1] == '\n' || buf[len - 1] == ' '))
		len--;
	buf[len] = '\0';
	return !strcmp(buf, wanted);
}

/*
 * The device of class folder @dir, name beginning with @prefix, whose attribute @file is @wanted;
 * waited for. Its path in /dev comes in @dev.
 */
static bool find_device(const char *dir, const char *prefix, const char *file, const char *wanted,
			char *dev, size_t size)
{
	struct dirent *e;
	DIR *d;

	for (int ms = 0; ms < DEVICE_WAIT_MS; ms += 50) {
		d = opendir(dir);
		while (d && (e = readdir(d))) {
			if (strncmp(e->d_name, prefix, strlen(prefix)) != 0 ||
			    !attribute_is(dir, e->d_name, file, wanted))
				continue;
			snprintf(dev, size, "/dev/%.40s", e->d_name);
			closedir(d);
			return true;
		}
		if (d)
			closedir(d);
		usleep(50000);
	}
	return false;
}

static void open_channel(const char *name)
{
	char dev[64];
	int fd;

	if (!find_device("/sys/class/virtio-ports", "vport", "name", name, dev, sizeof(dev)))
		pv_die(PV_EXIT_FAILED, "no virtio port \"%s\"", name);
	fd = open(dev, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		pv_die(PV_EXIT_FAILED, "%s: %s", dev, strerror(errno));
	event_to(fd, true);
	note("channel %s is %s", name, dev);
	if (!event_wait_host(HOST_WAIT_S))
		pv_die(PV_EXIT_FAILED, "nobody opened the channel within %d s", HOST_WAIT_S);
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

static void fail(const char *why)
{
	event_send(json_pack("{s:s, s:n, s:s, s:s}", "event", "error", "job", "reason", why,
			     "stderr", ""));
	pv_die(PV_EXIT_FAILED, "%s", why);
}

__attribute__((noreturn)) static void work(void)
{
	struct state st;
	struct runner r = {.state = &st, .bindir = BIN_DIR, .init = true};
	struct params p;
	size_t lost;

	mount_all();
	load_modules();
	read_params(&p);
	open_channel(p.channel);
	if (p.why[0])
		fail(p.why);
	if (p.kdisk) {
		if (!mount_kdisk(p.why))
			fail(p.why);
		r.newroot = KDISK_ROOT;
	}
	probe_state(&st, p.feature);
	note("%s: offered %s, active %s; %ld vCPUs, Linux %s", st.feature, st.offered, st.active,
	     st.vcpus, st.kernel);
	event_send(probe_event(&st, p.barrier, p.n_jobs));
	event_send(json_pack("{s:s}", "event", "ready"));
	if (p.barrier) {
		note("ready, waiting for the host");
		if (!event_wait_line("go", NULL, p.barrier_timeout_s, p.why))
			fail(p.why);
	}
	lost = jobs_run(&r, p.jobs, p.n_jobs);
	note("done: %zu jobs, %zu failed", p.n_jobs, lost);
	/* Powered off too early, QEMU would drop what the host has not read yet. */
	if (!event_wait_line("bye", "go", BYE_WAIT_S, p.why))
		note("%s", p.why);
	exit(lost ? PV_EXIT_FAILED : PV_EXIT_OK);
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
