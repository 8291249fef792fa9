// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy file (docs/virt-pv-check.md, "Policy"; policy.schema.json): rules, groups of hosts,
 * exceptions.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum rule { RULE_REQUIRE, RULE_FORBID, RULE_IGNORE };
static const char *const rule_names[] = {"require", "forbid", "ignore"};

/* Everything points into @json, which was checked as a whole when it was loaded. */
struct policy {
	json_t *json;
};

static bool known_feature(const char *name)
{
	unsigned int arch;

	for (arch = 0; arch < ARCHS; arch++) {
		if (feature_bit(arch, name))
			return true;
	}
	return false;
}

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* Some ask for the name of a host and get the short one: it is as good, unless both have a domain.
 */
static bool same_host(const char *a, const char *b)
{
	size_t short_a = strcspn(a, "."), short_b = strcspn(b, ".");

	if (a[short_a] && b[short_b])
		return !strcmp(a, b);
	return short_a == short_b && !strncmp(a, b, short_a);
}

static bool has_host(json_t *list, const char *name)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (same_host(json_string_value(json_array_get(list, i)), name))
			return true;
	}
	return false;
}

static bool check_list(json_t *list, const char *where, struct problem *p)
{
	size_t i;

	if (!json_is_array(list))
		return wrong(p, "%s: not a list", where);
	for (i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (!text || !is_name(text))
			return wrong(p, "%s: entry %zu is no name", where, i + 1);
	}
	return true;
}

static bool check_groups(json_t *groups, struct problem *p)
{
	const char *name;
	json_t *list;

	if (!groups)
		return true;
	if (!json_is_object(groups))
		return wrong(p, "groups: not an object");
	json_object_foreach(groups, name, list)
	{
		char where[96];

		snprintf(where, sizeof(where), "groups: %.64s", name);
		if (!is_name(name) || !check_list(list, where, p))
			return is_name(name) ? false : wrong(p, "groups: a name that is none");
	}
	return true;
}

static bool check_feature(json_t *object, const char *where, struct problem *p)
{
	const char *feature = text_of(object, "feature");

	if (!feature)
		return wrong(p, "%s: feature is missing", where);
	if (!known_feature(feature))
		return wrong(p, "%s: \"%.64s\" is no feature that this version knows", where,
			     feature);
	return true;
}

static bool check_why(json_t *object, const char *where, struct problem *p)
{
	json_t *why = json_object_get(object, "why");

	if (why && (!json_is_string(why) || !is_name(json_string_value(why))))
		return wrong(p, "%s: why: not a text on one line", where);
	return true;
}

static int rule_of(json_t *rule)
{
	const char *name = text_of(rule, "rule");
	int i;

	for (i = RULE_REQUIRE; i <= RULE_IGNORE; i++) {
		if (name && !strcmp(name, rule_names[i]))
			return i;
	}
	return -1;
}

/* Hosts that both rules could be about: two answers for one host are no policy. */
static bool overlap(json_t *groups, json_t *a, json_t *b)
{
	json_t *in_a = json_object_get(a, "groups"), *in_b = json_object_get(b, "groups");
	size_t i, j, k;

	if (!in_a || !in_b)
		return !in_a && !in_b; /* a rule for groups goes before one for all hosts */
	for (i = 0; i < json_array_size(in_a); i++) {
		json_t *hosts = json_object_get(groups, json_string_value(json_array_get(in_a, i)));

		for (j = 0; j < json_array_size(in_b); j++) {
			json_t *others =
				json_object_get(groups, json_string_value(json_array_get(in_b, j)));

			for (k = 0; k < json_array_size(hosts); k++) {
				if (has_host(others, json_string_value(json_array_get(hosts, k))))
					return true;
			}
		}
	}
	return false;
}

static bool check_rules(json_t *rules, json_t *groups, struct problem *p)
{
	static const char *const keys[] = {"feature", "rule", "groups", "why", NULL};
	size_t i, j;

	if (rules && !json_is_array(rules))
		return wrong(p, "rules: not a list");
	for (i = 0; i < json_array_size(rules); i++) {
		json_t *rule = json_array_get(rules, i), *in = json_object_get(rule, "groups");
		char where[64];

		snprintf(where, sizeof(where), "rules: entry %zu", i + 1);
		if (!json_is_object(rule))
			return wrong(p, "%s: not an object", where);
		if (!only_keys(rule, where, keys, p) || !check_feature(rule, where, p) ||
		    !check_why(rule, where, p))
			return false;
		if (rule_of(rule) < 0)
			return wrong(p, "%s: rule is none of require, forbid, ignore", where);
		if (in && !check_list(in, where, p))
			return false;
		for (j = 0; j < json_array_size(in); j++) {
			const char *name = json_string_value(json_array_get(in, j));

			if (!json_object_get(groups, name))
				return wrong(p, "%s: there is no group \"%.64s\"", where, name);
		}
		for (j = 0; j < i; j++) {
			json_t *other = json_array_get(rules, j);

			if (!strcmp(text_of(rule, "feature"), text_of(other, "feature")) &&
			    overlap(groups, rule, other))
				return wrong(p, "%s: a second rule for %s on the same hosts", where,
					     text_of(rule, "feature"));
		}
	}
	return true;
}

static bool check_exceptions(json_t *list, struct problem *p)
{
	static const char *const keys[] = {"feature", "host", "until", "why", NULL};
	size_t i;
	long days;

	if (list && !json_is_array(list))
		return wrong(p, "exceptions: not a list");
	for (i = 0; i < json_array_size(list); i++) {
		json_t *object = json_array_get(list, i);
		char where[64];

		snprintf(where, sizeof(where), "exceptions: entry %zu", i + 1);
		if (!json_is_object(object))
			return wrong(p, "%s: not an object", where);
		if (!only_keys(object, where, keys, p) || !check_feature(object, where, p) ||
		    !check_why(object, where, p))
			return false;
		if (!text_of(object, "host") || !is_name(text_of(object, "host")))
			return wrong(p, "%s: host is missing", where);
		if (!text_of(object, "until") || !parse_date(text_of(object, "until"), &days))
			return wrong(p, "%s: until is no date (YYYY-MM-DD)", where);
	}
	return true;
}

static bool check_level(json_t *level, struct problem *p)
{
	const char *name, *feature;
	json_t *list;
	size_t i;

	if (!level)
		return true;
	if (!json_is_object(level))
		return wrong(p, "level: not an object");
	json_object_foreach(level, name, list)
	{
		enum arch arch = arch_by_name(name);

		if (arch == ARCHS || strcmp(name, arch_tables[arch].name) != 0)
			return wrong(p, "level: \"%.64s\" is none of x86_64, loongarch64, aarch64",
				     name);
		if (!json_is_array(list))
			return wrong(p, "level: %s: not a list", name);
		for (i = 0; i < json_array_size(list); i++) {
			feature = json_string_value(json_array_get(list, i));
			if (!feature || !feature_bit(arch, feature))
				return wrong(p,
					     "level: \"%.64s\" is no feature of %s that this "
					     "version knows",
					     feature ? feature : "?", name);
		}
	}
	return true;
}

static bool check_policy(json_t *json, struct problem *p)
{
	static const char *const keys[] = {"format", "version",	   "groups", "rules",
					   "level",  "exceptions", NULL};
	const char *format = text_of(json, "format");
	json_t *groups = json_object_get(json, "groups");

	if (!format || strcmp(format, "virt-pv-check policy") != 0)
		return wrong(p, "not a policy: format is not \"virt-pv-check policy\"");
	if (json_integer_value(json_object_get(json, "version")) != 1)
		return wrong(p, "version is not 1, the only one known");
	return only_keys(json, "policy", keys, p) && check_groups(groups, p) &&
	       check_rules(json_object_get(json, "rules"), groups, p) &&
	       check_level(json_object_get(json, "level"), p) &&
	       check_exceptions(json_object_get(json, "exceptions"), p);
}

struct policy *policy_from_json(const char *text, size_t length, struct problem *p)
{
	struct policy *policy;
	json_t *json = load_json(text, length, 0, p);

	if (!json)
		return NULL;
	policy = check_policy(json, p) ? malloc(sizeof(*policy)) : NULL;
	if (!policy) {
		json_decref(json);
		return NULL;
	}
	policy->json = json;
	return policy;
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	json_decref(policy->json);
	free(policy);
}

static bool is_about(json_t *groups, json_t *rule, const char *host)
{
	json_t *in = json_object_get(rule, "groups");
	size_t i;

	for (i = 0; i < json_array_size(in); i++) {
		if (has_host(json_object_get(groups, json_string_value(json_array_get(in, i))),
			     host))
			return true;
	}
	return false;
}

struct host_rules policy_for(const struct policy *policy, const char *host, enum arch arch,
			     long today)
{
	json_t *groups, *rules, *list;
	struct host_rules found = {0};
	uint32_t *const sets[] = {&found.require, &found.forbid, &found.ignore};
	uint32_t special = 0;
	unsigned int pass;
	size_t i;

	if (!policy || arch >= ARCHS)
		return found;
	groups = json_object_get(policy->json, "groups");
	rules = json_object_get(policy->json, "rules");
	for (pass = 0; pass < 2; pass++) { /* first those for groups */
		for (i = 0; i < json_array_size(rules); i++) {
			json_t *rule = json_array_get(rules, i);
			uint32_t bit = feature_bit(arch, text_of(rule, "feature"));

			int kind = rule_of(rule);

			if (kind < 0)
				continue;
			if (!pass && is_about(groups, rule, host)) {
				*sets[kind] |= bit;
				special |= bit;
			} else if (pass && !json_object_get(rule, "groups")) {
				*sets[kind] |= bit & ~special;
			}
		}
	}
	list = json_object_get(policy->json, "exceptions");
	for (i = 0; i < json_array_size(list); i++) {
		json_t *object = json_array_get(list, i);
		long until = 0;

		if (!same_host(text_of(object, "host"), host) ||
		    !parse_date(text_of(object, "until"), &until))
			continue;
		if (today <= until)
			found.excepted |= feature_bit(arch, text_of(object, "feature"));
		else
			found.expired |= feature_bit(arch, text_of(object, "feature"));
	}
	found.expired &= ~found.excepted;
	found.ignore |= found.excepted;
	list = json_object_get(json_object_get(policy->json, "level"), arch_tables[arch].name);
	found.has_level = list;
	for (i = 0; i < json_array_size(list); i++)
		found.level |= feature_bit(arch, json_string_value(json_array_get(list, i)));
	return found;
}
