/* SPDX-License-Identifier: GPL-2.0-only */
/* LD_PRELOAD shim: the daemon believes it runs on a LoongArch host with /dev/kvm. A simulation, for
 * tests only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

int uname(struct utsname *buf)
{
	int (*real)(struct utsname *) = dlsym(RTLD_NEXT, "uname");
	int ret = real(buf);

	if (ret == 0)
		strcpy(buf->machine, "loongarch64");
	return ret;
}

static int open_any(const char *name, const char *path, int flags, mode_t mode)
{
	int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, name);

	return real(strcmp(path, "/dev/kvm") == 0 ? "/dev/null" : path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list ap;

	va_start(ap, flags);
	mode_t mode = va_arg(ap, mode_t);
	va_end(ap);
	return open_any("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list ap;

	va_start(ap, flags);
	mode_t mode = va_arg(ap, mode_t);
	va_end(ap);
	return open_any("open64", path, flags, mode);
}

/* KVM_CHECK_EXTENSION: the daemon only asks for numbers of vCPUs */
int ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
	va_list ap;

	va_start(ap, request);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	if (request == 0xae03)
		return 8;
	return real(fd, request, arg);
}

int access(const char *path, int mode)
{
	int (*real)(const char *, int) = dlsym(RTLD_NEXT, "access");

	return real(strcmp(path, "/dev/kvm") == 0 ? "/dev/null" : path, mode);
}
