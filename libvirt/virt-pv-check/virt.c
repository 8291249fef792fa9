// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asks libvirt.
 */
#include "io.h"

#include <libvirt/libvirt-qemu.h>
#include <libvirt/virterror.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QEMU_TIMEOUT_S 30.0
#define AGENT_TIMEOUT_S 5
#define AGENT_POLLS 20

static bool libvirt_says(struct problem *p, const char *what)
{
	const virError *error = virGetLastError();

	return wrong(p, "%.200s: %.280s", what,
		     error && error->message ? error->message : "unknown error");
}

static void quiet(void *data, virErrorPtr error)
{
	(void)data;
	(void)error;
}

virConnectPtr virt_open(const char *uri, struct problem *p)
{
	virConnectPtr conn;
	const char *type;

	virSetErrorFunc(NULL, quiet);
	conn = virConnectOpen(uri); /* domain capabilities are not for the read-only socket */
	if (!conn) {
		libvirt_says(p, uri ? uri : "libvirt");
		return NULL;
	}
	type = virConnectGetType(conn);
	if (!type || strcmp(type, "QEMU") != 0) {
		wrong(p, "%s: its driver is %s, not QEMU", uri ? uri : "libvirt",
		      type ? type : "unknown");
		virConnectClose(conn);
		return NULL;
	}
	return conn;
}

static bool is_local(virConnectPtr conn)
{
	char *uri = virConnectGetURI(conn);
	const char *server = uri ? strstr(uri, "://") : NULL;
	bool local = server && server[3] == '/';

	free(uri);
	return local;
}

/* True when libvirt compares the host's CPU with one that has @feature (NULL: none), whatever the
 * result is. */
static bool compares(virConnectPtr conn, const char *feature)
{
	char xml[256] = "<cpu mode='custom' match='minimum'><model>qemu64</model></cpu>";

	if (feature)
		snprintf(xml, sizeof(xml),
			 "<cpu mode='custom' match='minimum'><model>qemu64</model>"
			 "<feature policy='require' name='%.64s'/></cpu>",
			 feature);
	return virConnectCompareCPU(conn, xml, 0) != VIR_CPU_COMPARE_ERROR;
}

/* Whether libvirt knows the names: it refuses to compare CPUs that have a feature which it does not
 * know. */
static void ask_names(virConnectPtr conn, struct host *host)
{
	const struct arch_table *t = &arch_tables[host->arch];
	struct offer *offer = &host->offer[PART_LIBVIRT];
	unsigned int i;

	if (t->any_name) {
		offer->yes = all_features(host->arch);
		return;
	}
	if (!compares(conn, NULL) || compares(conn, "virt-pv-check-no-such-feature")) {
		snprintf(host->why[PART_LIBVIRT], TEXT_ROOM,
			 "its comparison of CPUs does not tell");
		return;
	}
	for (i = 0; i < t->n; i++) {
		const struct feature *f = &t->features[i];

		if (compares(conn, f->libvirt_name ? f->libvirt_name : f->name))
			offer->yes |= UINT32_C(1) << i;
		else if (!(offer->yes >> i & 1))
			offer->no |= UINT32_C(1) << i;
	}
}

static void put_version(char *out, unsigned long version)
{
	snprintf(out, TEXT_ROOM, "%lu.%lu.%lu", version / 1000000, version / 1000 % 1000,
		 version % 1000);
}

bool virt_host(virConnectPtr conn, const char *emulator, struct host *host, struct problem *p)
{
	char *caps = virConnectGetDomainCapabilities(conn, emulator, NULL, NULL, NULL, 0);
	char *name = caps ? virConnectGetHostname(conn) : NULL;
	unsigned long version;
	bool good;

	if (!caps || !name) {
		libvirt_says(p, caps ? "host name" : "domain capabilities");
		free(caps);
		free(name);
		return false;
	}
	put_clean(host->name, sizeof(host->name), name);
	good = host_from_capabilities(caps, strlen(caps), host, p);
	free(caps);
	free(name);
	if (!good)
		return false;
	if (!virConnectGetLibVersion(conn, &version))
		put_version(host->about[PART_LIBVIRT], version);
	if (!virConnectGetVersion(conn, &version))
		put_version(host->about[PART_QEMU], version);
	ask_names(conn, host);
	if (is_local(conn)) {
		ask_kernel(host);
		ask_qemu(host, emulator ? emulator : host->emulator, QEMU_TIMEOUT_S);
	} else {
		snprintf(host->why[PART_KERNEL], TEXT_ROOM,
			 "libvirt does not tell, and the host is another one");
		snprintf(host->why[PART_QEMU], TEXT_ROOM,
			 "libvirt does not tell, and the host is another one");
	}
	return true;
}

int any_host(const char *where, const char *emulator, struct host *host, struct problem *p)
{
	virConnectPtr conn;
	bool good;

	if (!is_uri(where))
		return load_host(where, host, p) ? EXIT_ALLOWED : EXIT_BAD_INPUT;
	conn = virt_open(where, p);
	if (!conn)
		return EXIT_UNKNOWN;
	good = virt_host(conn, emulator, host, p);
	virConnectClose(conn);
	return good ? EXIT_ALLOWED : EXIT_UNKNOWN;
}

/* What the running QEMU has given to the first vCPU. */
static void ask_monitor(virDomainPtr domain, struct virt_guest *found)
{
	const struct arch_table *t = &arch_tables[found->guest.arch];
	char path[NAME_ROOM] = "", question[NAME_ROOM * 2], *text = NULL;
	struct problem p;
	unsigned int i;

	if (virDomainQemuMonitorCommand(domain, "{\"execute\":\"query-cpus-fast\"}", &text, 0) < 0)
		libvirt_says(&p, "monitor");
	else if (monitor_cpu_path(text, strlen(text), path, sizeof(path), &p))
		p.text[0] = '\0';
	free(text);
	snprintf(found->no_monitor, sizeof(found->no_monitor), "%.200s", p.text);
	for (i = 0; !p.text[0] && i < t->n; i++) {
		int answer = -1;

		snprintf(question, sizeof(question),
			 "{\"execute\":\"qom-get\",\"arguments\":{\"path\":\"%s\",\"property\":\"%"
			 "s\"}}",
			 path, t->features[i].name);
		text = NULL;
		if (virDomainQemuMonitorCommand(domain, question, &text, 0) == 0)
			answer = monitor_bool(text, strlen(text));
		free(text);
		/* "auto" reads as true on LoongArch, whatever became of it */
		if (answer == 1 && !(t->any_name && t->features[i].by_default))
			found->guest.seen.yes |= UINT32_C(1) << i;
		else if (answer == 0)
			found->guest.seen.no |= UINT32_C(1) << i;
	}
}

static void ask_agent(virDomainPtr domain, struct virt_guest *found)
{
	char question[128], *text, *log = NULL;
	bool done = false;
	struct problem p;
	long long pid;
	int i;

	snprintf(found->no_agent, sizeof(found->no_agent), "no answer");
	text = virDomainQemuAgentCommand(
		domain,
		"{\"execute\":\"guest-exec\",\"arguments\":{\"path\":\"dmesg\","
		"\"capture-output\":true}}",
		AGENT_TIMEOUT_S, 0);
	if (!text) {
		libvirt_says(&p, "guest agent");
	} else if (agent_pid(text, strlen(text), &pid, &p)) {
		free(text);
		snprintf(question, sizeof(question),
			 "{\"execute\":\"guest-exec-status\",\"arguments\":{\"pid\":%lld}}", pid);
		for (i = 0; i < AGENT_POLLS && !done; i++) {
			const struct timespec pause = {.tv_nsec = 100000000};

			text = virDomainQemuAgentCommand(domain, question, AGENT_TIMEOUT_S, 0);
			if (!text)
				libvirt_says(&p, "guest agent");
			if (!text || !agent_output(text, strlen(text), &done, &log, &p))
				break;
			free(text);
			text = NULL;
			if (!done)
				nanosleep(&pause, NULL);
		}
		if (!done && i == AGENT_POLLS)
			wrong(&p, "guest agent: dmesg did not end");
	}
	free(text);
	if (log)
		found->active = active_by_log(found->guest.arch, log);
	else
		snprintf(found->no_agent, sizeof(found->no_agent), "%.200s", p.text);
	free(log);
}

bool virt_domain(virConnectPtr conn, const char *name, bool monitor, bool agent,
		 struct virt_guest *found, struct problem *p)
{
	virDomainPtr domain = virDomainLookupByName(conn, name);
	char *xml = domain ? virDomainGetXMLDesc(domain, 0) : NULL;
	bool good = false;

	*found = (struct virt_guest){0};
	if (!xml) {
		libvirt_says(p, name);
	} else {
		good = guest_from_xml(xml, strlen(xml), &found->guest, p);
		found->running = virDomainIsActive(domain) == 1;
		snprintf(found->no_agent, sizeof(found->no_agent), "%s",
			 found->running ? "not asked (--agent)" : "it does not run");
		if (good && found->running && found->guest.arch < ARCHS) {
			if (monitor)
				ask_monitor(domain, found);
			if (agent)
				ask_agent(domain, found);
		}
	}
	free(xml);
	if (domain)
		virDomainFree(domain);
	return good;
}
