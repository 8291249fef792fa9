// SPDX-License-Identifier: GPL-2.0-only
/*
 * The report for programs. Every sample is in it whole; NaN and infinity are null.
 */
#include "compare.h"
#include "pv.h"

#include <math.h>
#include <stdlib.h>

static void put(json_t *object, const char *name, json_t *value)
{
	if (json_object_set_new(object, name, value))
		pv_die(PV_EXIT_FAILED, "report.json: cannot add %s", name);
}

static void add(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		pv_die(PV_EXIT_FAILED, "report.json: cannot add to a list");
}

static void put_real(json_t *object, const char *name, double x)
{
	put(object, name, isfinite(x) ? json_real(x) : json_null());
}

static void put_size(json_t *object, const char *name, size_t n)
{
	put(object, name, json_integer((json_int_t)n));
}

static void put_text(json_t *object, const char *name, const char *text)
{
	char *copy = cleaned(text);

	put(object, name, json_string(copy));
	free(copy);
}

static json_t *summary_object(const struct cell *c, enum arm arm)
{
	const struct summary *s = &c->sum[arm];
	json_t *o = json_object();
	json_t *ids = json_array();
	size_t i;

	put_size(o, "n", c->n[arm]);
	for (i = 0; i < c->n[arm]; i++)
		add(ids, json_integer((json_int_t)c->runs[arm][i]->id));
	put(o, "samples", ids);
	if (!c->n[arm])
		return o;
	put_real(o, "centre", centre(s, c->any->higher));
	put_real(o, "harmonic_mean", s->hmean);
	put_real(o, "mean", s->mean);
	put_real(o, "mean_low", s->low);
	put_real(o, "mean_high", s->high);
	put_real(o, "min", s->min);
	put_real(o, "median", s->median);
	put_real(o, "max", s->max);
	put_real(o, "sd", s->sd);
	put_real(o, "steal_s_median", c->steal_s[arm]);
	put_real(o, "steal_share_median", c->steal_share[arm]);
	put_real(o, "tlb_ipis_per_s_median", c->ipis_per_s[arm]);
	put_real(o, "ipis_per_flush_and_remote_vcpu_median", c->counts.ipis[arm]);
	put_real(o, "deferred_flushes_median", c->deferred[arm]);
	return o;
}

static json_t *comparison_object(const struct cell *c)
{
	const struct comparison *cmp = &c->cmp;
	json_t *o = json_object();

	put_real(o, "difference", cmp->diff);
	put_real(o, "difference_half_interval", cmp->half);
	put_real(o, "difference_percent", cmp->percent);
	put_real(o, "difference_percent_half_interval", cmp->half_percent);
	put_real(o, "welch_df", cmp->df);
	put_real(o, "standard_error", cmp->se);
	put_real(o, "hedges_g", cmp->hedges_g);
	put_real(o, "smallest_detectable_difference", cmp->detectable);
	put_real(o, "smallest_detectable_difference_percent", cmp->detectable_percent);
	put_real(o, "throughput_gained_percent", 100 * c->gained);
	put_real(o, "time_saved_percent", 100 * c->saved);
	return o;
}

static json_t *counts_object(const struct cell *c)
{
	json_t *o = json_object();

	put(o, "judged", json_boolean(c->counts.judged));
	if (c->counts.judged)
		put_text(o, "ipis_avoided", avoided_name(c->counts.avoided));
	else
		put_text(o, "not_judged_because",
			 c->counts.why_not ? c->counts.why_not : "only one arm");
	put_real(o, "ratio_on_off", c->counts.ratio);
	return o;
}

static json_t *cell_object(const struct cell *c)
{
	const struct sample *s = c->any;
	json_t *o = json_object();
	json_t *notes = json_array();
	size_t i;

	put_size(o, "id", c->id);
	put_text(o, "workload", s->workload);
	put_text(o, "implementation", s->implementation);
	put_text(o, "metric", s->metric);
	put_text(o, "unit", s->unit);
	put_text(o, "better", s->higher ? "higher" : "lower");
	put_text(o, "params", s->params);
	put_text(o, "bystanders", bystander_names[s->bystanders]);
	put_text(o, "feature", s->feature);
	put_text(o, "lane", s->lane);
	put(o, "emulated", json_boolean(s->emulated));
	put_text(o, "host", s->host);
	put_text(o, "guest", s->guest);
	put(o, "vcpus", json_integer(s->vcpus));
	put(o, "pcpus", json_integer(s->pcpus));
	put_real(o, "overcommit", s->overcommit);
	put_size(o, "environment", s->env_nr);
	put(o, "off", summary_object(c, ARM_OFF));
	put(o, "on", summary_object(c, ARM_ON));
	put(o, "comparison", c->complete ? comparison_object(c) : json_null());
	put(o, "counts", c->counts.shown ? counts_object(c) : json_null());
	put_text(o, "verdict", verdict_name(c->verdict));
	put_text(o, "verdict_text", c->verdict_text);
	for (i = 0; i < c->n_notes; i++)
		add(notes, json_string(c->notes[i]));
	put(o, "notes", notes);
	return o;
}

static json_t *sample_object(const struct cell *c, const struct sample *s)
{
	json_t *o = json_object();

	put_size(o, "id", s->id);
	put_size(o, "cell", c->id);
	put_text(o, "source", s->source);
	put_size(o, "line", s->line);
	put_real(o, "ipis_per_flush_and_remote_vcpu", sample_ipis(s));
	put_real(o, "steal_share", sample_steal_share(s));
	put(o, "sample", json_incref(s->json));
	return o;
}

void report_json(FILE *out, const struct report *r)
{
	json_t *root = json_object();
	json_t *sources = json_array();
	json_t *envs = json_array();
	json_t *notes = json_array();
	json_t *cells = json_array();
	json_t *samples = json_array();
	char *lead = report_lead(r);
	size_t i, arm, j;

	put(root, "schema", json_integer(1));
	put_text(root, "program", "pv-compare");
	put_text(root, "title", r->title);
	put_text(root, "summary", lead);
	free(lead);
	put_text(root, "profile", r->full ? "full" : "quick");
	put_real(root, "confidence", CONFIDENCE);
	put_real(root, "power", POWER);
	put(root, "min_runs", json_integer(MIN_RUNS));
	put_real(root, "equivalence_percent", r->equivalence);
	put(root, "lab_timings", json_boolean(r->n_emulated > 0));
	for (i = 0; i < r->n_sources; i++) {
		char *copy = cleaned(r->sources[i]);

		add(sources, json_string(copy));
		free(copy);
	}
	put(root, "sources", sources);
	for (i = 0; i < r->n_envs; i++)
		add(envs, json_incref(r->envs[i]));
	put(root, "environments", envs);
	put(root, "run_environment", r->run_env ? json_incref(r->run_env) : json_null());
	for (i = 0; footnotes[i]; i++)
		add(notes, json_string(footnotes[i]));
	put(root, "formulas", notes);
	for (i = 0; i < r->n_cells; i++) {
		const struct cell *c = &r->cells[i];

		add(cells, cell_object(c));
		for (arm = 0; arm < ARMS; arm++) {
			for (j = 0; j < c->n[arm]; j++)
				add(samples, sample_object(c, c->runs[arm][j]));
		}
	}
	put(root, "cells", cells);
	put(root, "samples", samples);
	if (json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) ||
	    fputc('\n', out) == EOF)
		pv_die(PV_EXIT_FAILED, "report.json: cannot write");
	json_decref(root);
}
