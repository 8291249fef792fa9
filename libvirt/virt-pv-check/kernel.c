// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asks KVM of this machine. The numbers are those of include/uapi/linux/kvm.h and the
 * architectures' asm/kvm.h, written out because one program asks on all three.
 */
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

struct cpuid_entry {
	uint32_t function, index, flags, eax, ebx, ecx, edx, padding[3];
};

struct cpuid {
	uint32_t n, padding;
	struct cpuid_entry entries[];
};

struct device_attr {
	uint32_t flags, group;
	uint64_t attr, addr;
};

#define CREATE_VM _IO(0xAE, 0x01)
#define CHECK_EXTENSION _IO(0xAE, 0x03)
#define GET_SUPPORTED_CPUID _IOWR(0xAE, 0x05, struct cpuid)
#define HAS_DEVICE_ATTR _IOW(0xAE, 0xe3, struct device_attr)

#define CPUID_FEATURES 0x40000001u
#define LOONGARCH_VM_FEAT_CTRL 0
#define MAX_ENTRIES 4096u

static bool ask_cpuid(int kvm, struct kernel_answer *answer)
{
	uint32_t room, i;

	for (room = 128; room <= MAX_ENTRIES; room *= 2) {
		struct cpuid *cpuid = calloc(1, sizeof(*cpuid) + room * sizeof(cpuid->entries[0]));
		int failed;

		if (!cpuid)
			return false;
		cpuid->n = room;
		failed = ioctl(kvm, GET_SUPPORTED_CPUID, cpuid) < 0 ? errno : 0;
		for (i = 0; !failed && i < cpuid->n && i < room; i++) {
			if (cpuid->entries[i].function == CPUID_FEATURES)
				answer->cpuid_eax = cpuid->entries[i].eax;
		}
		free(cpuid);
		errno = failed;
		if (failed != E2BIG)
			return !failed;
	}
	return false;
}

static bool ask_attrs(int kvm, const struct arch_table *t, struct kernel_answer *answer)
{
	int vm = ioctl(kvm, CREATE_VM, 0);
	unsigned int i;

	if (vm < 0)
		return false;
	for (i = 0; i < t->n; i++) {
		struct device_attr attr = {.group = LOONGARCH_VM_FEAT_CTRL,
					   .attr = t->features[i].number};

		if (ioctl(vm, HAS_DEVICE_ATTR, &attr) == 0)
			answer->attr_yes |= UINT64_C(1) << t->features[i].number;
		else if (errno == ENXIO ||
			 errno == ENOTTY) /* this one, or no attributes of VMs at all */
			answer->attr_no |= UINT64_C(1) << t->features[i].number;
	}
	close(vm);
	return true;
}

void ask_kernel(struct host *host)
{
	struct kernel_answer answer = {.cap_steal_time = -1};
	struct offer *offer = &host->offer[PART_KERNEL];
	char *why = host->why[PART_KERNEL];
	struct utsname uts;
	bool good = true;
	int kvm;

	*offer = (struct offer){0};
	if (uname(&uts))
		return;
	if (arch_by_name(uts.machine) != host->arch) {
		snprintf(why, TEXT_ROOM, "this machine is %.64s", uts.machine);
		return;
	}
	snprintf(host->about[PART_KERNEL], TEXT_ROOM, "%.64s", uts.release);
	kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (kvm < 0 && (errno == ENOENT || errno == ENODEV || errno == ENXIO)) {
		snprintf(host->about[PART_KERNEL], TEXT_ROOM, "%.64s, no KVM", uts.release);
		offer->no = all_features(host->arch);
		return;
	}
	if (kvm < 0) {
		snprintf(why, TEXT_ROOM, "/dev/kvm: %s", strerror(errno));
		return;
	}
	if (host->arch == ARCH_X86)
		good = ask_cpuid(kvm, &answer);
	else if (host->arch == ARCH_LOONGARCH)
		good = ask_attrs(kvm, &arch_tables[host->arch], &answer);
	else
		answer.cap_steal_time =
			ioctl(kvm, CHECK_EXTENSION, arch_tables[host->arch].features[0].number);
	if (good)
		*offer = offer_of_kernel(host->arch, &answer);
	if (good)
		snprintf(why, TEXT_ROOM, "no kernel is known to say");
	else
		snprintf(why, TEXT_ROOM, "KVM: %s", strerror(errno));
	close(kvm);
}
