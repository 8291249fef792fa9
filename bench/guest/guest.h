/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PV_GUEST_H
#define PV_GUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FEATURE_DEFAULT "kvm-pv-tlb-flush"
#define CHANNEL_DEFAULT "org.pv-tlb-flush.results"

/* Bound of a workload's output, and of an event line (pv-collect has the same). */
#define OUTPUT_MAX (1u << 20)
#define STDERR_KEPT 4096
#define JOBS_MAX 256
#define WHY_MAX 256
#define BARRIER_TIMEOUT_S 600

/* ---- probe.c: what this guest is ---- */

struct hypervisor {
	bool known; /* this architecture can tell at all */
	bool kvm;
	char signature[13];
	uint32_t features; /* KVM's feature word */
	uint32_t hints;	   /* x86 */
	int mwait;	   /* x86: CPUID 1 ECX bit 3; else -1 */
};

/* Rows of /proc/interrupts that are of interest; -1: no such row. */
enum { IRQ_TLB, IRQ_RES, IRQ_CAL, IRQ_LOC, IRQ_IPI0, IRQ_IPI1, IRQ_ROWS };

struct counters {
	int64_t irq[IRQ_ROWS];
	int64_t steal_ticks; /* -1: not known */
};

struct state {
	char feature[64];
	const char *offered, *active; /* yes, no, unknown */
	long vcpus;
	bool steal;
	char kernel[65], build[65];
};

void probe_counters(struct counters *c);
/* The rows of @after - @before as an object; null for rows that are missing or went back. */
json_t *probe_interrupts(const struct counters *before, const struct counters *after);
/* null where steal time is off or went back. */
json_t *probe_steal(const struct state *st, const struct counters *before,
		    const struct counters *after);
void probe_state(struct state *st, const char *feature);
/* The state event. */
json_t *probe_event(const struct state *st, bool barrier, size_t jobs);

bool feature_valid(const char *name);

/* ---- event.c: one JSON object per line, and short words for people on stderr ---- */

void event_to(int fd, bool channel);
/*
 * Consumes @event. False: it was too long for a line, and an error event went in its place. Does
 * not return if the reader is gone.
 */
bool event_send(json_t *event);
/* Has the other side of the channel closed it? */
bool event_hangup(void);
/* Wait at most @timeout_s for the host to open its side of the channel. */
bool event_wait_host(long timeout_s);
/* Wait at most @timeout_s for the line @wanted; other lines are an error, except @skip (or NULL).
 */
bool event_wait_line(const char *wanted, const char *skip, long timeout_s, char *why);
__attribute__((format(printf, 1, 2))) void note(const char *fmt, ...);

/* ---- job.c: run a workload ---- */

struct job {
	char name[33];
	long timeout_s;
	size_t argc;
	char **argv; /* from the specification only, NULL at the end */
};

/* NAME:TIMEOUT[:ARG,ARG,...], arguments percent-encoded. */
bool job_parse(const char *spec, struct job *job, char *why);
void job_free(struct job *job);

/* The arguments as an array; null for one that is not UTF-8. */
json_t *job_args(const struct job *job);

struct runner {
	const struct state *state;
	char bindir[4096];
	const char *newroot; /* for kcbench jobs: chroot to it; NULL: none */
	bool init; /* owns the machine: clean environment, kill what a job leaves behind */
};

/* Runs all jobs, sends every event from the first begin to done; the number of failed jobs. */
size_t jobs_run(const struct runner *r, struct job *jobs, size_t n);

/* ---- session.c: the channel, and what goes over it in which order ---- */

/*
 * The device of class folder @dir, name beginning with @prefix, whose attribute @file is @wanted;
 * waited for. Its path in /dev comes in @dev.
 */
bool find_device(const char *dir, const char *prefix, const char *file, const char *wanted,
		 char *dev, size_t size);
/* Events go to the virtio-serial port @name from here on. Returns when the host has it open. */
void channel_open(const char *name);

struct session {
	const char *feature;
	struct job *jobs;
	size_t n_jobs;
	long barrier_timeout_s; /* for the host's "go"; 0: begin at once */
	bool bye;		/* after done, wait for the host's "bye" */
};

/* An error that is of no job; then the end. */
void session_fail(const char *why) __attribute__((noreturn));
/* No jobs, no channel: the state once a second on the console, for as long as the guest lives. */
void session_watch(const char *feature) __attribute__((noreturn));
/* From the state event to the end; the exit status. */
int session_run(const struct session *s, struct runner *r);

/* ---- params.c: the kernel command line ---- */

struct params {
	char channel[64];
	char feature[64];
	long barrier, barrier_timeout_s, kdisk, watch;
	struct job *jobs;
	size_t n_jobs;
	char why[WHY_MAX]; /* not empty: something is wrong */
};

/* Words that do not begin with "pvb." are others'. Cuts @line up. */
void params_parse(struct params *p, char *line);
json_t *params_json(const struct params *p);
void params_free(struct params *p);

/* ---- init.c ---- */

/* Everything of PID 1; never returns. */
void init_main(void) __attribute__((noreturn));

#endif
