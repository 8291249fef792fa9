/* SPDX-License-Identifier: GPL-2.0-only */
/* The thin layer around core/: files, kernel, QEMU, libvirt, and the commands. */
#ifndef IO_H
#define IO_H

#include "core/check.h"

#include <libvirt/libvirt.h>

/* input.c */
/* All of it, to be freed; NULL and a problem ("PATH: ..."). "-" is stdin. */
char *read_input(const char *path, size_t *length, struct problem *p);
bool is_uri(const char *text);
/* A saved host: our JSON, or capabilities (then the name is that of the file). */
bool load_host(const char *path, struct host *host, struct problem *p);
struct policy *load_policy(const char *path, struct problem *p);
long today(void);

/* kernel.c */
/* Fills in the kernel's part of @host, if this machine is of its architecture. */
void ask_kernel(struct host *host);

/* qemu.c */
/* Starts @binary (without a machine, without privileges) and asks it; ended after @timeout_s. */
void ask_qemu(struct host *host, const char *binary, double timeout_s);

/* virt.c: libvirt */
virConnectPtr virt_open(const char *uri, struct problem *p);
/* What is known through @conn; where it is a daemon of this machine, kernel and QEMU are asked
 * directly. */
bool virt_host(virConnectPtr conn, const char *emulator, struct host *host, struct problem *p);
/* The same for a URI or a file. Returns EXIT_ALLOWED, or the code to end with. */
int any_host(const char *where, const char *emulator, struct host *host, struct problem *p);
struct virt_guest {
	struct guest guest;
	bool running;
	struct offer active;	  /* by the guest agent */
	char no_agent[TEXT_ROOM]; /* why @active is not known */
	char no_monitor[TEXT_ROOM];
};
bool virt_domain(virConnectPtr conn, const char *name, bool monitor, bool agent,
		 struct virt_guest *found, struct problem *p);

/* What every command understands. */
struct options {
	const char *uri, *from, *policy, *emulator, *state;
	const char **to;
	size_t n_to;
	bool json, explain, plan, agent, monitor;
	double timeout_s;
};

int cmd_host(const struct options *o, int argc, char **argv);
int cmd_domain(const struct options *o, int argc, char **argv);
int cmd_migrate(const struct options *o, int argc, char **argv);
int cmd_fleet(const struct options *o, int argc, char **argv);
int cmd_hook(const struct options *o, int argc, char **argv);

#endif
