// SPDX-License-Identifier: GPL-2.0-only
/*
 * A SIMULATION, for tests: preloaded, it answers for /dev/kvm as $PV_FAKE_KERNEL says:
 *
 *   x86_64:HEX         CPUID 0x40000001 EAX
 *   loongarch64:N,N... the attributes that there are
 *   aarch64:N          KVM_CAP_STEAL_TIME
 *   ARCH:none          no /dev/kvm; ARCH:denied: no permission; ARCH:old: it knows none of these
 * questions ARCH:hang          open() never returns; ARCH:crash: the program dies in it
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NR(request) ((request) & 0xff)

static int kvm_fd = -1, vm_fd = -1;

static const char *answer(void)
{
	const char *text = getenv("PV_FAKE_KERNEL"), *colon = text ? strchr(text, ':') : NULL;

	return colon ? colon + 1 : "none";
}

int uname(struct utsname *uts)
{
	const char *text = getenv("PV_FAKE_KERNEL");

	memset(uts, 0, sizeof(*uts));
	strcpy(uts->sysname, "Linux");
	strcpy(uts->nodename, "simulated");
	strcpy(uts->release, "0-simulated");
	if (text)
		memcpy(uts->machine, text, strcspn(text, ":") % sizeof(uts->machine));
	return 0;
}

static int open_kvm(void)
{
	const char *text = answer();

	if (!strcmp(text, "hang"))
		pause();
	if (!strcmp(text, "crash"))
		kill(getpid(), SIGKILL);
	if (!strcmp(text, "none") || !strcmp(text, "denied")) {
		errno = !strcmp(text, "none") ? ENOENT : EACCES;
		return -1;
	}
	kvm_fd = dup(STDERR_FILENO);
	return kvm_fd;
}

int open(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...) =
		(int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return strcmp(path, "/dev/kvm") ? real(path, flags, mode) : open_kvm();
}

static int has_attr(uint64_t attr)
{
	char *text = strdup(answer()), *rest, *part;
	int found = 0;

	for (part = strtok_r(text, ",", &rest); part; part = strtok_r(NULL, ",", &rest))
		found |= strtoull(part, NULL, 10) == attr;
	free(text);
	return found;
}

static int on_kvm(unsigned long request, void *arg)
{
	uint32_t *cpuid = arg;

	errno = ENOTTY;
	if (!strcmp(answer(), "old"))
		return NR(request) == 0x01 ? vm_fd = dup(STDERR_FILENO) : -1;
	switch (NR(request)) {
	case 0x01: /* KVM_CREATE_VM */
		vm_fd = dup(STDERR_FILENO);
		return vm_fd;
	case 0x03: /* KVM_CHECK_EXTENSION */
		return atoi(answer());
	case 0x05:		      /* KVM_GET_SUPPORTED_CPUID */
		if (cpuid[0] < 200) { /* as a big machine would */
			errno = E2BIG;
			return -1;
		}
		cpuid[0] = 2;
		memset(cpuid + 2, 0, sizeof(uint32_t) * 20);
		cpuid[2] = 0x40000000u;
		cpuid[12] = 0x40000001u;
		cpuid[15] = (uint32_t)strtoul(answer(), NULL, 16);
		return 0;
	default:
		return -1;
	}
}

int ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, ...) =
		(int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	uint64_t *attr;
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd >= 0 && fd == kvm_fd && NR(request) != 0xe3)
		return on_kvm(request, arg);
	if (fd < 0 || fd != vm_fd)
		return real(fd, request, arg);
	attr = arg; /* flags and group, attr, addr */
	if (!strcmp(answer(), "old")) {
		errno = ENOTTY;
		return -1;
	}
	errno = ENXIO;
	return has_attr(attr[1]) ? 0 : -1;
}
