// SPDX-License-Identifier: GPL-2.0-only
/* What /init is to do, from the kernel command line. */
#include "guest.h"
#include "pv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool number(const char *value, long min, long max, long *out)
{
	return pv_parse_long(value, min, max, out);
}

static bool word(const char *value, char *out, size_t size)
{
	if (!value[0] || strlen(value) >= size ||
	    value[strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789-.")])
		return false;
	memcpy(out, value, strlen(value) + 1);
	return true;
}

static void add_job(struct params *p, const char *spec)
{
	struct job *jobs = realloc(p->jobs, (p->n_jobs + 1) * sizeof(*jobs));

	if (!jobs)
		pv_die(PV_EXIT_FAILED, "no memory");
	p->jobs = jobs;
	if (p->n_jobs == JOBS_MAX)
		snprintf(p->why, sizeof(p->why), "more than %d jobs", JOBS_MAX);
	else if (job_parse(spec, &jobs[p->n_jobs], p->why))
		p->n_jobs++;
}

/* One "pvb.NAME=VALUE". Going on after an error: the channel's name may come yet. */
static void take_param(struct params *p, char *text)
{
	char *value = strchr(text, '=');
	bool fine = value;

	if (value)
		*value++ = '\0';
	if (!fine)
		;
	else if (!strcmp(text, "pvb.job"))
		add_job(p, value);
	else if (!strcmp(text, "pvb.channel"))
		fine = word(value, p->channel, sizeof(p->channel));
	else if (!strcmp(text, "pvb.feature"))
		fine = feature_valid(value) && word(value, p->feature, sizeof(p->feature));
	else if (!strcmp(text, "pvb.barrier"))
		fine = number(value, 0, 1, &p->barrier);
	else if (!strcmp(text, "pvb.barrier_timeout"))
		fine = number(value, 1, 86400, &p->barrier_timeout_s);
	else if (!strcmp(text, "pvb.kdisk"))
		fine = number(value, 0, 1, &p->kdisk);
	else if (!strcmp(text, "pvb.watch"))
		fine = number(value, 0, 1, &p->watch);
	else
		value = NULL;
	if (!value)
		snprintf(p->why, sizeof(p->why), "kernel parameter \"%.60s\": unknown", text);
	else if (!fine)
		snprintf(p->why, sizeof(p->why), "kernel parameter %s: bad value \"%.60s\"", text,
			 value);
}

void params_parse(struct params *p, char *line)
{
	char *save = NULL, *w;

	*p = (struct params){.channel = CHANNEL_DEFAULT,
			     .feature = FEATURE_DEFAULT,
			     .barrier = 1,
			     .barrier_timeout_s = BARRIER_TIMEOUT_S};
	for (w = strtok_r(line, " \t\n", &save); w; w = strtok_r(NULL, " \t\n", &save))
		if (!strncmp(w, "pvb.", 4))
			take_param(p, w);
	if (p->why[0])
		;
	else if (p->watch && p->n_jobs)
		snprintf(p->why, sizeof(p->why), "pvb.watch goes without pvb.job");
	else if (!p->watch && !p->n_jobs)
		snprintf(p->why, sizeof(p->why), "no pvb.job on the kernel command line");
}

json_t *params_json(const struct params *p)
{
	json_t *jobs = json_array();

	for (size_t i = 0; i < p->n_jobs; i++)
		json_array_append_new(jobs, json_pack("{s:s, s:I, s:o}", "name", p->jobs[i].name,
						      "timeout_s", (json_int_t)p->jobs[i].timeout_s,
						      "args", job_args(&p->jobs[i])));
	return json_pack("{s:s, s:s, s:b, s:I, s:b, s:b, s:o}", "channel", p->channel, "feature",
			 p->feature, "barrier", (int)p->barrier, "barrier_timeout_s",
			 (json_int_t)p->barrier_timeout_s, "kdisk", (int)p->kdisk, "watch",
			 (int)p->watch, "jobs", jobs);
}

void params_free(struct params *p)
{
	for (size_t i = 0; i < p->n_jobs; i++)
		job_free(&p->jobs[i]);
	free(p->jobs);
}
