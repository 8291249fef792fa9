// SPDX-License-Identifier: GPL-2.0-only
#include "sample.h"

#include "pv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *pv_params_join(int argc, char *const argv[], const char *skip)
{
	size_t size = 1;
	char *text, *end;
	json_t *probe;

	for (int i = 0; i < argc; i++)
		size += strlen(argv[i]) + 1;
	text = malloc(size);
	if (!text)
		pv_die(PV_EXIT_FAILED, "out of memory");
	end = text;
	for (int i = 0; i < argc; i++) {
		if (argv[i] == skip)
			continue;
		if (end != text)
			*end++ = ' ';
		end = stpcpy(end, argv[i]);
	}
	*end = '\0';

	probe = json_string(text); /* NULL: not UTF-8 */
	for (const char *c = text; probe && *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f) {
			json_decref(probe);
			probe = NULL;
		}
	}
	if (!probe) {
		free(text);
		return NULL;
	}
	json_decref(probe);
	return text;
}

static json_t *count_or_null(long long count)
{
	return count < 0 ? json_null() : json_integer(count);
}

void pv_sample_print(const struct pv_sample *s)
{
	json_t *object;

	if (!isfinite(s->value) || s->value <= 0)
		pv_die(PV_EXIT_FAILED, "%s: a %s of %g %s is no result", s->workload, s->metric,
		       s->value, s->unit);
	object = json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:s, s:s, s:o, s:o, s:o}", "workload",
			   s->workload, "implementation", s->implementation, "metric", s->metric,
			   "unit", s->unit, "better", s->better, "value", s->value, "params",
			   s->params, "bystanders", s->bystanders, "flushes",
			   count_or_null(s->flushes), "remote_vcpus",
			   count_or_null(s->remote_vcpus), "details", s->details);
	if (!object || json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17)))
		pv_die(PV_EXIT_FAILED, "cannot write the sample as JSON");
	json_decref(object);
	putchar('\n');
	pv_stdout_flush();
}

void pv_stdout_flush(void)
{
	if (fflush(stdout) || ferror(stdout))
		pv_die(PV_EXIT_FAILED, "cannot write to stdout: %s", strerror(errno));
}
