// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples that differ in nothing but the arm make a cell; every comparison is within one.
 */
#include "compare.h"
#include "pv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PV_TLB_FLUSH "kvm-pv-tlb-flush"

enum key_kind { KEY_TEXT, KEY_INT, KEY_COUNT, KEY_REAL, KEY_SIZE };

struct key_field {
	const char *name;
	enum key_kind kind;
	size_t offset;
};

/* What must be equal within a cell, in the order in which cells are listed. */
static const struct key_field key[] = {
	{"workload", KEY_TEXT, offsetof(struct sample, workload)},
	{"metric", KEY_TEXT, offsetof(struct sample, metric)},
	{"unit", KEY_TEXT, offsetof(struct sample, unit)},
	{"better", KEY_INT, offsetof(struct sample, higher)},
	{"implementation", KEY_TEXT, offsetof(struct sample, implementation)},
	{"feature", KEY_TEXT, offsetof(struct sample, feature)},
	{"lane", KEY_TEXT, offsetof(struct sample, lane)},
	{"emulated", KEY_INT, offsetof(struct sample, emulated)},
	{"host", KEY_TEXT, offsetof(struct sample, host)},
	{"guest", KEY_TEXT, offsetof(struct sample, guest)},
	{"env", KEY_SIZE, offsetof(struct sample, env_nr)},
	{"bystanders", KEY_INT, offsetof(struct sample, bystanders)},
	{"overcommit", KEY_REAL, offsetof(struct sample, overcommit)},
	{"vcpus", KEY_COUNT, offsetof(struct sample, vcpus)},
	{"pcpus", KEY_COUNT, offsetof(struct sample, pcpus)},
	{"params", KEY_TEXT, offsetof(struct sample, params)},
};

#define N_KEY (sizeof(key) / sizeof(key[0]))
#define ORDER(x, y) (((x) > (y)) - ((x) < (y)))

const char lab_banner[] =
	"Lab timings: the host is emulated (QEMU TCG), no silicon ran this. Counts (TLB IPIs, "
	"deferred "
	"flushes) are facts about the software; times and rates say nothing about real hardware.";

const char *const footnotes[] = {
	"Throughput gained: for rates R_on / R_off - 1, for times T_off / T_on - 1.",
	"Time saved: for rates 1 - R_off / R_on, for times 1 - T_on / T_off. R is the harmonic "
	"mean "
	"of the runs' rates, T the arithmetic mean of their times; both formulas describe the same "
	"change.",
	"Difference: arithmetic mean of on minus arithmetic mean of off, with its 95 % interval "
	"after "
	"Welch (degrees of freedom after Satterthwaite); in percent of the mean of off, which is "
	"taken "
	"as exact.",
	"Effect size: Hedges' g = J (mean on - mean off) / pooled standard deviation, J being the "
	"exact "
	"small-sample factor.",
	"Smallest detectable difference: (t(0.975, df) + t(0.80, df)) x standard error, the "
	"difference "
	"that runs like these find with 80 % power at a two-sided alpha of 5 %.",
	"Verdict: only in the full profile, from 10 runs in both arms. 'no difference larger than "
	"X %' "
	"when the whole interval is within +/-X %, else 'gain' or 'loss' when it excludes 0, else "
	"none.",
	"TLB IPIs per flush and remote vCPU: tlb_ipis / (flushes x remote_vcpus); about 1 when "
	"every "
	"flush interrupts every remote vCPU. IPIs avoided: yes when every off run has at least 0.5 "
	"and "
	"every on run less; no when every on run has at least 0.5; else mixed. Judged only with "
	"busy "
	"bystanders and overcommit above 1.",
	"Steal share: steal_s / (elapsed_s x vcpus), median of the runs. Counts and steal are "
	"medians, "
	"with the mean of the two middle runs when their number is even.",
	NULL,
};

static int compare_field(const struct key_field *field, const struct sample *a,
			 const struct sample *b)
{
	const void *x = (const char *)a + field->offset;
	const void *y = (const char *)b + field->offset;

	switch (field->kind) {
	case KEY_TEXT:
		return strcmp(*(const char *const *)x, *(const char *const *)y);
	case KEY_INT:
		return ORDER(*(const int *)x, *(const int *)y);
	case KEY_COUNT:
		return ORDER(*(const json_int_t *)x, *(const json_int_t *)y);
	case KEY_REAL:
		return ORDER(*(const double *)x, *(const double *)y);
	case KEY_SIZE:
		return ORDER(*(const size_t *)x, *(const size_t *)y);
	}
	return 0;
}

static int compare_key(const struct sample *a, const struct sample *b)
{
	int order = 0;
	size_t i;

	for (i = 0; i < N_KEY && !order; i++)
		order = compare_field(&key[i], a, b);
	return order;
}

static int by_cell(const void *x, const void *y)
{
	const struct sample *a = x;
	const struct sample *b = y;
	int order = compare_key(a, b);

	if (!order)
		order = ORDER(a->arm, b->arm);
	if (!order)
		order = ORDER(a->position, b->position);
	if (!order)
		order = ORDER(a->run, b->run);
	if (!order)
		order = strcmp(a->source, b->source);
	return order ? order : ORDER(a->line, b->line);
}

const char *avoided_name(enum avoided avoided)
{
	static const char *const names[] = {"unknown", "yes", "no", "mixed"};

	return names[avoided];
}

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = {"none", "gain", "loss", "same", "incomplete"};

	return names[verdict];
}

static void __attribute__((format(printf, 2, 3))) note(struct cell *c, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->notes = xrealloc(c->notes, c->n_notes + 1, sizeof(*c->notes));
	c->notes[c->n_notes++] = xstrdup(text);
}

/* Numbers the distinct environments; false when there are several and that is not allowed. */
static bool number_envs(struct report *r)
{
	struct sample_list *list = &r->list;
	const struct sample *first = &list->samples[0];
	size_t i, nr;

	for (i = 0; i < list->n; i++) {
		struct sample *s = &list->samples[i];
		const char *name;
		json_t *value;

		for (nr = 0; nr < r->n_envs; nr++) {
			if (json_equal(r->envs[nr], s->env))
				break;
		}
		s->env_nr = nr;
		if (nr < r->n_envs)
			continue;
		r->envs = xrealloc(r->envs, r->n_envs + 1, sizeof(*r->envs));
		r->envs[r->n_envs++] = s->env;
		if (nr == 0 || r->allow_mixed_env)
			continue;
		pv_warn("%s:%zu and %s:%zu: env differs (--allow-mixed-env keeps them apart):",
			first->source, first->line, s->source, s->line);
		json_object_foreach(s->env, name, value)
		{
			json_t *other = json_object_get(first->env, name);

			if (!other || !json_equal(other, value))
				pv_warn("  env %s: %s, %s", name,
					other ? json_string_value(other) : "(missing)",
					json_string_value(value));
		}
		json_object_foreach(first->env, name, value)
		{
			if (!json_object_get(s->env, name))
				pv_warn("  env %s: %s, (missing)", name, json_string_value(value));
		}
	}
	return r->n_envs == 1 || r->allow_mixed_env;
}

/* @samples are sorted: those of one workload and metric are neighbours. */
static bool check_units(const struct sample *samples, size_t n)
{
	const struct sample *first = samples;
	bool good = true;
	size_t i;

	for (i = 1; i < n; i++) {
		const struct sample *s = &samples[i];
		bool unit;

		if (strcmp(s->workload, first->workload) != 0 ||
		    strcmp(s->metric, first->metric) != 0) {
			first = s;
			continue;
		}
		unit = strcmp(s->unit, first->unit) != 0;
		if (!unit && s->higher == first->higher)
			continue;
		pv_warn("%s:%zu and %s:%zu: %s %s: %s is %s and %s: mixed, cannot be compared",
			first->source, first->line, s->source, s->line, s->workload, s->metric,
			unit ? "unit" : "better",
			unit		? first->unit
			: first->higher ? "higher"
					: "lower",
			unit	    ? s->unit
			: s->higher ? "higher"
				    : "lower");
		good = false;
	}
	return good;
}

static bool check_duplicates(const struct cell *c)
{
	bool good = true;
	size_t arm, i, j;

	for (arm = 0; arm < ARMS; arm++) {
		for (i = 1; i < c->n[arm]; i++) {
			const struct sample *a = c->runs[arm][i];

			for (j = 0; j < i; j++) {
				const struct sample *b = c->runs[arm][j];

				if (a->run != b->run)
					continue;
				pv_warn("%s:%zu and %s:%zu: duplicate sample: both are run %lld "
					"of arm %s in the same cell",
					b->source, b->line, a->source, a->line, (long long)a->run,
					arm_names[arm]);
				good = false;
				break;
			}
		}
	}
	return good;
}

static char *cell_label(const struct sample *s)
{
	return xformat("%s %s, %s, params '%s', bystanders %s, %s on %s %s, guest %s, "
		       "%lld vCPUs on %lld pCPUs, overcommit %s",
		       s->workload, s->metric, s->implementation, s->params,
		       bystander_names[s->bystanders], s->feature, s->lane, s->host, s->guest,
		       (long long)s->vcpus, (long long)s->pcpus, num(s->overcommit));
}

/* What keeps the runs of @c apart from those of the most similar cell with the arm it lacks. */
static void explain_incomplete(const struct report *r, const struct cell *c, enum arm missing)
{
	const struct cell *nearest = NULL;
	size_t fewest = 4;
	size_t i, k;

	for (i = 0; i < r->n_cells; i++) {
		size_t differ = 0;

		if (!r->cells[i].n[missing] || r->cells[i].complete)
			continue;
		for (k = 0; k < N_KEY; k++)
			differ += compare_field(&key[k], c->any, r->cells[i].any) != 0;
		if (differ < fewest) {
			fewest = differ;
			nearest = &r->cells[i];
		}
	}
	if (!nearest)
		return;
	for (k = 0; k < N_KEY; k++) {
		if (compare_field(&key[k], c->any, nearest->any))
			pv_warn("  there are runs with arm %s that differ in %s: %s:%zu",
				arm_names[missing], key[k].name, nearest->any->source,
				nearest->any->line);
	}
}

static bool check_complete(const struct report *r)
{
	bool good = true;
	size_t i;

	for (i = 0; i < r->n_cells; i++) {
		const struct cell *c = &r->cells[i];
		enum arm missing = c->n[ARM_OFF] ? ARM_ON : ARM_OFF;
		char *label;

		if (c->complete)
			continue;
		label = cell_label(c->any);
		pv_warn("%s:%zu: no run with arm %s to compare with (--allow-partial lists such "
			"cells "
			"as incomplete): %s",
			c->any->source, c->any->line, arm_names[missing], label);
		free(label);
		explain_incomplete(r, c, missing);
		good = false;
	}
	return good;
}

static double median_of(const struct cell *c, enum arm arm, double (*get)(const struct sample *))
{
	double *values = xrealloc(NULL, c->n[arm], sizeof(*values));
	double median;
	size_t i;

	for (i = 0; i < c->n[arm]; i++)
		values[i] = get(c->runs[arm][i]);
	median = median_known(values, c->n[arm]);
	free(values);
	return median;
}

static double get_ipi_rate(const struct sample *s)
{
	return s->tlb_ipis < 0 ? NAN : (double)s->tlb_ipis / s->elapsed_s;
}

static double get_deferred(const struct sample *s)
{
	return s->deferred_flushes < 0 ? NAN : (double)s->deferred_flushes;
}

static double get_steal(const struct sample *s)
{
	return s->steal_s;
}

static const char *not_judged(const struct sample *s)
{
	if (!strcmp(s->lane, "arm64"))
		return "arm64 invalidates TLBs by broadcast instruction, without IPIs";
	if (strcmp(s->feature, PV_TLB_FLUSH) != 0)
		return "the feature is not about TLB IPIs";
	if (s->bystanders == BYSTANDERS_NONE)
		return "no bystanders to interrupt";
	if (s->bystanders == BYSTANDERS_IDLE)
		return strcmp(s->lane, "x86") != 0
			       ? "bystanders sleep"
			       : "no gain expected on x86: lazy TLB keeps sleepers out";
	if (!(s->overcommit > 1))
		return "no gain expected without overcommit: nothing is preempted";
	return NULL;
}

static void count(struct cell *c)
{
	struct counts *counts = &c->counts;
	size_t above[ARMS] = {0};
	size_t unknown = 0;
	size_t arm, i;

	counts->shown = !strcmp(c->any->workload, "tlb");
	counts->why_not = not_judged(c->any);
	counts->judged = counts->shown && !counts->why_not && c->complete;
	for (arm = 0; arm < ARMS; arm++) {
		counts->ipis[arm] = median_of(c, arm, sample_ipis);
		for (i = 0; i < c->n[arm]; i++) {
			double ipis = sample_ipis(c->runs[arm][i]);

			unknown += isnan(ipis);
			above[arm] += ipis >= IPI_THRESHOLD;
		}
	}
	counts->ratio =
		counts->ipis[ARM_OFF] > 0 ? counts->ipis[ARM_ON] / counts->ipis[ARM_OFF] : NAN;
	if (unknown)
		counts->avoided = AVOIDED_UNKNOWN;
	else if (above[ARM_OFF] == c->n[ARM_OFF] && above[ARM_ON] == 0)
		counts->avoided = AVOIDED_YES;
	else if (above[ARM_OFF] == c->n[ARM_OFF] && above[ARM_ON] == c->n[ARM_ON])
		counts->avoided = AVOIDED_NO;
	else
		counts->avoided = AVOIDED_MIXED;
	if (!counts->judged)
		counts->avoided = AVOIDED_UNKNOWN;
}

/* Drift passes for an effect when one arm was over before the other began. */
static bool interleaved(const struct cell *c)
{
	json_int_t off_first = c->runs[ARM_OFF][0]->position;
	json_int_t off_last = c->runs[ARM_OFF][c->n[ARM_OFF] - 1]->position;
	json_int_t on_first = c->runs[ARM_ON][0]->position;
	json_int_t on_last = c->runs[ARM_ON][c->n[ARM_ON] - 1]->position;

	return c->n[ARM_OFF] < 2 || c->n[ARM_ON] < 2 ||
	       (off_first <= on_last && on_first <= off_last);
}

enum verdict judge(const struct comparison *cmp, size_t n_off, size_t n_on, bool higher,
		   double equivalence, char **text)
{
	double low = cmp->percent - cmp->half_percent;
	double high = cmp->percent + cmp->half_percent;
	bool more;

	if (n_off < MIN_RUNS || n_on < MIN_RUNS) {
		*text = xformat("no verdict (%zu off and %zu on runs, %d of each needed)", n_off,
				n_on, MIN_RUNS);
		return VERDICT_NONE;
	}
	if (!isfinite(low) || !isfinite(high)) {
		*text = xstrdup("no verdict (numbers too large to compare)");
		return VERDICT_NONE;
	}
	if (low >= -equivalence && high <= equivalence) {
		*text = xformat("no difference larger than %g %%", equivalence);
		return VERDICT_SAME;
	}
	if (low <= 0 && high >= 0) {
		*text = xformat("no verdict (underpowered: between %s and %s, detectable from %s)",
				percent(low / 100), percent(high / 100),
				percent_plain(cmp->detectable_percent / 100));
		return VERDICT_NONE;
	}
	more = low > 0;
	*text = xstrdup(more == higher ? "gain" : "loss");
	return more == higher ? VERDICT_GAIN : VERDICT_LOSS;
}

static void decide(const struct report *r, struct cell *c)
{
	if (!c->complete) {
		c->verdict = VERDICT_INCOMPLETE;
		c->verdict_text = xformat("incomplete: no run with arm %s",
					  arm_names[c->n[ARM_OFF] ? ARM_ON : ARM_OFF]);
	} else if (!r->full) {
		c->verdict = VERDICT_NONE;
		c->verdict_text = xstrdup("no verdict (quick profile: counts only)");
	} else if (!interleaved(c)) {
		c->verdict = VERDICT_NONE;
		c->verdict_text = xstrdup("no verdict (arms not interleaved)");
	} else {
		c->verdict = judge(&c->cmp, c->n[ARM_OFF], c->n[ARM_ON], c->any->higher,
				   r->equivalence, &c->verdict_text);
	}
}

static void add_notes(struct cell *c)
{
	double low = c->cmp.percent - c->cmp.half_percent;
	double high = c->cmp.percent + c->cmp.half_percent;
	bool too_much = false;
	bool deferred = false;
	size_t arm, i;

	for (arm = 0; arm < ARMS; arm++) {
		for (i = 0; i < c->n[arm]; i++) {
			too_much |= sample_steal_share(c->runs[arm][i]) > 1.01;
			deferred |= c->runs[arm][i]->deferred_flushes != 0;
		}
		if (c->n[arm] > 1 && c->sum[arm].sd == 0)
			note(c,
			     "all %s runs have the same value: the unit or the clock is too coarse "
			     "to "
			     "show their spread",
			     arm_names[arm]);
	}
	if (too_much)
		note(c, "more time was stolen than the vCPUs had: steal_s or elapsed_s is wrong");
	if (!c->complete)
		return;
	if (!interleaved(c))
		note(c, "one arm was over before the other began: drift can pass for an effect");
	if (c->n[ARM_OFF] != c->n[ARM_ON])
		note(c, "%zu off and %zu on runs: the pairs are not complete", c->n[ARM_OFF],
		     c->n[ARM_ON]);
	if (c->verdict == VERDICT_SAME && (low > 0 || high < 0))
		note(c, "small but consistent: the interval excludes 0");
	if (c->counts.avoided == AVOIDED_YES && !deferred)
		note(c, "IPIs avoided, yet the host counted no deferred flush");
}

static void fill(const struct report *r, struct cell *c)
{
	double *values;
	size_t arm, i;

	for (arm = 0; arm < ARMS; arm++) {
		if (c->n[arm]) {
			values = xrealloc(NULL, c->n[arm], sizeof(*values));
			for (i = 0; i < c->n[arm]; i++)
				values[i] = c->runs[arm][i]->value;
			c->sum[arm] = summarize(values, c->n[arm]);
			free(values);
		}
		c->ipis_per_s[arm] = median_of(c, arm, get_ipi_rate);
		c->deferred[arm] = median_of(c, arm, get_deferred);
		c->steal_s[arm] = median_of(c, arm, get_steal);
		c->steal_share[arm] = median_of(c, arm, sample_steal_share);
	}
	c->gained = NAN;
	c->saved = NAN;
	if (c->complete) {
		const struct summary *off = &c->sum[ARM_OFF];
		const struct summary *on = &c->sum[ARM_ON];

		c->cmp = compare(off, on);
		c->gained = throughput_gained(off, on, c->any->higher);
		c->saved = time_saved(off, on, c->any->higher);
	}
	count(c);
	decide(r, c);
	add_notes(c);
}

static void group(struct report *r)
{
	struct sample_list *list = &r->list;
	struct cell *c = NULL;
	size_t i;

	for (i = 0; i < list->n; i++) {
		struct sample *s = &list->samples[i];

		s->id = i + 1;
		if (!c || compare_key(c->any, s)) {
			r->cells = xrealloc(r->cells, r->n_cells + 1, sizeof(*r->cells));
			c = &r->cells[r->n_cells++];
			*c = (struct cell){.id = r->n_cells, .any = s};
		}
		c->runs[s->arm] = xrealloc(c->runs[s->arm], c->n[s->arm] + 1, sizeof(s));
		c->runs[s->arm][c->n[s->arm]++] = s;
	}
	for (i = 0; i < r->n_cells; i++) {
		c = &r->cells[i];
		c->complete = c->n[ARM_OFF] && c->n[ARM_ON];
		r->n_emulated += c->any->emulated != 0;
	}
}

bool report_build(struct report *r)
{
	struct sample_list *list = &r->list;
	bool good;
	size_t i;

	good = number_envs(r);
	qsort(list->samples, list->n, sizeof(*list->samples), by_cell);
	good &= check_units(list->samples, list->n);
	group(r);
	for (i = 0; i < r->n_cells; i++)
		good &= check_duplicates(&r->cells[i]);
	if (!good)
		return false;
	if (!r->allow_partial && !check_complete(r))
		return false;
	for (i = 0; i < r->n_cells; i++)
		fill(r, &r->cells[i]);
	return true;
}

/* The distinct texts at @offset of the cells' samples: "a", "a and b", "a, b and c". */
static char *distinct(const struct report *r, size_t offset)
{
	const char **seen = xrealloc(NULL, r->n_cells, sizeof(*seen));
	char *text = xstrdup("");
	size_t n = 0;
	size_t i, j;

	for (i = 0; i < r->n_cells; i++) {
		const char *value = *(const char *const *)((const char *)r->cells[i].any + offset);

		for (j = 0; j < n && strcmp(seen[j], value) != 0; j++)
			;
		if (j == n)
			seen[n++] = value;
	}
	for (i = 0; i < n; i++) {
		char *more = xformat("%s%s%s", text,
				     i == 0	  ? ""
				     : i + 1 == n ? " and "
						  : ", ",
				     seen[i]);

		free(text);
		text = more;
	}
	free(seen);
	return text;
}

char *report_lead(const struct report *r)
{
	char *features = distinct(r, offsetof(struct sample, feature));
	char *workloads = distinct(r, offsetof(struct sample, workload));
	char *lanes = distinct(r, offsetof(struct sample, lane));
	double low = r->cells[0].any->overcommit;
	double high = low;
	char *overcommit, *lead;
	size_t i;

	for (i = 1; i < r->n_cells; i++) {
		low = fmin(low, r->cells[i].any->overcommit);
		high = fmax(high, r->cells[i].any->overcommit);
	}
	overcommit = low == high ? xformat("%s:1", num(low))
				 : xformat("%s:1 to %s:1", num(low), num(high));
	lead = xformat("%s switched off and on, measured with %s on %s at %s vCPUs per pCPU. %zu "
		       "sample%s in %zu cell%s, %s profile: within a cell nothing differs but the "
		       "arm, and runs are compared only there.",
		       features, workloads, lanes, overcommit, r->list.n, r->list.n == 1 ? "" : "s",
		       r->n_cells, r->n_cells == 1 ? "" : "s", r->full ? "full" : "quick");
	free(features);
	free(workloads);
	free(lanes);
	free(overcommit);
	return lead;
}

void report_free(struct report *r)
{
	size_t arm, i, j;

	for (i = 0; i < r->n_cells; i++) {
		struct cell *c = &r->cells[i];

		for (arm = 0; arm < ARMS; arm++)
			free(c->runs[arm]);
		for (j = 0; j < c->n_notes; j++)
			free(c->notes[j]);
		free(c->notes);
		free(c->verdict_text);
		free(c->svg_values);
		free(c->svg_ipis);
	}
	free(r->cells);
	free(r->envs);
	free(r->svg_speed);
	free(r->svg_ipis);
	for (i = 0; i < r->n_series; i++)
		free(r->series[i]);
	free(r->series);
	json_decref(r->run_env);
	samples_free(&r->list);
}
