// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts of the host for the vCPU threads of one QEMU process: time they waited for a pCPU
 * (schedstat), and TLB flushes that KVM did when it entered them (tracepoint kvm_pv_tlb_flush with
 * fields vcpu_id and need_flush_tlb, hit in the context of the vCPU thread).
 */
#include "collect.h"
#include "pv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRACEPOINT "events/kvm/kvm_pv_tlb_flush/id"

static bool read_long(const char *path, long *out)
{
	FILE *f = fopen(path, "re");
	char line[64];
	bool fine = false;

	if (!f)
		return false;
	if (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		fine = pv_parse_long(line, 1, INT32_MAX, out);
	}
	fclose(f);
	return fine;
}

/* QEMU calls its vCPU threads "CPU n/KVM". */
static bool is_vcpu(pid_t pid, const char *tid)
{
	char path[300], comm[32] = "", end[8] = "";
	unsigned int index;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%.200s/comm", (int)pid, tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(comm, sizeof(comm), f))
		comm[0] = '\0';
	fclose(f);
	return sscanf(comm, "CPU %u/%7s", &index, end) == 2 && !strcmp(end, "KVM");
}

static void find_threads(struct host_view *h)
{
	char path[64];
	struct dirent *e;
	DIR *d;
	long tid;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)h->pid);
	d = opendir(path);
	if (!d)
		return;
	while ((e = readdir(d))) {
		pid_t *more;

		if (!pv_parse_long(e->d_name, 1, INT32_MAX, &tid) || !is_vcpu(h->pid, e->d_name))
			continue;
		more = realloc(h->tid, (h->n + 1) * sizeof(*more));
		if (!more)
			pv_die(PV_EXIT_FAILED, "no memory");
		h->tid = more;
		h->tid[h->n++] = (pid_t)tid;
	}
	closedir(d);
}

static int open_counter(pid_t tid, long tracepoint)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = (uint64_t)tracepoint,
	};
	long fd = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0 && ioctl((int)fd, PERF_EVENT_IOC_SET_FILTER, "need_flush_tlb==1")) {
		int err = errno;

		close((int)fd);
		errno = err;
		return -1;
	}
	return (int)fd;
}

static void close_counters(struct host_view *h)
{
	for (size_t i = 0; h->perf && i < h->n; i++)
		if (h->perf[i] >= 0)
			close(h->perf[i]);
	free(h->perf);
	h->perf = NULL;
}

/* Said once for all guests: the reason is the host's. */
static void no_counters(const char *why)
{
	static bool said;

	if (!said)
		pv_warn("deferred_flushes will be null: tracepoint kvm:kvm_pv_tlb_flush: %s", why);
	said = true;
}

static void open_counters(struct host_view *h)
{
	long id;

	if (!read_long("/sys/kernel/tracing/" TRACEPOINT, &id) &&
	    !read_long("/sys/kernel/debug/tracing/" TRACEPOINT, &id)) {
		no_counters("not there, or no tracefs");
		return;
	}
	h->perf = calloc(h->n, sizeof(*h->perf));
	if (!h->perf)
		pv_die(PV_EXIT_FAILED, "no memory");
	memset(h->perf, 0xff, h->n * sizeof(*h->perf));
	for (size_t i = 0; i < h->n; i++) {
		h->perf[i] = open_counter(h->tid[i], id);
		if (h->perf[i] < 0) {
			no_counters(strerror(errno));
			close_counters(h);
			return;
		}
	}
}

void host_open(struct host_view *h, const char *guest, const char *pidfile)
{
	long pid;

	memset(h, 0, sizeof(*h));
	if (!pidfile)
		return;
	if (!read_long(pidfile, &pid)) {
		pv_warn("%s: cannot read a process id from %s: no counts of the host", guest,
			pidfile);
		return;
	}
	h->pid = (pid_t)pid;
	find_threads(h);
	if (!h->n) {
		pv_warn("%s: process %ld has no vCPU threads (\"CPU n/KVM\"): no counts of the "
			"host",
			guest, pid);
		return;
	}
	open_counters(h);
}

/* "ON_CPU_NS WAITING_NS TIMESLICES" */
static double read_delay(const struct host_view *h)
{
	uint64_t waiting, sum = 0;
	char path[96];
	bool fine;
	FILE *f;

	for (size_t i = 0; i < h->n; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)h->pid,
			 (int)h->tid[i]);
		f = fopen(path, "re");
		if (!f)
			return -1;
		fine = fscanf(f, "%*u %" SCNu64 " ", &waiting) == 1;
		fclose(f);
		if (!fine)
			return -1;
		sum += waiting;
	}
	return h->n ? (double)sum / 1e9 : -1;
}

static int64_t read_counters(const struct host_view *h)
{
	uint64_t value, sum = 0;

	if (!h->perf)
		return -1;
	for (size_t i = 0; i < h->n; i++) {
		if (read(h->perf[i], &value, sizeof(value)) != sizeof(value))
			return -1;
		sum += value;
	}
	return (int64_t)sum;
}

void host_read(const struct host_view *h, struct host_counts *c)
{
	c->run_delay_s = read_delay(h);
	c->deferred = read_counters(h);
}

void host_close(struct host_view *h)
{
	close_counters(h);
	free(h->tid);
	h->tid = NULL;
	h->n = 0;
}
