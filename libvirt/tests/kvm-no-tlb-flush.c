// SPDX-License-Identifier: GPL-2.0-only
/*
 * SIMULATION of a host kernel whose KVM does not offer PV TLB flush: preloaded into QEMU, it clears
 * the bit in what KVM_GET_SUPPORTED_CPUID reports. No kernel in use lacks the bit on x86.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/kvm.h>
#include <stdarg.h>
#include <stdlib.h>

#define KVM_CPUID_FEATURES 0x40000001
#define KVM_FEATURE_PV_TLB_FLUSH 9

int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int, unsigned long, ...);
	struct kvm_cpuid2 *cpuid;
	va_list ap;
	void *arg;
	int ret;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);

	if (!next && !(next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl")))
		abort();

	ret = next(fd, request, arg);
	if (ret < 0 || (unsigned int)request != (unsigned int)KVM_GET_SUPPORTED_CPUID)
		return ret;

	cpuid = arg;
	for (unsigned int i = 0; i < cpuid->nent; i++) {
		if (cpuid->entries[i].function == KVM_CPUID_FEATURES)
			cpuid->entries[i].eax &= ~(1u << KVM_FEATURE_PV_TLB_FLUSH);
	}
	return ret;
}
