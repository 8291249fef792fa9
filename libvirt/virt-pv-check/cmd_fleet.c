// SPDX-License-Identifier: GPL-2.0-only
/*
 * virt-pv-check fleet: what every host offers, what each has beyond or lacks, and who keeps the
 * level down.
 */
#include "io.h"
#include "pv.h"

#include <stdlib.h>
#include <string.h>

/* Which hosts keep @bit out of the level, and which part of them does. */
static json_t *blockers(const struct host *hosts, size_t n, enum arch arch, uint32_t bit)
{
	json_t *list = json_array();
	unsigned int part;
	size_t i;

	for (i = 0; i < n; i++) {
		if (hosts[i].arch != arch)
			continue;
		for (part = PART_KERNEL; part <= PART_QEMU; part++) {
			const struct offer *offer = &hosts[i].offer[part];

			if (offer->yes & bit)
				continue;
			json_array_append_new(
				list, json_pack("{s:s, s:s, s:s, s:s}", "host", hosts[i].name,
						"part", part_names[part], "state",
						offer->no & bit ? "no" : "unknown", "why",
						offer->no & bit ? hosts[i].about[part]
								: hosts[i].why[part]));
		}
	}
	return list;
}

static json_t *fleet_json(const struct host *hosts, const struct host_rules *rules, size_t n,
			  enum arch arch, const struct fleet *fleet)
{
	json_t *json, *list = json_array(), *plan = json_array();
	char *cpu = NULL;
	size_t length, i;
	unsigned int f;
	FILE *out;

	for (i = 0; i < n; i++) {
		struct offer offer = host_offer(&hosts[i]);

		if (hosts[i].arch != arch)
			continue;
		json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "host", hosts[i].name,
				  "surplus", features_to_json(arch, offer.yes & ~fleet->level),
				  "deficit",
				  features_to_json(arch, (fleet->any | fleet->wanted) & offer.no),
				  "unknown",
				  features_to_json(arch,
						   all_features(arch) & ~(offer.yes | offer.no)),
				  "violates",
				  features_to_json(arch, (rules[i].require | rules[i].level) &
								 ~rules[i].ignore & ~offer.yes),
				  "expired", features_to_json(arch, rules[i].expired)));
	}
	for (f = 0; f < arch_tables[arch].n; f++) {
		uint32_t bit = UINT32_C(1) << f;

		if ((fleet->any | fleet->wanted) & ~fleet->level & bit)
			json_array_append_new(plan, json_pack("{s:s, s:o}", "feature",
							      arch_tables[arch].features[f].name,
							      "blocked_by",
							      blockers(hosts, n, arch, bit)));
	}
	out = open_memstream(&cpu, &length);
	if (!out)
		pv_die(EXIT_TROUBLE, "out of memory");
	put_fleet_cpu(out, fleet);
	fclose(out);
	json = json_pack("{s:s, s:i, s:o, s:o, s:o, s:s}", "arch", arch_tables[arch].name, "hosts",
			 (int)fleet->n, "level", features_to_json(arch, fleet->level), "by_host",
			 list, "plan", plan, "cpu", cpu);
	free(cpu);
	return json;
}

static void put_set(const char *title, json_t *list)
{
	json_t *item;
	size_t i;

	if (!json_array_size(list))
		return;
	printf("    %-10s", title);
	json_array_foreach(list, i, item)
	{
		printf("%s%s", i ? ", " : "", json_string_value(item));
	}
	putchar('\n');
}

static void put_table(json_t *json, bool plan)
{
	static const char *const sets[] = {"surplus", "deficit", "unknown", "violates", "expired"};
	json_t *item, *blocker;
	const char *comma = "";
	size_t i, k;

	printf("%s, %lld hosts: level ", json_string_value(json_object_get(json, "arch")),
	       (long long)json_integer_value(json_object_get(json, "hosts")));
	json_array_foreach(json_object_get(json, "level"), i, item)
	{
		printf("%s%s", comma, json_string_value(item));
		comma = ", ";
	}
	printf("%s\n", *comma ? "" : "none");
	json_array_foreach(json_object_get(json, "by_host"), i, item)
	{
		printf("  %s\n", json_string_value(json_object_get(item, "host")));
		for (k = 0; k < sizeof(sets) / sizeof(*sets); k++)
			put_set(sets[k], json_object_get(item, sets[k]));
	}
	printf("CPU of guests that must run anywhere:\n%s",
	       json_string_value(json_object_get(json, "cpu")));
	if (!plan)
		return;
	printf("To raise the level:\n");
	json_array_foreach(json_object_get(json, "plan"), i, item)
	{
		printf("  %s\n", json_string_value(json_object_get(item, "feature")));
		json_array_foreach(json_object_get(item, "blocked_by"), k, blocker)
		{
			printf("    %s: %s: %s (%s)\n",
			       json_string_value(json_object_get(blocker, "host")),
			       json_string_value(json_object_get(blocker, "part")),
			       json_string_value(json_object_get(blocker, "state")),
			       json_string_value(json_object_get(blocker, "why")));
		}
	}
	if (!json_array_size(json_object_get(json, "plan")))
		printf("  nothing: no host offers more\n");
}

int cmd_fleet(const struct options *o, int argc, char **argv)
{
	struct host *hosts = calloc((size_t)argc + 1, sizeof(*hosts));
	struct host_rules *rules = calloc((size_t)argc + 1, sizeof(*rules));
	json_t *all = json_array(), *item;
	struct policy *policy = NULL;
	int code = EXIT_ALLOWED, i;
	size_t n = 0, k;
	struct problem p;
	unsigned int arch;

	if (!hosts || !rules)
		pv_die(EXIT_TROUBLE, "out of memory");
	if (argc < 1)
		pv_die(EXIT_USAGE, "fleet: needs hosts");
	if (o->policy) {
		policy = load_policy(o->policy, &p);
		if (!policy)
			pv_die(EXIT_BAD_INPUT, "%s", p.text);
	}
	for (i = 0; i < argc; i++) {
		int failed = any_host(argv[i], o->emulator, &hosts[n], &p);

		if (failed) {
			pv_warn("%s", p.text);
			code = failed > code ? failed : code;
			continue;
		}
		rules[n] = policy_for(policy, hosts[n].name, hosts[n].arch, today());
		n++;
	}
	for (k = 0; k < n; k++) {
		struct offer offer = host_offer(&hosts[k]);
		uint32_t wanted = (rules[k].require | rules[k].level) & ~rules[k].ignore;

		if (wanted & offer.no && code < EXIT_REFUSED)
			code = EXIT_REFUSED;
		if (code < EXIT_UNKNOWN &&
		    (policy ? wanted
			    : default_features(hosts[k].arch) | host_cpu_features(hosts[k].arch)) &
			    ~(offer.yes | offer.no))
			code = EXIT_UNKNOWN;
	}
	for (arch = 0; arch < ARCHS; arch++) {
		struct fleet fleet = fleet_of(hosts, rules, n, arch);

		if (fleet.n)
			json_array_append_new(all, fleet_json(hosts, rules, n, arch, &fleet));
	}
	if (o->json) {
		json_dumpf(all, stdout, JSON_INDENT(1));
		putchar('\n');
	} else {
		json_array_foreach(all, k, item)
		{
			put_table(item, o->plan);
		}
	}
	json_decref(all);
	policy_free(policy);
	free(hosts);
	free(rules);
	return code;
}
