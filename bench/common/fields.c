// SPDX-License-Identifier: GPL-2.0-only
#include "fields.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Integers beyond 2^53 are not the same number in every reader of JSON. */
#define COUNT_MAX ((json_int_t)1 << 53)
#define TEXT_MAX 4096

const struct pv_field pv_result_fields[] = {
	{.name = "workload", .kind = PV_TEXT},
	{.name = "implementation", .kind = PV_TEXT},
	{.name = "metric", .kind = PV_TEXT},
	{.name = "unit", .kind = PV_TEXT},
	{.name = "better", .kind = PV_CHOICE, .choices = "higher|lower"},
	{.name = "value", .kind = PV_POSITIVE},
	{.name = "params", .kind = PV_LINE},
	{.name = "bystanders", .kind = PV_CHOICE, .choices = "busy|idle|none"},
	{.name = "flushes", .kind = PV_COUNT, .flags = PV_NULL},
	{.name = "remote_vcpus", .kind = PV_COUNT, .flags = PV_NULL},
	{.name = "details", .kind = PV_OBJECT},
	{0},
};

void pv_printable(char *text)
{
	for (; *text; text++)
		if ((*text < ' ' || *text > '~') && *text != '\n' && *text != '\t')
			*text = '?';
}

__attribute__((format(printf, 3, 4))) static bool fail(char *why, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, size, fmt, ap);
	va_end(ap);
	pv_printable(why);
	return false;
}

static bool is_text(const json_t *value)
{
	const char *s = json_string_value(value);

	if (!s || strlen(s) > TEXT_MAX)
		return false;
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

static bool is_count(const json_t *value, json_int_t min)
{
	json_int_t n = json_integer_value(value);

	return json_is_integer(value) && n >= min && n <= COUNT_MAX;
}

static bool is_choice(const json_t *value, const char *choices)
{
	const char *s = json_string_value(value);
	size_t len;

	if (!s || strchr(s, '|'))
		return false;
	len = strlen(s);
	for (; choices; choices = strchr(choices, '|')) {
		choices += *choices == '|';
		if (!strncmp(choices, s, len) && (!choices[len] || choices[len] == '|'))
			return len > 0;
	}
	return false;
}

static bool is_strings(const json_t *value)
{
	json_t *obj = (json_t *)value; /* iterators take no const */

	if (!json_is_object(value))
		return false;
	for (void *it = json_object_iter(obj); it; it = json_object_iter_next(obj, it)) {
		const json_t *item = json_object_iter_value(it);

		if (!is_text(item) || !json_string_length(item))
			return false;
	}
	return true;
}

static bool is_kind(const json_t *value, const struct pv_field *f)
{
	double number = json_number_value(value);

	switch (f->kind) {
	case PV_TEXT:
		return is_text(value) && json_string_length(value);
	case PV_LINE:
		return is_text(value);
	case PV_FREE:
		return json_is_string(value);
	case PV_CHOICE:
		return is_choice(value, f->choices);
	case PV_BOOL:
		return json_is_boolean(value);
	case PV_COUNT:
		return is_count(value, 0);
	case PV_COUNT1:
		return is_count(value, 1);
	case PV_NONNEG:
		return json_is_number(value) && isfinite(number) && number >= 0;
	case PV_POSITIVE:
		return json_is_number(value) && isfinite(number) && number > 0;
	case PV_OBJECT:
		return json_is_object(value);
	case PV_ARRAY:
		return json_is_array(value);
	case PV_STRINGS:
		return is_strings(value);
	}
	return false;
}

static const char *wanted(const struct pv_field *f)
{
	switch (f->kind) {
	case PV_TEXT:
		return "a string on one line";
	case PV_LINE:
		return "a string without control characters";
	case PV_FREE:
		return "a string";
	case PV_CHOICE:
		return f->choices;
	case PV_BOOL:
		return "true or false";
	case PV_COUNT:
		return "an integer >= 0";
	case PV_COUNT1:
		return "an integer >= 1";
	case PV_NONNEG:
		return "a number >= 0";
	case PV_POSITIVE:
		return "a number > 0";
	case PV_OBJECT:
		return "an object";
	case PV_ARRAY:
		return "an array";
	case PV_STRINGS:
		return "an object of strings";
	}
	return "";
}

static const struct pv_field *lookup(const struct pv_field *table, const char *name)
{
	for (; table && table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

static bool check_table(const json_t *obj, const struct pv_field *f, char *why, size_t size)
{
	for (; f && f->name; f++) {
		const json_t *value = json_object_get(obj, f->name);

		if (!value && f->flags & PV_OPTIONAL)
			continue;
		if (!value)
			return fail(why, size, "field \"%s\" is missing", f->name);
		if (json_is_null(value) && f->flags & PV_NULL)
			continue;
		if (!is_kind(value, f))
			return fail(why, size, "field \"%s\" must be %s%s", f->name, wanted(f),
				    f->flags & PV_NULL ? " or null" : "");
	}
	return true;
}

bool pv_check_fields(const json_t *obj, const struct pv_field *a, const struct pv_field *b,
		     char *why, size_t size)
{
	json_t *o = (json_t *)obj; /* iterators take no const */

	if (!json_is_object(obj))
		return fail(why, size, "not a JSON object");
	if (!check_table(obj, a, why, size) || !check_table(obj, b, why, size))
		return false;
	for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
		const char *key = json_object_iter_key(it);

		if (!lookup(a, key) && !lookup(b, key))
			return fail(why, size, "unexpected field \"%.40s\"", key);
	}
	return true;
}
