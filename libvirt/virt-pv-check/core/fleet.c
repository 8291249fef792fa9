// SPDX-License-Identifier: GPL-2.0-only
/*
 * The level of a fleet: what every host of an architecture offers.
 */
#include "check.h"

struct fleet fleet_of(const struct host *hosts, const struct host_rules *rules, size_t n,
		      enum arch arch)
{
	struct fleet fleet = {
		.arch = arch, .level = all_features(arch), .named = all_features(arch)};
	size_t i;

	for (i = 0; i < n; i++) {
		struct offer offer = host_offer(&hosts[i]);

		if (hosts[i].arch != arch)
			continue;
		fleet.n++;
		fleet.level &= offer.yes;
		fleet.any |= offer.yes;
		fleet.named &= hosts[i].offer[PART_LIBVIRT].yes;
		fleet.wanted |= rules[i].require | rules[i].level;
	}
	if (!fleet.n)
		fleet.level = fleet.named = 0;
	return fleet;
}

void put_fleet_cpu(FILE *out, const struct fleet *fleet)
{
	const struct arch_table *t = &arch_tables[fleet->arch];
	uint32_t hints = 0, on, off;
	unsigned int i;

	for (i = 0; i < t->n; i++) {
		if (t->features[i].probe == PROBE_QEMU)
			hints |= UINT32_C(1) << i;
	}
	on = fleet->level & ~hints;
	/* what QEMU would set by itself, on some hosts only */
	off = default_features(fleet->arch) & ~fleet->level;
	fprintf(out, "<cpu mode='custom' match='exact'>\n  <!-- <model>: one that all these hosts "
		     "have -->\n");
	for (i = 0; i < t->n; i++) {
		uint32_t bit = UINT32_C(1) << i;
		const char *name = t->features[i].libvirt_name ? t->features[i].libvirt_name
							       : t->features[i].name;

		if (!((on | off) & bit))
			continue;
		if (fleet->named & bit)
			fprintf(out, "  <feature policy='%s' name='%s'/>\n",
				on & bit ? "require" : "disable", name);
		else if (!(on & bit))
			fprintf(out,
				"  <!-- %s should be disabled, but not every libvirt knows the "
				"name -->\n",
				name);
		else if (default_features(fleet->arch) & bit)
			fprintf(out, "  <!-- %s: on by itself -->\n", name);
		else
			fprintf(out,
				"  <!-- %s: all offer it, but not every libvirt knows the name "
				"-->\n",
				name);
	}
	fprintf(out, "</cpu>\n");
}
