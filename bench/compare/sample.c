// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contract of bench/samples.md in code: what a sample looks like, and which ones must not be
 * used. A sample with anything missing, unknown or out of range is malformed.
 */
#include "compare.h"
#include "pv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE (4u << 20)
#define MAX_COUNT ((json_int_t)1 << 53) /* exact as a double */
#define MAX_CPUS 1000000

const char *const arm_names[ARMS] = {"off", "on"};
const char *const bystander_names[] = {"busy", "idle", "none", NULL};

static const char *const better_names[] = {"lower", "higher", NULL};
static const char *const lane_names[] = {"x86", "loongarch", "arm64", NULL};
static const char *const arm_list[] = {"off", "on", NULL};
static const char *const tri_names[] = {"yes", "no", "unknown", NULL};

enum kind {
	SCHEMA,
	TEXT,	    /* one line, not empty */
	TEXT_EMPTY, /* one line, may be empty */
	NAME,	    /* one of @names, kept as text */
	CHOICE,	    /* one of @names, kept as its index */
	BOOLEAN,
	POSITIVE,     /* number > 0 */
	REAL_OR_NULL, /* number >= 0 or null */
	INTEGER,      /* within min and max */
	COUNT_OR_NULL,
	OBJECT,
	TEXTS, /* object of strings */
};

struct field {
	const char *name;
	enum kind kind;
	size_t offset;
	const char *const *names;
	json_int_t min, max;
};

#define AT(member) offsetof(struct sample, member)

static const struct field fields[] = {
	{"schema", SCHEMA, 0, NULL, 0, 0},
	{"workload", TEXT, AT(workload), NULL, 0, 0},
	{"implementation", TEXT, AT(implementation), NULL, 0, 0},
	{"metric", TEXT, AT(metric), NULL, 0, 0},
	{"unit", TEXT, AT(unit), NULL, 0, 0},
	{"better", CHOICE, AT(higher), better_names, 0, 0},
	{"value", POSITIVE, AT(value), NULL, 0, 0},
	{"params", TEXT_EMPTY, AT(params), NULL, 0, 0},
	{"bystanders", CHOICE, AT(bystanders), bystander_names, 0, 0},
	{"lane", NAME, AT(lane), lane_names, 0, 0},
	{"emulated", BOOLEAN, AT(emulated), NULL, 0, 0},
	{"host", TEXT, AT(host), NULL, 0, 0},
	{"guest", TEXT, AT(guest), NULL, 0, 0},
	{"vcpus", INTEGER, AT(vcpus), NULL, 1, MAX_CPUS},
	{"pcpus", INTEGER, AT(pcpus), NULL, 1, MAX_CPUS},
	{"overcommit", POSITIVE, AT(overcommit), NULL, 0, 0},
	{"feature", TEXT, AT(feature), NULL, 0, 0},
	{"arm", CHOICE, AT(arm), arm_list, 0, 0},
	{"requested", CHOICE, AT(requested), tri_names, 0, 0},
	{"offered", CHOICE, AT(offered), tri_names, 0, 0},
	{"active", CHOICE, AT(active), tri_names, 0, 0},
	{"run", INTEGER, AT(run), NULL, 1, MAX_COUNT},
	{"position", INTEGER, AT(position), NULL, 1, MAX_COUNT},
	{"seed", INTEGER, AT(seed), NULL, INT64_MIN, INT64_MAX},
	{"steal_s", REAL_OR_NULL, AT(steal_s), NULL, 0, 0},
	{"elapsed_s", POSITIVE, AT(elapsed_s), NULL, 0, 0},
	{"tlb_ipis", COUNT_OR_NULL, AT(tlb_ipis), NULL, 0, MAX_COUNT},
	{"flushes", COUNT_OR_NULL, AT(flushes), NULL, 0, MAX_COUNT},
	{"remote_vcpus", COUNT_OR_NULL, AT(remote_vcpus), NULL, 0, MAX_CPUS},
	{"deferred_flushes", COUNT_OR_NULL, AT(deferred_flushes), NULL, 0, MAX_COUNT},
	{"details", OBJECT, AT(details), NULL, 0, 0},
	{"env", TEXTS, AT(env), NULL, 0, 0},
};

#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Where a message belongs to. */
struct place {
	struct sample_list *list;
	const char *path;
	size_t line;
};

static void malformed(const struct place *at, const char *field, const json_t *value,
		      const char *wanted)
{
	char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII |
						       JSON_REAL_PRECISION(15))
			   : NULL;

	if (value)
		pv_warn("%s:%zu: %s: %.80s%s is not %s", at->path, at->line, field,
			text ? text : "?", text && strlen(text) > 80 ? "..." : "", wanted);
	else
		pv_warn("%s:%zu: %s: missing (%s)", at->path, at->line, field, wanted);
	free(text);
}

static int choice_of(const char *const *names, const json_t *value)
{
	const char *text = json_string_value(value);
	int i;

	for (i = 0; text && names[i]; i++) {
		if (!strcmp(text, names[i]))
			return i;
	}
	return -1;
}

static bool is_texts(json_t *object)
{
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return false;
	json_object_foreach(object, key, value)
	{
		if (!*key || !clean_text(key) || !json_is_string(value) ||
		    !clean_text(json_string_value(value)))
			return false;
	}
	return true;
}

/* Returns NULL, or what @value should have been. */
static const char *take(const struct field *field, json_t *value, void *member)
{
	const char *text = json_string_value(value);
	int choice;

	switch (field->kind) {
	case SCHEMA:
		if (!json_is_integer(value) || json_integer_value(value) != 1)
			return "1, the only schema known";
		return NULL;
	case TEXT:
	case TEXT_EMPTY:
		if (!text || !clean_text(text) || (!*text && field->kind == TEXT))
			return "a text on one line";
		*(const char **)member = text;
		return NULL;
	case NAME:
	case CHOICE:
		choice = choice_of(field->names, value);
		if (choice < 0) {
			if (field->names == better_names)
				return "higher or lower";
			if (field->names == lane_names)
				return "x86, loongarch or arm64";
			if (field->names == arm_list)
				return "off or on";
			return field->names == tri_names ? "yes, no or unknown"
							 : "busy, idle or none";
		}
		if (field->kind == NAME)
			*(const char **)member = text;
		else
			*(int *)member = choice;
		return NULL;
	case BOOLEAN:
		if (!json_is_boolean(value))
			return "true or false";
		*(int *)member = json_is_true(value);
		return NULL;
	case POSITIVE:
		if (!json_is_number(value) || !(json_number_value(value) > 0) ||
		    !isfinite(json_number_value(value)))
			return "a finite number > 0";
		*(double *)member = json_number_value(value);
		return NULL;
	case REAL_OR_NULL:
		*(double *)member = NAN;
		if (json_is_null(value))
			return NULL;
		if (!json_is_number(value) || !(json_number_value(value) >= 0) ||
		    !isfinite(json_number_value(value)))
			return "a finite number >= 0, or null";
		*(double *)member = json_number_value(value);
		return NULL;
	case INTEGER:
	case COUNT_OR_NULL:
		*(json_int_t *)member = UNKNOWN_COUNT;
		if (field->kind == COUNT_OR_NULL && json_is_null(value))
			return NULL;
		if (!json_is_integer(value) || json_integer_value(value) < field->min ||
		    json_integer_value(value) > field->max) {
			if (field->kind == COUNT_OR_NULL)
				return "an integer >= 0 (and sensible), or null";
			return field->min == 1 ? "an integer >= 1 (and sensible)" : "an integer";
		}
		*(json_int_t *)member = json_integer_value(value);
		return NULL;
	case OBJECT:
		if (!json_is_object(value))
			return "an object";
		*(json_t **)member = value;
		return NULL;
	case TEXTS:
		if (!is_texts(value))
			return "an object of strings of one line each";
		*(json_t **)member = value;
		return NULL;
	}
	return "anything known";
}

/* All fields there, right, and no others. Says all that is wrong. */
static bool take_fields(const struct place *at, struct sample *s)
{
	bool good = true;
	const char *key, *wanted;
	json_t *value;
	size_t i;

	for (i = 0; i < N_FIELDS; i++) {
		value = json_object_get(s->json, fields[i].name);
		if (!value) {
			malformed(at, fields[i].name, NULL, "see bench/samples.md");
			good = false;
			continue;
		}
		wanted = take(&fields[i], value, (char *)s + fields[i].offset);
		if (wanted) {
			malformed(at, fields[i].name, value, wanted);
			good = false;
		}
	}
	json_object_foreach(s->json, key, value)
	{
		for (i = 0; i < N_FIELDS && strcmp(key, fields[i].name) != 0; i++)
			;
		if (i == N_FIELDS) {
			char *name = cleaned(key);

			malformed(at, name, value, "in the contract: unknown field");
			free(name);
			good = false;
		}
	}
	return good;
}

double sample_ipis(const struct sample *s)
{
	if (s->tlb_ipis < 0 || s->flushes <= 0 || s->remote_vcpus <= 0)
		return NAN;
	return (double)s->tlb_ipis / ((double)s->flushes * (double)s->remote_vcpus);
}

double sample_steal_share(const struct sample *s)
{
	return s->steal_s / (s->elapsed_s * (double)s->vcpus);
}

static void __attribute__((format(printf, 2, 3))) refused(const struct place *at, const char *fmt,
							  ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pv_warn("%s:%zu: refused: %s", at->path, at->line, text);
}

/* The rules at the end of bench/samples.md. */
static bool usable(const struct place *at, const struct sample *s)
{
	bool contended = s->bystanders == BYSTANDERS_BUSY && s->overcommit > 1;
	bool good = true;

	if (s->requested != (s->arm == ARM_ON ? TRI_YES : TRI_NO)) {
		refused(at, "arm is %s but requested is %s: the domain was not what the arm says",
			arm_names[s->arm], tri_names[s->requested]);
		good = false;
	}
	if (s->offered != s->requested) {
		refused(at, "requested is %s but offered is %s: the guest saw something else",
			tri_names[s->requested], tri_names[s->offered]);
		good = false;
	}
	if (s->active != s->requested) {
		refused(at, "requested is %s but active is %s: the guest kernel did something else",
			tri_names[s->requested], tri_names[s->active]);
		good = false;
	}
	if (s->arm == ARM_OFF && s->deferred_flushes > 0) {
		refused(at, "arm is off but deferred_flushes is %lld: the host deferred flushes",
			(long long)s->deferred_flushes);
		good = false;
	}
	if (contended && !(s->steal_s > 0)) {
		refused(at,
			"bystanders are busy and overcommit is %s but steal_s is %s: nothing was "
			"preempted",
			num(s->overcommit), isnan(s->steal_s) ? "null" : "0");
		good = false;
	}
	if (contended && s->arm == ARM_OFF && !strcmp(s->workload, "tlb") &&
	    s->flushes >= MIN_FLUSHES && sample_ipis(s) < IPI_THRESHOLD) {
		refused(at,
			"arm is off but there were %s TLB IPIs per flush and remote vCPU, fewer "
			"than %g: the counters contradict the arm",
			num(sample_ipis(s)), IPI_THRESHOLD);
		good = false;
	}
	return good;
}

static void take_line(const struct place *at, const char *text, size_t length)
{
	struct sample_list *list = at->list;
	struct sample s = {.source = at->path, .line = at->line};
	json_error_t error;

	if (strspn(text, " \t\r\n") == length) {
		pv_warn("%s:%zu: empty line", at->path, at->line);
		list->malformed++;
		return;
	}
	s.json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	if (!json_is_object(s.json)) {
		char *why = cleaned(s.json ? "an array" : error.text);

		pv_warn("%s:%zu: not a JSON object: %s", at->path, at->line, why);
		free(why);
		json_decref(s.json);
		list->malformed++;
		return;
	}
	if (!take_fields(at, &s)) {
		json_decref(s.json);
		list->malformed++;
		return;
	}
	if (!usable(at, &s)) {
		json_decref(s.json);
		list->refused++;
		return;
	}
	if (list->n == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		list->samples = xrealloc(list->samples, list->room, sizeof(*list->samples));
	}
	list->samples[list->n++] = s;
}

void samples_read(struct sample_list *list, const char *path)
{
	struct place at = {.list = list, .path = path};
	char *text = NULL;
	size_t room = 0;
	ssize_t length;
	FILE *f;

	f = fopen(path, "r");
	if (!f) {
		pv_warn("%s: cannot open: %s", path, strerror(errno));
		list->malformed++;
		return;
	}
	errno = 0;
	while ((length = getline(&text, &room, f)) > 0) {
		at.line++;
		if ((size_t)length > MAX_LINE) {
			pv_warn("%s:%zu: line of more than %u bytes", path, at.line, MAX_LINE);
			list->malformed++;
			continue;
		}
		take_line(&at, text, (size_t)length);
		errno = 0;
	}
	if (ferror(f) || (errno && !feof(f))) {
		pv_warn("%s: cannot read: %s", path, strerror(errno));
		list->malformed++;
	} else if (!at.line) {
		pv_warn("%s: empty: no samples in it", path);
		list->malformed++;
	}
	free(text);
	fclose(f);
}

void samples_free(struct sample_list *list)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		json_decref(list->samples[i].json);
	free(list->samples);
	*list = (struct sample_list){0};
}
