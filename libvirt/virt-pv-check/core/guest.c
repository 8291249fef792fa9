// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest by its domain XML: what it asks for, what it may be using, and what contradicts what.
 */
#include "xml.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define QEMU_NS "http://libvirt.org/schemas/domain/qemu/1.0"

const char *const mode_names[] = {"none", "custom", "host-model", "host-passthrough", "maximum"};

/* Features that libvirt has elements of their own for (docs/formatdomain.rst). */
static const struct element {
	const char *parent, *name, *attr, *feature;
} elements[] = {
	{"kvm", "hint-dedicated", "state", "kvm-hint-dedicated"},
	{"kvm", "poll-control", "state", "kvm-poll-control"},
	{"kvm", "pv-ipi", "state", "kvm-pv-ipi"},
	{NULL, "pvspinlock", "state", "kvm-pv-unhalt"},
	{NULL, "apic", "eoi", "kvm-pv-eoi"},
};

enum wish { WISH_ON, WISH_OPTIONAL, WISH_OFF };

/* A second, different wish for the same feature: who wins is QEMU's affair. */
static void take_wish(struct guest *g, uint32_t bit, enum wish wish)
{
	uint32_t *set = wish == WISH_ON ? &g->on : wish == WISH_OFF ? &g->off : &g->optional;

	if (((g->on | g->off | g->optional) & bit) && !(*set & bit))
		g->unclear |= bit;
	*set |= bit;
	if (wish != WISH_OPTIONAL || g->arch != ARCH_LOONGARCH)
		g->asked |= bit; /* on LoongArch "optional" never reaches QEMU's command line */
}

static bool take_cpu_feature(struct guest *g, const xmlNode *node, uint32_t *seen,
			     struct problem *p)
{
	static const struct {
		const char *policy;
		enum wish wish;
	} policies[] = {{"force", WISH_ON},
			{"require", WISH_ON},
			{"optional", WISH_OPTIONAL},
			{"disable", WISH_OFF},
			{"forbid", WISH_OFF}};
	char name[NAME_ROOM], policy[NAME_ROOM];
	uint32_t bit;
	size_t i;

	if (!xml_attr(node, "name", name, sizeof(name)) || !is_name(name))
		return wrong(p, "a CPU feature without a name");
	if (!xml_attr(node, "policy", policy, sizeof(policy)))
		strcpy(policy, "require");
	for (i = 0; i < sizeof(policies) / sizeof(*policies); i++) {
		if (!strcmp(policy, policies[i].policy))
			break;
	}
	if (i == sizeof(policies) / sizeof(*policies))
		return wrong(p, "CPU feature %s: unknown policy \"%s\"", name, policy);
	if (!strcmp(name, "monitor") && policies[i].wish != WISH_OFF)
		g->mwait = true;
	bit = feature_bit(g->arch, name);
	if (*seen & bit)
		return wrong(p, "CPU feature %s: named twice", name);
	*seen |= bit;
	if (bit) {
		g->named |= bit;
		take_wish(g, bit, policies[i].wish);
	}
	return true;
}

static bool take_cpu(struct guest *g, const xmlNode *domain, struct problem *p)
{
	const xmlNode *cpu = xml_child(domain, "cpu"), *node;
	char text[NAME_ROOM];
	uint32_t seen = 0;
	size_t i;

	if (!cpu)
		return true;
	if (xml_next(cpu, "cpu"))
		return wrong(p, "more than one <cpu>");
	/* without a mode libvirt takes "custom" */
	g->mode = MODE_CUSTOM;
	if (xml_attr(cpu, "mode", text, sizeof(text))) {
		for (i = MODE_CUSTOM; i <= MODE_MAXIMUM && strcmp(text, mode_names[i]) != 0; i++)
			;
		if (i > MODE_MAXIMUM)
			return wrong(p, "unknown CPU mode \"%s\"", text);
		g->mode = i;
	}
	for (node = xml_child(cpu, "feature"); node; node = xml_next(node, "feature")) {
		if (!take_cpu_feature(g, node, &seen, p))
			return false;
	}
	return true;
}

static bool take_state(struct guest *g, const xmlNode *node, const char *attr, const char *feature,
		       struct problem *p)
{
	uint32_t bit = feature_bit(g->arch, feature);
	char text[NAME_ROOM];

	if (!bit || !xml_attr(node, attr, text, sizeof(text)))
		return true;
	if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0)
		return wrong(p, "<%s>: %s is \"%s\", neither on nor off", node->name, attr, text);
	take_wish(g, bit, !strcmp(text, "on") ? WISH_ON : WISH_OFF);
	return true;
}

static bool take_elements(struct guest *g, const xmlNode *domain, struct problem *p)
{
	const xmlNode *features = xml_child(domain, "features"), *kvm = xml_child(features, "kvm"),
		      *node;
	char text[NAME_ROOM];
	size_t i;

	for (i = 0; i < sizeof(elements) / sizeof(*elements); i++) {
		const struct element *e = &elements[i];

		node = xml_child(e->parent ? kvm : features, e->name);
		if (node && !take_state(g, node, e->attr, e->feature, p))
			return false;
	}
	if (xml_attr(xml_child(kvm, "hidden"), "state", text, sizeof(text)))
		g->hidden = !strcmp(text, "on");
	for (node = xml_child(xml_child(domain, "clock"), "timer"); node;
	     node = xml_next(node, "timer")) {
		uint32_t bit = feature_bit(g->arch, "kvmclock");

		if (xml_attr(node, "name", text, sizeof(text)) && !strcmp(text, "kvmclock") &&
		    bit && xml_attr(node, "present", text, sizeof(text)))
			take_wish(g, bit, !strcmp(text, "no") ? WISH_OFF : WISH_ON);
	}
	return true;
}

/* One comma-separated part of an argument for QEMU: [+-]NAME, NAME=VALUE, TYPE.NAME=VALUE. */
static void take_property(struct guest *g, char *part)
{
	char *value = strchr(part, '='), *name = part, *dot;
	bool on = false, off = false;
	uint32_t bit;

	if (value)
		*value++ = '\0';
	if (*name == '+' || *name == '-') {
		on = *name == '+';
		off = !on;
		name++;
	} else if (value) {
		on = !strcmp(value, "on") || !strcmp(value, "true") || !strcmp(value, "yes");
		off = !strcmp(value, "off") || !strcmp(value, "false") || !strcmp(value, "no");
	} else {
		on = true;
	}
	dot = strrchr(name, '.');
	if (dot)
		name = dot + 1;
	if (!strcmp(name, "property") && value) { /* -global driver=D,property=P,value=V */
		g->unclear |= feature_bit(g->arch, value);
		return;
	}
	if (!strcmp(name, "cpu-pm") && on)
		g->mwait = true;
	if (!strcmp(name, "kvm-pv-enforce-cpuid") && on)
		g->enforce = true;
	if (!strcmp(name, "kvm") && off)
		g->hidden = true;
	bit = feature_bit(g->arch, name);
	if (bit && on)
		take_wish(g, bit, WISH_ON);
	else if (bit && off)
		take_wish(g, bit, WISH_OFF);
	else
		g->unclear |= bit;
}

static bool take_commandline(struct guest *g, const xmlNode *domain, struct problem *p)
{
	const xmlNode *line, *arg;
	bool cpu = false;

	for (line = domain->children; line && !xml_in(line, "commandline", QEMU_NS);
	     line = line->next)
		;
	for (arg = line ? line->children : NULL; arg; arg = arg->next) {
		char *text, *part, *rest;

		if (!xml_in(arg, "arg", QEMU_NS))
			continue;
		text = (char *)xmlGetNoNsProp((xmlNode *)arg, BAD_CAST "value");
		if (!text)
			return wrong(p, "<qemu:arg> without a value");
		if (cpu) { /* it takes the place of all that libvirt wrote itself */
			g->on = g->optional = g->off = g->asked = g->unclear = 0;
			g->mode = !strncmp(text, "host", 4) || !strncmp(text, "max", 3)
					  ? MODE_HOST
					  : MODE_CUSTOM;
		}
		cpu = !strcmp(text, "-cpu");
		for (part = strtok_r(text, ",", &rest); part; part = strtok_r(NULL, ",", &rest))
			take_property(g, part);
		xmlFree(text);
	}
	return true;
}

static bool take_domain(struct guest *g, const xmlNode *domain, struct problem *p)
{
	char text[NAME_ROOM], *end;

	if (!xml_text(xml_child(domain, "name"), g->name, sizeof(g->name)) || !is_name(g->name))
		return wrong(p, "a domain needs a <name> on one line");
	if (xml_text(xml_child(domain, "uuid"), g->uuid, sizeof(g->uuid)) &&
	    (strlen(g->uuid) != 36 || strspn(g->uuid, "0123456789abcdefABCDEF-") != 36))
		return wrong(p, "<uuid> is none");
	if (!xml_attr(xml_child(xml_child(domain, "os"), "type"), "arch", g->arch_name,
		      sizeof(g->arch_name)) ||
	    !is_name(g->arch_name))
		return wrong(p, "<os><type> does not name the architecture");
	if (!xml_attr(domain, "type", text, sizeof(text)))
		return wrong(p, "<domain> has no type");
	g->arch = arch_by_name(g->arch_name);
	g->kvm = !strcmp(text, "kvm");
	if (xml_text(xml_child(domain, "vcpu"), text, sizeof(text))) {
		g->vcpus = (unsigned int)strtoul(text, &end, 10);
		if (*end || !g->vcpus)
			return wrong(p, "<vcpu> is no number");
	}
	if (xml_text(xml_child(xml_child(domain, "devices"), "emulator"), g->emulator,
		     sizeof(g->emulator)) &&
	    !is_name(g->emulator))
		return wrong(p, "<emulator> is no path on one line");
	return take_cpu(g, domain, p) && take_elements(g, domain, p) &&
	       take_commandline(g, domain, p);
}

bool guest_from_xml(const char *text, size_t length, struct guest *guest, struct problem *p)
{
	xmlDoc *doc = xml_load(text, length, "domain", p);
	bool good;

	*guest = (struct guest){0};
	if (!doc)
		return false;
	good = take_domain(guest, xmlDocGetRootElement(doc), p);
	xmlFreeDoc(doc);
	return good;
}

struct offer guest_live(const struct guest *guest, const struct host *source)
{
	uint32_t all = all_features(guest->arch), rest, may, sure;
	struct offer live = {0}, offered = {0};

	if (!guest->kvm || guest->hidden) {
		live.no = all;
		return live;
	}
	live.yes = guest->seen.yes;
	live.no = guest->seen.no;
	rest = all & ~(live.yes | live.no | guest->unclear);
	live.yes |= rest & (guest->on | guest->optional);
	live.no |= rest & guest->off;
	rest &= ~(live.yes | live.no);

	/* What nobody named: QEMU's defaults, and what "host" brings with it, if the source offers
	 * it. */
	sure = default_features(guest->arch);
	if (guest->mode == MODE_HOST || guest->mode == MODE_MAXIMUM)
		sure |= host_cpu_features(guest->arch);
	may = sure;
	if (guest->mode == MODE_HOST_MODEL) /* not expanded in this XML */
		may |= host_cpu_features(guest->arch);
	live.no |= rest & ~may;
	if (source)
		offered = host_offer(source);
	live.yes |= rest & sure & offered.yes;
	live.no |= rest & may & offered.no;
	return live;
}

struct say {
	void (*say)(void *data, const char *text);
	void *data;
};

static void __attribute__((format(printf, 2, 3))) tell(const struct say *to, const char *fmt, ...)
{
	char text[TEXT_ROOM * 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	to->say(to->data, text);
}

void guest_contradictions(const struct guest *g, void (*say)(void *data, const char *text),
			  void *data)
{
	const struct say to = {say, data};
	const struct arch_table *t = &arch_tables[g->arch < ARCHS ? g->arch : 0];
	uint32_t wanted = g->on | g->optional;
	unsigned int i;

	if (g->arch >= ARCHS)
		return;
#define HAS(set, name) ((set) & feature_bit(g->arch, name))
	for (i = 0; i < t->n; i++) {
		const char *name = t->features[i].name;
		uint32_t bit = UINT32_C(1) << i;

		if (!(wanted & bit)) {
			if (g->off & bit && g->arch == ARCH_X86 && g->kvm && !g->enforce &&
			    t->features[i].probe == PROBE_CPUID)
				tell(&to,
				     "%s is off, but only as advice: without "
				     "kvm-pv-enforce-cpuid=on KVM lets "
				     "a guest use it all the same",
				     name);
			continue;
		}
		if (!g->kvm)
			tell(&to, "%s is requested, but the guest does not run on KVM", name);
		else if (g->hidden)
			tell(&to, "%s is requested, but the guest is not told that it runs on KVM",
			     name);
	}
	/* pv_tlb_flush_supported(), pv_sched_yield_supported(), pv_ipi_supported() in Linux,
	 * arch/x86/kernel/kvm.c */
	for (i = 0; g->arch == ARCH_X86 && i < 3; i++) {
		static const char *const names[] = {"kvm-pv-tlb-flush", "kvm-pv-sched-yield",
						    "kvm-pv-ipi"};

		if (!HAS(wanted, names[i]))
			continue;
		if (g->vcpus == 1)
			tell(&to, "%s is requested, but a guest with one vCPU does not use it",
			     names[i]);
		if (i == 2)
			break;
		if (HAS(wanted, "kvm-hint-dedicated"))
			tell(&to,
			     "%s is requested, but so is kvm-hint-dedicated: Linux guests then do "
			     "not use it",
			     names[i]);
		if (g->mwait)
			tell(&to,
			     "%s is requested, but the guest sees MWAIT: Linux guests then do not "
			     "use it",
			     names[i]);
		if (HAS(g->off, "kvm-steal-time"))
			tell(&to, "%s is requested, but kvm-steal-time, which it needs, is off",
			     names[i]);
	}
	if (g->arch == ARCH_LOONGARCH && HAS(wanted, "kvm-pv-tlb-flush")) {
		if (HAS(g->off, "kvm-steal-time"))
			tell(&to, "kvm-pv-tlb-flush is requested, but kvm-steal-time, which it "
				  "needs, is off");
		if (!HAS(wanted, "kvm-pv-preempt"))
			tell(&to, "kvm-pv-tlb-flush is requested, but kvm-pv-preempt, which it "
				  "needs, is not");
	}
#undef HAS
}
