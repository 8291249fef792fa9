/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PV_COLLECT_H
#define PV_COLLECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a guest may make us store. */
#define LINE_MAX_BYTES (1u << 20)
#define TOTAL_MAX_BYTES (64u << 20)
#define EVENTS_MAX 50000u
#define GUESTS_MAX 256

/* ---- host.c: what the host sees of a guest ---- */

struct host_view {
	size_t n; /* vCPU threads of the guest's QEMU; 0: not known */
	pid_t pid;
	pid_t *tid;
	int *perf; /* one counter per thread, or NULL */
};

struct host_counts {
	double run_delay_s; /* < 0: not known */
	int64_t deferred;   /* < 0: not known */
};

/* Find the vCPU threads of the process in @pidfile and start counting; warns, never fails. */
void host_open(struct host_view *h, const char *guest, const char *pidfile);
void host_read(const struct host_view *h, struct host_counts *c);
void host_close(struct host_view *h);

/* ---- guest.c: one guest and its channel ---- */

enum phase {
	PHASE_CONNECT, /* QEMU does not listen yet */
	PHASE_STATE,   /* connected, nothing heard */
	PHASE_BOOTED,  /* has sent its state */
	PHASE_READY,   /* waits for go */
	PHASE_BETWEEN, /* no job runs */
	PHASE_JOB,
	PHASE_DONE,
	PHASE_OFF, /* has closed the channel */
};

struct window {
	uint64_t start_ns, end_ns;
};

struct guest {
	const char *name, *socket, *pidfile, *console;
	char *console_path; /* backs @console if that is not the command line's */
	enum phase phase;
	int fd;
	char *buf; /* LINE_MAX_BYTES + 1 */
	size_t len, total;
	unsigned int events;
	char last_event[64];
	uint64_t last_ns;
	json_int_t vcpus, jobs, begun;
	char feature[128], offered[8], active[8];
	char job[64];
	uint64_t begin_ns;
	struct host_view host;
	struct host_counts begin_counts;
	json_t *samples;	/* array, in order of arrival */
	struct window *windows; /* of the samples */
};

struct context {
	json_t *json; /* as in the file */
	json_t *env;
	const char *feature; /* NULL: any */
	json_int_t vcpus;    /* 0: any */
	double overcommit, pcpus;
};

/* "GUEST=SOCKET[,PIDFILE[,CONSOLE]]"; consumes @arg, which must stay. */
bool guest_parse(struct guest *g, char *arg, const char **why);
/* Does not return when something is wrong: says what, and exits with 1. */
void guest_connect(struct guest *g);
void guest_read(struct guest *g, const struct context *ctx);
void guest_send(struct guest *g, const char *line);
void guest_free(struct guest *g);
/* What is wrong with guest @g, its last event, the end of its console; exits with 1. */
__attribute__((format(printf, 2, 3), noreturn)) void guest_die(const struct guest *g,
							       const char *fmt, ...);

/* "pv-collect:     1.2 s: ..." on stderr; @fmt's text is made printable. */
__attribute__((format(printf, 1, 2))) void progress(const char *fmt, ...);

#endif
