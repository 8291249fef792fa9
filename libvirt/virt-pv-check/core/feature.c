// SPDX-License-Identifier: GPL-2.0-only
/*
 * The one table of features.
 *
 * x86: bits of arch/x86/include/uapi/asm/kvm_para.h, names of feature_word_info[FEAT_KVM] in QEMU's
 * target/i386/cpu.c, what is on by default from QEMU's docs/system/i386/kvm-pv.rst. Left out:
 * kvm-mmu (deprecated, no kernel offers it), kvm-msi-ext-dest-id (QEMU's own, it belongs to the
 * machine's interrupt controller), bits that QEMU has no name for. libvirt knows one name, and
 * spells it kvm_pv_unhalt (src/cpu/cpu_x86.c).
 *
 * LoongArch: attributes of arch/loongarch/include/uapi/asm/kvm.h (7.3: up to PV_PREEMPT = 10); 11
 * and the name kvm-pv-tlb-flush are those of the posted series. QEMU has kvm-pv-ipi and
 * kvm-steal-time as on/off/auto, auto by default (target/loongarch/kvm/kvm.c); the other two are
 * off by default.
 *
 * arm64: QEMU's kvm-steal-time is auto by default (target/arm/kvm.c) and asks KVM_CAP_STEAL_TIME.
 * kvm-pv-vcpu-state was only ever proposed (firmware register KVM_REG_ARM_VENDOR_HYP_BMAP_2, bit
 * 2).
 */
#include "check.h"

#include <string.h>

#define CPUID_BIT(n) PROBE_CPUID, n
#define EAX(n) "CPUID 0x40000001 EAX bit " #n
#define ATTR(n) PROBE_VM_ATTR, n
#define VM_ATTR(n) "KVM VM attribute " #n " of KVM_LOONGARCH_VM_FEAT_CTRL"

#define KVM_CAP_STEAL_TIME_NR 187 /* include/uapi/linux/kvm.h */

static const struct feature x86_features[] = {
	{"kvmclock", NULL, CPUID_BIT(3), true, true, EAX(3)},
	{"kvm-nopiodelay", NULL, CPUID_BIT(1), true, true, EAX(1)},
	{"kvm-asyncpf", NULL, CPUID_BIT(4), true, true, EAX(4)},
	{"kvm-steal-time", NULL, CPUID_BIT(5), true, true, EAX(5)},
	{"kvm-pv-eoi", NULL, CPUID_BIT(6), true, true, EAX(6)},
	{"kvm-pv-unhalt", "kvm_pv_unhalt", CPUID_BIT(7), false, true, EAX(7)},
	{"kvm-pv-tlb-flush", NULL, CPUID_BIT(9), false, true, EAX(9)},
	{"kvm-asyncpf-vmexit", NULL, CPUID_BIT(10), false, true, EAX(10)},
	{"kvm-pv-ipi", NULL, CPUID_BIT(11), false, true, EAX(11)},
	{"kvm-poll-control", NULL, CPUID_BIT(12), false, true, EAX(12)},
	{"kvm-pv-sched-yield", NULL, CPUID_BIT(13), false, true, EAX(13)},
	{"kvm-asyncpf-int", NULL, CPUID_BIT(14), false, true, EAX(14)},
	{"kvmclock-stable-bit", NULL, CPUID_BIT(24), true, true, EAX(24)},
	{"kvm-hint-dedicated", NULL, PROBE_QEMU, 0, false, false, "CPUID 0x40000001 EDX bit 0"},
};

static const struct feature loongarch_features[] = {
	{"kvm-steal-time", NULL, ATTR(7), true, true, VM_ATTR(7)},
	{"kvm-pv-ipi", NULL, ATTR(6), true, true, VM_ATTR(6)},
	{"kvm-pv-preempt", NULL, ATTR(10), false, true, VM_ATTR(10)},
	{"kvm-pv-tlb-flush", NULL, ATTR(11), false, true, VM_ATTR(11)},
};

static const struct feature arm64_features[] = {
	{"kvm-steal-time", NULL, PROBE_CAP, KVM_CAP_STEAL_TIME_NR, true, true,
	 "KVM capability 187 (KVM_CAP_STEAL_TIME)"},
	{"kvm-pv-vcpu-state", NULL, PROBE_PROPOSED, 2, false, false,
	 "bit 2 of KVM_REG_ARM_VENDOR_HYP_BMAP_2, which is only a proposal"},
};

#define LENGTH(t) (sizeof(t) / sizeof((t)[0]))

const struct arch_table arch_tables[ARCHS] = {
	[ARCH_X86] = {"x86_64", x86_features, LENGTH(x86_features), false, "max-x86_64-cpu", "full",
		      "host"},
	/* no "host" CPU; only static expansion */
	[ARCH_LOONGARCH] = {"loongarch64", loongarch_features, LENGTH(loongarch_features), true,
			    "max-loongarch-cpu", "static", "max"},
	[ARCH_ARM64] = {"aarch64", arm64_features, LENGTH(arm64_features), false, "max-arm-cpu",
			"full", "host"},
};

const char *const part_names[PARTS] = {"kernel", "qemu", "libvirt"};

enum arch arch_by_name(const char *name)
{
	unsigned int i;

	if (!strcmp(name, "i686"))
		return ARCH_X86;
	for (i = 0; i < ARCHS && strcmp(name, arch_tables[i].name) != 0; i++)
		;
	return i;
}

static uint32_t mask_of(enum arch arch, bool (*in)(const struct feature *))
{
	uint32_t set = 0;
	unsigned int i;

	for (i = 0; arch < ARCHS && i < arch_tables[arch].n; i++) {
		if (in(&arch_tables[arch].features[i]))
			set |= UINT32_C(1) << i;
	}
	return set;
}

static bool any(const struct feature *feature)
{
	return feature;
}

static bool by_default(const struct feature *feature)
{
	return feature->by_default;
}

static bool by_host(const struct feature *feature)
{
	return feature->by_host;
}

uint32_t all_features(enum arch arch)
{
	return mask_of(arch, any);
}

uint32_t default_features(enum arch arch)
{
	return mask_of(arch, by_default);
}

uint32_t host_cpu_features(enum arch arch)
{
	return mask_of(arch, by_host);
}

static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		if (*a != *b && !((*a == '_' || *a == '-') && (*b == '_' || *b == '-')))
			return false;
	}
	return *a == *b;
}

uint32_t feature_bit(enum arch arch, const char *name)
{
	unsigned int i;

	for (i = 0; arch < ARCHS && i < arch_tables[arch].n; i++) {
		if (same_name(name, arch_tables[arch].features[i].name))
			return UINT32_C(1) << i;
	}
	return 0;
}

void put_features(FILE *out, enum arch arch, uint32_t set)
{
	const char *comma = "";
	unsigned int i;

	if (!set)
		fputs("none", out);
	for (i = 0; arch < ARCHS && i < arch_tables[arch].n; i++) {
		if (set >> i & 1) {
			fprintf(out, "%s%s", comma, arch_tables[arch].features[i].name);
			comma = ", ";
		}
	}
}

json_t *features_to_json(enum arch arch, uint32_t set)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; arch < ARCHS && i < arch_tables[arch].n; i++) {
		if (set >> i & 1)
			json_array_append_new(list,
					      json_string(arch_tables[arch].features[i].name));
	}
	return list;
}

struct offer offer_of_kernel(enum arch arch, const struct kernel_answer *answer)
{
	struct offer offer = {0};
	unsigned int i;

	for (i = 0; i < arch_tables[arch].n; i++) {
		const struct feature *f = &arch_tables[arch].features[i];
		bool yes = false, no = false;

		switch (f->probe) {
		case PROBE_CPUID:
			yes = answer->cpuid_eax >> f->number & 1;
			no = !yes;
			break;
		case PROBE_VM_ATTR:
			yes = answer->attr_yes >> f->number & 1;
			no = answer->attr_no >> f->number & 1;
			break;
		case PROBE_CAP:
			yes = answer->cap_steal_time > 0;
			no = answer->cap_steal_time == 0;
			break;
		case PROBE_QEMU:
			yes = true;
			break;
		case PROBE_PROPOSED:
			break;
		}
		offer.yes |= (uint32_t)yes << i;
		offer.no |= (uint32_t)no << i;
	}
	return offer;
}
