// SPDX-License-Identifier: GPL-2.0-only
/* What goes over the channel in which order, as /init and in somebody else's system. */
#include "guest.h"
#include "pv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEVICE_WAIT_MS 10000
#define HOST_WAIT_S 600
#define BYE_WAIT_S 5

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

bool find_device(const char *dir, const char *prefix, const char *file, const char *wanted,
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

void channel_open(const char *name)
{
	char dev[64];
	int fd;

	if (!find_device("/sys/class/virtio-ports", "vport", "name", name, dev, sizeof(dev)))
		pv_die(PV_EXIT_FAILED, "no virtio port \"%s\"", name);
	fd = open(dev, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		pv_die(PV_EXIT_FAILED, "%s: %s", dev, strerror(errno));
	event_to(fd, true);
	note("channel %s is %s", name, dev);
	if (!event_wait_host(HOST_WAIT_S))
		pv_die(PV_EXIT_FAILED, "nobody opened the channel within %d s", HOST_WAIT_S);
}

void session_fail(const char *why)
{
	event_send(json_pack("{s:s, s:n, s:s, s:s}", "event", "error", "job", "reason", why,
			     "stderr", ""));
	pv_die(PV_EXIT_FAILED, "%s", why);
}

void session_watch(const char *feature)
{
	struct state st;

	for (unsigned long n = 1;; n++) {
		probe_state(&st, feature);
		note("watch %lu: %s: offered %s, active %s", n, st.feature, st.offered, st.active);
		sleep(1);
	}
}

int session_run(const struct session *s, struct runner *r)
{
	char why[WHY_MAX];
	struct state st;
	size_t lost;

	probe_state(&st, s->feature);
	r->state = &st;
	note("%s: offered %s, active %s; %ld vCPUs, Linux %s", st.feature, st.offered, st.active,
	     st.vcpus, st.kernel);
	event_send(probe_event(&st, s->barrier_timeout_s, s->n_jobs));
	event_send(json_pack("{s:s}", "event", "ready"));
	if (s->barrier_timeout_s) {
		note("ready, waiting for the host");
		if (!event_wait_line("go", NULL, s->barrier_timeout_s, why))
			session_fail(why);
	}
	lost = jobs_run(r, s->jobs, s->n_jobs);
	note("done: %zu jobs, %zu failed", s->n_jobs, lost);
	/* Powered off too early, QEMU would drop what the host has not read yet. */
	if (s->bye && !event_wait_line("bye", "go", BYE_WAIT_S, why))
		note("%s", why);
	r->state = NULL;
	return lost ? PV_EXIT_FAILED : PV_EXIT_OK;
}
