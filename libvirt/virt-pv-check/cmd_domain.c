// SPDX-License-Identifier: GPL-2.0-only
/*
 * virt-pv-check domain: requested, offered, active; and what contradicts what.
 */
#include "io.h"
#include "pv.h"

#include <stdlib.h>
#include <string.h>

static const char *requested(const struct guest *g, uint32_t bit)
{
	if (g->unclear & bit)
		return "unclear";
	if (g->optional & bit)
		return "optional";
	if (g->on & bit)
		return "yes";
	if (g->off & bit)
		return "no";
	if ((g->mode == MODE_HOST || g->mode == MODE_MAXIMUM || g->mode == MODE_HOST_MODEL) &&
	    host_cpu_features(g->arch) & bit)
		return "by mode";
	return default_features(g->arch) & bit ? "default" : "no";
}

static const char *word(struct offer offer, uint32_t bit)
{
	return offer.yes & bit ? "yes" : offer.no & bit ? "no" : "unknown";
}

/* Why requested, offered and active are not the same. */
static void put_why(char *out, size_t room, const struct virt_guest *found, const struct host *host,
		    uint32_t bit, const char *active)
{
	const struct guest *g = &found->guest;
	bool same = g->arch == host->arch;
	struct offer offer = same ? host_offer(host) : (struct offer){0};
	struct offer live = guest_live(g, same ? host : NULL);

	out[0] = '\0';
	if ((g->on | g->optional) & g->seen.no & bit)
		snprintf(out, room, "requested, but the running QEMU has it off");
	else if (live.yes & bit && offer.no & bit)
		snprintf(out, room, "requested, but this host does not offer it");
	else if (live.no & bit && !(g->off & bit) && offer.yes & bit)
		snprintf(out, room,
			 g->kvm ? g->hidden ? "the guest is not told that it runs on KVM"
					    : "nothing asks for it"
				: "the guest does not run on KVM");
	else if (!strcmp(active, "unknown"))
		snprintf(out, room, "%s",
			 found->active.yes | found->active.no ? "the guest's log does not say"
							      : found->no_agent);
	else if (!found->running)
		snprintf(out, room, "it does not run");
	else if (live.yes & bit && !strcmp(active, "no"))
		snprintf(out, room, "the guest's kernel did not take it up");
}

struct contradictions {
	json_t *list;
};

static void keep(void *data, const char *text)
{
	struct contradictions *c = data;

	json_array_append_new(c->list, json_string(text));
}

int cmd_domain(const struct options *o, int argc, char **argv)
{
	struct contradictions c = {json_array()};
	json_t *list = json_array(), *item;
	const struct arch_table *t;
	struct virt_guest found;
	struct host host = {0};
	struct problem p;
	virConnectPtr conn;
	struct offer offer;
	unsigned int i;
	size_t n;

	if (argc != 1)
		pv_die(EXIT_USAGE, "domain: needs the name of one domain");
	conn = virt_open(o->uri, &p);
	if (!conn)
		pv_die(EXIT_TROUBLE, "%s", p.text);
	if (o->monitor)
		pv_warn("--monitor: libvirt marks %s as tainted (custom-monitor) from now on",
			argv[0]);
	if (!virt_domain(conn, argv[0], o->monitor, o->agent, &found, &p) ||
	    !virt_host(conn, found.guest.emulator[0] ? found.guest.emulator : NULL, &host, &p))
		pv_die(EXIT_TROUBLE, "%s", p.text);
	virConnectClose(conn);
	if (found.guest.arch >= ARCHS)
		pv_die(EXIT_UNKNOWN, "%s: architecture %s is not known to this program", argv[0],
		       found.guest.arch_name);
	if (o->monitor && found.no_monitor[0])
		pv_warn("%s", found.no_monitor);
	guest_contradictions(&found.guest, keep, &c);
	t = &arch_tables[found.guest.arch];
	offer = found.guest.arch == host.arch ? host_offer(&host) : (struct offer){0};
	for (i = 0; i < t->n; i++) {
		uint32_t bit = UINT32_C(1) << i;
		struct offer live =
			guest_live(&found.guest, found.guest.arch == host.arch ? &host : NULL);
		/* what its vCPUs do not have is not active */
		const char *active =
			!found.running || live.no & bit ? "no" : word(found.active, bit);
		char why[TEXT_ROOM];

		put_why(why, sizeof(why), &found, &host, bit, active);
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "feature",
						      t->features[i].name, "requested",
						      requested(&found.guest, bit), "offered",
						      word(offer, bit), "may_use", word(live, bit),
						      "active", active, "why", why));
	}
	if (o->json) {
		json_t *json = json_pack("{s:s, s:s, s:b, s:s, s:o, s:O}", "domain",
					 found.guest.name, "host", host.name, "running",
					 found.running, "cpu_mode", mode_names[found.guest.mode],
					 "features", list, "contradictions", c.list);

		json_dumpf(json, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(json);
	} else {
		printf("domain %s, %s, %s, CPU mode %s, on %s\n\n", found.guest.name,
		       found.guest.arch_name, found.running ? "running" : "not running",
		       mode_names[found.guest.mode], host.name);
		printf("%-22s %-10s %-8s %-8s %-8s %s\n", "FEATURE", "REQUESTED", "OFFERED",
		       "MAY USE", "ACTIVE", "WHY");
		json_array_foreach(list, n, item)
		{
			const char *feature, *req, *off, *may, *active, *why;

			json_unpack(item, "{s:s, s:s, s:s, s:s, s:s, s:s}", "feature", &feature,
				    "requested", &req, "offered", &off, "may_use", &may, "active",
				    &active, "why", &why);
			printf("%-22s %-10s %-8s %-8s %-8s %s\n", feature, req, off, may, active,
			       why);
		}
		json_decref(list);
		json_array_foreach(c.list, n, item)
		{
			printf("%scontradiction: %s\n", n ? "" : "\n", json_string_value(item));
		}
	}
	n = json_array_size(c.list);
	json_decref(c.list);
	return n ? EXIT_REFUSED : EXIT_ALLOWED;
}
