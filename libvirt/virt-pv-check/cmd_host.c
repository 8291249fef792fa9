// SPDX-License-Identifier: GPL-2.0-only
/*
 * virt-pv-check host: what this host, or that of a URI, offers, and why not.
 */
#include "io.h"
#include "pv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define QEMU_TIMEOUT_S 30.0

/* Without a libvirt: the kernel, and the QEMU that there is. */
static void ask_without_libvirt(const char *emulator, struct host *host, const char *why)
{
	const char *const places[] = {"/usr/bin/qemu-system-", "/usr/libexec/qemu-kvm",
				      "/usr/bin/qemu-kvm"};
	char name[NAME_ROOM] = "localhost", path[NAME_ROOM];
	struct utsname uts;
	enum arch arch;
	size_t i;

	gethostname(name, sizeof(name) - 1);
	arch = uname(&uts) ? ARCHS : arch_by_name(uts.machine);
	if (arch == ARCHS)
		pv_die(EXIT_TROUBLE, "this machine is none of x86_64, loongarch64, aarch64");
	host_init(host, name, arch);
	snprintf(host->why[PART_LIBVIRT], TEXT_ROOM, "%.200s", why);
	ask_kernel(host);
	for (i = 0; !emulator && i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s%s", places[i], i ? "" : arch_tables[arch].name);
		if (!access(path, X_OK))
			emulator = path;
	}
	if (emulator)
		ask_qemu(host, emulator, QEMU_TIMEOUT_S);
	else
		snprintf(host->why[PART_QEMU], TEXT_ROOM, "no QEMU found");
}

static const char *word(const struct offer *offer, uint32_t bit)
{
	return offer->yes & bit ? "yes" : offer->no & bit ? "no" : "unknown";
}

static void put_table(const struct host *host, const struct host_rules *rules)
{
	const struct arch_table *t = &arch_tables[host->arch];
	unsigned int i, part;

	printf("host %s, %s\n", host->name, t->name);
	for (part = 0; part < PARTS; part++) {
		bool unknown =
			all_features(host->arch) & ~(host->offer[part].yes | host->offer[part].no);

		printf("  %-8s %s%s%s%s%s\n", part_names[part],
		       host->about[part][0] ? host->about[part] : "version not known",
		       part == PART_QEMU && host->emulator[0] ? ", " : "",
		       part == PART_QEMU ? host->emulator : "", unknown ? "; unknown: " : "",
		       unknown ? host->why[part] : "");
	}
	printf("\n%-22s %-8s %-8s %-8s %s\n", "FEATURE", "KERNEL", "QEMU", "LIBVIRT", "WHY NOT");
	for (i = 0; i < t->n; i++) {
		uint32_t bit = UINT32_C(1) << i;
		const char *comma = "";

		printf("%-22s %-8s %-8s %-8s", t->features[i].name,
		       word(&host->offer[PART_KERNEL], bit), word(&host->offer[PART_QEMU], bit),
		       word(&host->offer[PART_LIBVIRT], bit));
		if (host->offer[PART_KERNEL].no & bit) {
			printf(" kernel: no %s", t->features[i].bit);
			comma = ";";
		}
		if (host->offer[PART_QEMU].no & bit) {
			printf("%s QEMU: it has no such property, or will not set it", comma);
			comma = ";";
		}
		if (host->offer[PART_LIBVIRT].no & bit) {
			printf("%s libvirt: the name is not for CPU XML", comma);
			comma = ";";
		}
		if (rules->require & ~rules->ignore & bit && !(host_offer(host).yes & bit))
			printf("%s the policy requires it", comma);
		putchar('\n');
	}
	if (rules->expired) {
		printf("\nexceptions that are over: ");
		put_features(stdout, host->arch, rules->expired);
		putchar('\n');
	}
}

int cmd_host(const struct options *o, int argc, char **argv)
{
	struct policy *policy = NULL;
	struct host_rules rules;
	struct host host = {0};
	uint32_t unknown = 0, asked;
	struct problem p;
	virConnectPtr conn;
	unsigned int part;
	int code;

	if (argc)
		pv_die(EXIT_USAGE, "host: \"%s\": it takes no operands", argv[0]);
	if (o->policy) {
		policy = load_policy(o->policy, &p);
		if (!policy)
			pv_die(EXIT_BAD_INPUT, "%s", p.text);
	}
	conn = virt_open(o->uri, &p);
	if (!conn && o->uri)
		pv_die(EXIT_TROUBLE, "%s", p.text);
	if (!conn || !virt_host(conn, o->emulator, &host, &p)) {
		if (conn)
			pv_die(EXIT_TROUBLE, "%s", p.text);
		pv_warn("%s", p.text);
		ask_without_libvirt(o->emulator, &host, p.text);
	}
	if (conn)
		virConnectClose(conn);
	rules = policy_for(policy, host.name, host.arch, today());
	policy_free(policy);
	if (o->json) {
		json_t *json = host_to_json(&host);

		json_dumpf(json, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(json);
	} else {
		put_table(&host, &rules);
	}
	/* what nothing brings along, and no policy asks for, may stay unknown */
	asked = (default_features(host.arch) | host_cpu_features(host.arch) | rules.require) &
		~rules.ignore;
	for (part = 0; part < PARTS; part++)
		unknown |= asked & ~(host.offer[part].yes | host.offer[part].no);
	code = unknown ? EXIT_UNKNOWN : EXIT_ALLOWED;
	if (rules.require & ~rules.ignore & host_offer(&host).no)
		code = EXIT_REFUSED;
	return code;
}
