// SPDX-License-Identifier: GPL-2.0-only
/*
 * The report for a terminal: a table of the cells, then each cell in detail.
 */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 11
#define MAX_COLUMN 28
#define WRAP 100

static const char *const heads[COLUMNS] = {"cell",	 "workload",  "bystanders",  "overcommit",
					   "n",		 "off",	      "on",	     "unit",
					   "gained [1]", "saved [2]", "IPIs avoided"};
static const bool to_right[COLUMNS] = {true, false, false, true, true, true,
				       true, false, true,  true, false};

/* Characters, not bytes; whoever uses wide or combining ones gets a crooked table. */
static int width(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static void pad(FILE *out, int n)
{
	fprintf(out, "%*s", n > 0 ? n : 0, "");
}

/* At most @limit characters of @text. */
static char *shortened(const char *text, int limit)
{
	const char *p = text;
	int n = 0;

	if (width(text) <= limit)
		return xstrdup(text);
	for (; *p; p++) {
		if ((*p & 0xc0) != 0x80 && ++n > limit - 3)
			break;
	}
	return xformat("%.*s...", (int)(p - text), text);
}

static void wrapped(FILE *out, const char *first, const char *rest, const char *text)
{
	int column = width(first);

	fputs(first, out);
	while (*text) {
		size_t length = strcspn(text, " ");
		char *word = xformat("%.*s", (int)length, text);

		if (column + 1 + width(word) > WRAP && column > width(rest)) {
			fprintf(out, "\n%s", rest);
			column = width(rest);
		}
		column += fprintf(out, "%s%s", column > width(rest) ? " " : "", word);
		free(word);
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static const char *counts_word(const struct cell *c)
{
	if (!c->counts.shown)
		return "-";
	return c->counts.judged ? avoided_name(c->counts.avoided) : "not judged";
}

static void row_of(const struct cell *c, char *row[COLUMNS])
{
	const struct sample *s = c->any;

	row[0] = xformat("%zu", c->id);
	row[1] = shortened(s->workload, MAX_COLUMN);
	row[2] = xstrdup(bystander_names[s->bystanders]);
	row[3] = xformat("%s:1", num(s->overcommit));
	row[4] = c->n[ARM_OFF] == c->n[ARM_ON] ? xformat("%zu", c->n[ARM_ON])
					       : xformat("%zu/%zu", c->n[ARM_OFF], c->n[ARM_ON]);
	row[5] = xstrdup(c->n[ARM_OFF] ? num(centre(&c->sum[ARM_OFF], s->higher)) : "-");
	row[6] = xstrdup(c->n[ARM_ON] ? num(centre(&c->sum[ARM_ON], s->higher)) : "-");
	row[7] = shortened(s->unit, MAX_COLUMN);
	row[8] = xstrdup(percent(c->gained));
	row[9] = xstrdup(percent(c->saved));
	row[10] = xstrdup(counts_word(c));
}

static void print_row(FILE *out, const char *const row[COLUMNS], const int widths[COLUMNS],
		      const char *last)
{
	size_t i;

	for (i = 0; i < COLUMNS; i++) {
		int blank = widths[i] - width(row[i]);

		pad(out, to_right[i] ? blank : 0);
		fputs(row[i], out);
		pad(out, to_right[i] ? 2 : blank + 2);
	}
	fprintf(out, "%s\n", last);
}

static void table(FILE *out, const struct report *r)
{
	char *(*rows)[COLUMNS] = xrealloc(NULL, r->n_cells, sizeof(*rows));
	int widths[COLUMNS];
	size_t i, j;

	for (j = 0; j < COLUMNS; j++)
		widths[j] = width(heads[j]);
	for (i = 0; i < r->n_cells; i++) {
		row_of(&r->cells[i], rows[i]);
		for (j = 0; j < COLUMNS; j++)
			widths[j] = width(rows[i][j]) > widths[j] ? width(rows[i][j]) : widths[j];
	}
	print_row(out, heads, widths, "verdict");
	for (i = 0; i < r->n_cells; i++) {
		print_row(out, (const char *const *)rows[i], widths, r->cells[i].verdict_text);
		for (j = 0; j < COLUMNS; j++)
			free(rows[i][j]);
	}
	free(rows);
}

static void print_arm(FILE *out, const struct cell *c, enum arm arm)
{
	const struct summary *s = &c->sum[arm];

	if (!c->n[arm])
		return;
	fprintf(out, "  %-4s %4zu %13s %11s %11s %11s %11s %11s\n", arm_names[arm], s->n,
		num(centre(s, c->any->higher)), num(s->min), num(s->median), num(s->max),
		num(s->mean), num(s->sd));
}

static void print_counts(FILE *out, const struct cell *c)
{
	const struct counts *counts = &c->counts;
	size_t arm, i;

	fprintf(out, "  TLB IPIs per flush and remote vCPU:\n");
	for (arm = 0; arm < ARMS; arm++) {
		if (!c->n[arm])
			continue;
		fprintf(out, "    %-3s  median %s; runs", arm_names[arm], num3(counts->ipis[arm]));
		for (i = 0; i < c->n[arm]; i++)
			fprintf(out, " %s", num3(sample_ipis(c->runs[arm][i])));
		fputc('\n', out);
	}
	if (counts->judged)
		fprintf(out, "    IPIs avoided: %s; on/off %s\n", avoided_name(counts->avoided),
			num3(counts->ratio));
	else
		fprintf(out, "    informational (%s); on/off %s\n",
			counts->why_not ? counts->why_not : "only one arm", num3(counts->ratio));
}

static void detail(FILE *out, const struct report *r, const struct cell *c)
{
	const struct sample *s = c->any;
	size_t i;

	fprintf(out, "\nCell %zu: %s, %s in %s, %s is better (%s)\n", c->id, s->workload, s->metric,
		s->unit, s->higher ? "higher" : "lower", s->implementation);
	fprintf(out,
		"  %s, host %s%s, guest %s: %lld vCPUs on %lld pCPUs, overcommit %s, bystanders "
		"%s\n",
		s->lane, s->host, s->emulated ? " (emulated)" : "", s->guest, (long long)s->vcpus,
		(long long)s->pcpus, num(s->overcommit), bystander_names[s->bystanders]);
	fprintf(out, "  feature %s; params '%s'\n", s->feature, s->params);
	if (r->n_envs > 1)
		fprintf(out, "  environment %zu\n", s->env_nr + 1);
	fprintf(out, "  %-4s %4s %13s %11s %11s %11s %11s %11s\n", "", "n",
		s->higher ? "harmonic mean" : "mean", "min", "median", "max", "arith. mean",
		"std. dev.");
	print_arm(out, c, ARM_OFF);
	print_arm(out, c, ARM_ON);
	if (c->complete) {
		fprintf(out, "  Difference [3]: %s +/- %s %s (%s +/- %s), df %s\n",
			num(c->cmp.diff), num(c->cmp.half), s->unit, percent(c->cmp.percent / 100),
			percent_plain(c->cmp.half_percent / 100), num3(c->cmp.df));
		fprintf(out,
			"  Effect size [4]: %s; smallest detectable difference [5]: %s %s (%s)\n",
			num3(c->cmp.hedges_g), num(c->cmp.detectable), s->unit,
			percent_plain(c->cmp.detectable_percent / 100));
		fprintf(out, "  Throughput gained [1]: %s; time saved [2]: %s\n",
			percent(c->gained), percent(c->saved));
	}
	if (c->counts.shown)
		print_counts(out, c);
	else if (!isnan(c->ipis_per_s[ARM_OFF]) || !isnan(c->ipis_per_s[ARM_ON]))
		fprintf(out, "  TLB IPIs per second: off %s, on %s\n", num(c->ipis_per_s[ARM_OFF]),
			num(c->ipis_per_s[ARM_ON]));
	fprintf(out, "  Deferred flushes: off %s, on %s\n", num(c->deferred[ARM_OFF]),
		num(c->deferred[ARM_ON]));
	fprintf(out, "  Steal: off %s s (%s), on %s s (%s)\n", num(c->steal_s[ARM_OFF]),
		percent_plain(c->steal_share[ARM_OFF]), num(c->steal_s[ARM_ON]),
		percent_plain(c->steal_share[ARM_ON]));
	fprintf(out, "  Verdict [6]: %s%s\n", c->verdict_text,
		s->emulated && c->verdict > VERDICT_NONE && c->verdict < VERDICT_INCOMPLETE
			? " (lab timings)"
			: "");
	for (i = 0; i < c->n_notes; i++)
		wrapped(out, "  Note: ", "        ", c->notes[i]);
}

static void print_env(FILE *out, const char *title, json_t *env)
{
	const char *name;
	json_t *value;

	fprintf(out, "\n%s:\n", title);
	json_object_foreach(env, name, value)
	{
		fprintf(out, "  %s: %s\n", name, json_string_value(value));
	}
}

void report_text(FILE *out, const struct report *r)
{
	char *lead = report_lead(r);
	size_t i;

	fprintf(out, "%s\n", r->title);
	wrapped(out, "", "", lead);
	free(lead);
	if (r->n_emulated) {
		fputc('\n', out);
		wrapped(out, "", "", lab_banner);
		if (r->n_emulated < r->n_cells)
			fprintf(out, "Emulated: %zu of %zu cells.\n", r->n_emulated, r->n_cells);
	}
	fputc('\n', out);
	table(out, r);
	for (i = 0; i < r->n_cells; i++)
		detail(out, r, &r->cells[i]);
	for (i = 0; i < r->n_envs; i++) {
		char *title =
			r->n_envs > 1 ? xformat("Environment %zu", i + 1) : xstrdup("Environment");

		print_env(out, title, r->envs[i]);
		free(title);
	}
	if (r->run_env)
		print_env(out, "Environment of the whole run", r->run_env);
	fputc('\n', out);
	for (i = 0; footnotes[i]; i++) {
		char *mark = xformat("[%zu] ", i + 1);

		wrapped(out, mark, "    ", footnotes[i]);
		free(mark);
	}
}
