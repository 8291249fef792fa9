// SPDX-License-Identifier: GPL-2.0-only
/*
 * A host: what its kernel, its QEMU and its libvirt offer.
 */
#include "xml.h"

#include <string.h>

#define FORMAT "virt-pv-check host"

void host_init(struct host *host, const char *name, enum arch arch)
{
	unsigned int part;

	*host = (struct host){.arch = arch};
	put_clean(host->name, sizeof(host->name), name);
	for (part = 0; part < PARTS; part++)
		strcpy(host->why[part], "it was not asked");
}

struct offer host_offer(const struct host *host)
{
	const struct offer *k = &host->offer[PART_KERNEL], *q = &host->offer[PART_QEMU];

	return (struct offer){.yes = k->yes & q->yes, .no = k->no | q->no};
}

static bool take_set(const struct host *host, json_t *list, const char *where, uint32_t *set,
		     struct problem *p)
{
	const char *name;
	uint32_t bit;
	size_t i;

	if (list && !json_is_array(list))
		return wrong(p, "%s: not a list of features", where);
	for (i = 0; i < json_array_size(list); i++) {
		name = json_string_value(json_array_get(list, i));
		bit = name ? feature_bit(host->arch, name) : 0;
		if (!bit)
			return wrong(p, "%s: \"%.64s\" is no feature of %s that this version knows",
				     where, name ? name : "?", arch_tables[host->arch].name);
		*set |= bit;
	}
	return true;
}

/* A text of one line into @out; absent is "". */
static bool take_text(json_t *object, const char *key, char *out, size_t room, struct problem *p)
{
	json_t *value = json_object_get(object, key);
	const char *text = json_string_value(value);

	out[0] = '\0';
	if (!value)
		return true;
	if (!text || (*text && !is_name(text)) || strlen(text) >= room)
		return wrong(p, "%s: not a text on one line", key);
	memcpy(out, text, strlen(text) + 1);
	return true;
}

static bool take_part(struct host *host, unsigned int part, json_t *json, struct problem *p)
{
	static const char *const keys[] = {"version", "yes", "no", "unknown", "emulator", NULL};
	const char *name = part_names[part];
	struct offer *offer = &host->offer[part];
	char where[32];

	if (!json)
		return true;
	if (!json_is_object(json))
		return wrong(p, "%s: not an object", name);
	if (!only_keys(json, name, keys, p) ||
	    !take_text(json, "version", host->about[part], sizeof(host->about[part]), p) ||
	    !take_text(json, "unknown", host->why[part], sizeof(host->why[part]), p))
		return false;
	if (part == PART_QEMU &&
	    !take_text(json, "emulator", host->emulator, sizeof(host->emulator), p))
		return false;
	if (part != PART_QEMU && json_object_get(json, "emulator"))
		return wrong(p, "%s: unknown key \"emulator\"", name);
	snprintf(where, sizeof(where), "%s.yes", name);
	if (!take_set(host, json_object_get(json, "yes"), where, &offer->yes, p))
		return false;
	snprintf(where, sizeof(where), "%s.no", name);
	if (!take_set(host, json_object_get(json, "no"), where, &offer->no, p))
		return false;
	if (offer->yes & offer->no)
		return wrong(p, "%s: a feature in both yes and no", name);
	if (!host->why[part][0])
		strcpy(host->why[part], "the file does not say");
	return true;
}

static bool take_host(struct host *host, json_t *json, struct problem *p)
{
	static const char *const keys[] = {"format", "version", "host",	   "arch",
					   "kernel", "qemu",	"libvirt", NULL};
	const char *format = json_string_value(json_object_get(json, "format"));
	const char *name = json_string_value(json_object_get(json, "host"));
	const char *arch = json_string_value(json_object_get(json, "arch"));
	unsigned int part;

	if (!format || strcmp(format, FORMAT) != 0)
		return wrong(p, "not a saved host: format is not \"" FORMAT "\"");
	if (json_integer_value(json_object_get(json, "version")) != 1)
		return wrong(p, "version is not 1, the only one known");
	if (!only_keys(json, "host", keys, p))
		return false;
	if (!name || !is_name(name))
		return wrong(p, "host: not a name on one line");
	if (!arch || arch_by_name(arch) == ARCHS ||
	    strcmp(arch, arch_tables[arch_by_name(arch)].name) != 0)
		return wrong(p, "arch: none of x86_64, loongarch64, aarch64");
	host_init(host, name, arch_by_name(arch));
	for (part = 0; part < PARTS; part++) {
		if (!take_part(host, part, json_object_get(json, part_names[part]), p))
			return false;
	}
	return true;
}

bool host_from_json(const char *text, size_t length, struct host *host, struct problem *p)
{
	json_t *json = load_json(text, length, 0, p);
	bool good;

	if (!json)
		return false;
	good = take_host(host, json, p);
	json_decref(json);
	return good;
}

json_t *host_to_json(const struct host *host)
{
	json_t *json = json_pack("{s:s, s:i, s:s, s:s}", "format", FORMAT, "version", 1, "host",
				 host->name, "arch", arch_tables[host->arch].name);
	unsigned int part;

	for (part = 0; part < PARTS; part++) {
		const struct offer *offer = &host->offer[part];
		json_t *object = json_pack("{s:s, s:o, s:o}", "version", host->about[part], "yes",
					   features_to_json(host->arch, offer->yes), "no",
					   features_to_json(host->arch, offer->no));

		if (all_features(host->arch) & ~(offer->yes | offer->no))
			json_object_set_new(object, "unknown", json_string(host->why[part]));
		if (part == PART_QEMU && host->emulator[0])
			json_object_set_new(object, "emulator", json_string(host->emulator));
		json_object_set_new(json, part_names[part], object);
	}
	return json;
}

/* <mode name='host-model'> lists what this host's CPU has, as libvirt knows it. */
static void take_host_model(struct host *host, const xmlNode *caps, bool kvm)
{
	char name[NAME_ROOM], text[NAME_ROOM];
	const xmlNode *mode, *feature;
	uint32_t bit;

	for (mode = xml_child(xml_child(caps, "cpu"), "mode"); mode;
	     mode = xml_next(mode, "mode")) {
		if (!xml_attr(mode, "name", text, sizeof(text)) || strcmp(text, "host-model") != 0)
			continue;
		for (feature = xml_child(mode, "feature"); feature;
		     feature = xml_next(feature, "feature")) {
			if (!xml_attr(feature, "name", name, sizeof(name)))
				continue;
			bit = feature_bit(host->arch, name);
			host->offer[PART_LIBVIRT].yes |= bit;
			if (!xml_attr(feature, "policy", text, sizeof(text)) ||
			    strcmp(text, "require") != 0)
				continue;
			/*
			 * On x86 it comes from QEMU's "host" CPU under KVM, so from KVM itself; on
			 * LoongArch QEMU reports "auto" as true, whatever the kernel has.
			 */
			host->offer[PART_QEMU].yes |= bit;
			if (kvm && host->arch == ARCH_X86)
				host->offer[PART_KERNEL].yes |= bit;
		}
	}
}

/*
 * <enum name='explicitFeature'> of a libvirt with our series: what CPU XML may name on this host.
 * It is there only if QEMU has found it in KVM.
 */
static void take_explicit_features(struct host *host, const xmlNode *caps)
{
	const xmlNode *list, *value;
	char text[NAME_ROOM];
	unsigned int part;

	for (list = xml_child(xml_child(caps, "cpu"), "enum"); list;
	     list = xml_next(list, "enum")) {
		if (!xml_attr(list, "name", text, sizeof(text)) ||
		    strcmp(text, "explicitFeature") != 0)
			continue;
		for (value = xml_child(list, "value"); value; value = xml_next(value, "value")) {
			xml_text(value, text, sizeof(text));
			for (part = 0; part < PARTS; part++)
				host->offer[part].yes |= feature_bit(host->arch, text);
		}
	}
}

static bool take_capabilities(struct host *host, const xmlNode *top, struct problem *p)
{
	bool domcaps = !strcmp((const char *)top->name, "domainCapabilities");
	char text[NAME_ROOM], name[NAME_ROOM];
	unsigned int part;

	memcpy(name, host->name, sizeof(name));
	if (domcaps)
		xml_text(xml_child(top, "arch"), text, sizeof(text));
	else if (!strcmp((const char *)top->name, "capabilities"))
		xml_text(xml_child(xml_child(xml_child(top, "host"), "cpu"), "arch"), text,
			 sizeof(text));
	else
		return wrong(
			p,
			"root element is <%.64s>, neither <domainCapabilities> nor <capabilities>",
			top->name);
	if (arch_by_name(text) == ARCHS)
		return wrong(p, "<arch> is none of x86_64, loongarch64, aarch64");
	host_init(host, name, arch_by_name(text));
	for (part = 0; part < PARTS; part++)
		strcpy(host->why[part], "the capabilities do not say");
	if (arch_tables[host->arch].any_name)
		host->offer[PART_LIBVIRT].yes = all_features(host->arch);
	if (!domcaps)
		return true;
	xml_text(xml_child(top, "path"), host->emulator, sizeof(host->emulator));
	if (host->emulator[0] && !is_name(host->emulator))
		return wrong(p, "<path> is no path on one line");
	xml_text(xml_child(top, "domain"), text, sizeof(text));
	take_host_model(host, top, !strcmp(text, "kvm"));
	if (!strcmp(text, "kvm"))
		take_explicit_features(host, top);
	return true;
}

bool host_from_capabilities(const char *text, size_t length, struct host *host, struct problem *p)
{
	xmlDoc *doc = xml_load(text, length, NULL, p);
	bool good;

	if (!doc)
		return false;
	good = take_capabilities(host, xmlDocGetRootElement(doc), p);
	xmlFreeDoc(doc);
	return good;
}
