/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which fields a JSON object must have: what a workload prints, and what programs that read it
 * (pv-guest, pv-collect) must be able to rely on. samples.md has the meaning of the fields.
 */
#ifndef PV_FIELDS_H
#define PV_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum pv_kind {
	PV_TEXT,   /* string without control characters, not empty */
	PV_LINE,   /* the same, may be empty */
	PV_FREE,   /* any string */
	PV_CHOICE, /* one of @choices: "a|b|c" */
	PV_BOOL,
	PV_COUNT,    /* integer >= 0 */
	PV_COUNT1,   /* integer >= 1 */
	PV_NONNEG,   /* finite number >= 0 */
	PV_POSITIVE, /* finite number > 0 */
	PV_OBJECT,
	PV_ARRAY,
	PV_STRINGS, /* object whose values are PV_TEXT */
};

#define PV_NULL 1u     /* null is accepted too */
#define PV_OPTIONAL 2u /* may be missing */

struct pv_field {
	const char *name; /* NULL ends a table */
	enum pv_kind kind;
	unsigned int flags;
	const char *choices;
};

/* What a workload prints with --json. */
extern const struct pv_field pv_result_fields[];

/*
 * Is @obj an object with the fields of the tables @a and @b (may be NULL) and no others? If not,
 * @why says in printable words what is wrong.
 */
bool pv_check_fields(const json_t *obj, const struct pv_field *a, const struct pv_field *b,
		     char *why, size_t size);

/* Make @text safe for a terminal and for JSON: every byte but printable ASCII, \n and \t is '?'. */
void pv_printable(char *text);

#endif
