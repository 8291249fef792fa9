/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs one program at a time in a process group of its own, and leaves nothing of that group
 * behind: not when it ends, not at a timeout, not when we are told to end.
 */
#ifndef PV_CHILD_H
#define PV_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

struct pv_child {
	char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
	int out_fd;	   /* its stdout */
	int err_fd;	   /* its stderr */
	double timeout_s;  /* 0: none */
	/* set by pv_child_run() */
	int exec_errno; /* != 0: it could not be started */
	bool timed_out;
	int interrupted_by; /* the signal that ended us, to be passed to pv_child_reraise() */
	int status;	    /* as wait(2) gives it */
	uint64_t wall_ns;
	struct rusage usage; /* of it and of the descendants it waited for */
};

/* Call once, before the first pv_child_run(): termination signals are taken up only in there. */
void pv_child_init(void);

/* True when it ran and exited with 0. stdin is /dev/null. */
bool pv_child_run(struct pv_child *child);

/* "make: exit status 2", ... on stderr, by pv_warn(). */
void pv_child_explain(const struct pv_child *child);

/* Dies of @signal, as if it had never been held back. */
void pv_child_reraise(int signal) __attribute__((noreturn));

#endif
