// SPDX-License-Identifier: GPL-2.0-only
/*
 * The report for a browser: one file, no scripts, nothing loaded from elsewhere. It is well-formed
 * XML too. Everything that is not a literal of this file goes through say(), which escapes.
 */
#include "compare.h"
#include "pv.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--muted:#5b6470;--rule:#dfe3e8;"
	"--card:#f6f7f9;--off:#3b74b9;--on:#d9680f;--gain:#1a7f4b;--loss:#c0322b;--same:#5a5fb0;"
	"--warn-bg:#fff4d6;--warn-fg:#6b4b00;--warn-rule:#e8c66a;--link:#1f5fbf;"
	"--t0:#3b74b9;--t1:#d9680f;--t2:#1f8a5f;--t3:#8b5fbf;--t4:#b8336a;--t5:#7a6a2f}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e4e7eb;--muted:#9aa4b0;"
	"--rule:#333a43;--card:#1c2127;--off:#79b0f0;--on:#ffa657;--gain:#56c98c;--loss:#ff8078;"
	"--same:#a5a9f5;--warn-bg:#3a2f10;--warn-fg:#ffdf94;--warn-rule:#7a6220;--link:#85b7ff;"
	"--t0:#79b0f0;--t1:#ffa657;--t2:#62cfa0;--t3:#c2a1f0;--t4:#f084ad;--t5:#cfbf78}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;padding:1.5rem 1.25rem 4rem;max-width:80rem;background:var(--bg);"
	"color:var(--fg);font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',"
	"sans-serif}\n"
	"h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0}\n"
	"h2{font-size:1.25rem;margin:2.5rem 0 .75rem;padding-bottom:.25rem;border-bottom:1px solid "
	"var(--rule)}\n"
	"h3{font-size:1.05rem;margin:0 0 .15rem}\n"
	"p{margin:.5rem 0;max-width:60rem}a{color:var(--link)}\n"
	"nav{color:var(--muted)}nav a{margin-right:1rem}\n"
	".meta,.sub,figcaption,.note{color:var(--muted);font-size:.87rem}\n"
	".sub{display:block}\n"
	".banner{background:var(--warn-bg);color:var(--warn-fg);border:1px solid var(--warn-rule);"
	"border-left-width:5px;border-radius:6px;padding:.6rem .9rem;margin:1rem 0}\n"
	".wide{overflow-x:auto;margin:.75rem 0}\n"
	"table{border-collapse:collapse;font-size:.9rem}\n"
	"th,td{padding:.35rem .5rem;text-align:left;vertical-align:top;border-bottom:1px solid "
	"var(--rule)}\n"
	"thead th{font-size:.8rem;font-weight:600;color:var(--muted);vertical-align:bottom}\n"
	".n,.tight{white-space:nowrap}.wrap{overflow-wrap:anywhere}\n"
	".n{text-align:right;font-variant-numeric:tabular-nums}th.n{text-align:right;white-space:"
	"normal}td.verdict{min-width:9.5rem}\n"
	".facts th{font-weight:400;color:var(--muted)}.facts th,.facts td{padding:.2rem .6rem "
	".2rem 0}\n"
	".whole{width:100%}tbody th{font-weight:600}\n"
	"tr:target,section:target h3{background:var(--warn-bg)}\n"
	"sup a{text-decoration:none}\n"
	".badge{display:inline-block;border:1px solid currentColor;border-radius:1rem;padding:0 "
	".6rem;font-size:.82rem;font-weight:600}\n"
	".gain,.yes{color:var(--gain)}.loss,.no{color:var(--loss)}.same{color:var(--same)}"
	".mixed{color:var(--on)}.none,.incomplete,.unknown{color:var(--muted)}\n"
	".cell{border:1px solid var(--rule);border-radius:8px;background:var(--card);padding:1rem "
	"1.1rem;margin:1rem 0}\n"
	".plots{display:flex;flex-wrap:wrap;gap:1rem 2rem;margin:.75rem 0}\n"
	"figure{margin:0;flex:1 1 22rem;max-width:34rem}\n"
	".cell figure{flex:0 1 24rem}.cell .badge+.sub{display:inline;margin-left:.5rem}\n"
	".facts sup{line-height:0}.runs{margin:.2rem 0}\n"
	"figcaption{margin-top:.25rem}.said{flex:1 1 22rem}.said p:first-child{margin-top:0}\n"
	"svg.plot{display:block;width:100%;height:auto;color:var(--fg);overflow:visible}\n"
	"svg.plot text{font-family:system-ui,'DejaVu Sans',sans-serif}\n"
	".gridline{stroke:var(--rule);stroke-dasharray:none}\n"
	".dot{stroke:var(--bg);stroke-width:1;fill-opacity:.85}\n"
	"a:hover .dot,a:focus .dot{stroke:var(--fg);stroke-width:2}\n"
	".dot.off{fill:var(--off)}.dot.on{fill:var(--on)}\n"
	".k1{stroke:var(--off)}.k2{stroke:var(--on)}.k3{stroke:var(--muted)}\n"
	".t0{fill:var(--t0)}.t0.open{fill:var(--bg);stroke:var(--t0);stroke-width:2}.k10{stroke:"
	"var(--t0)}\n"
	".t1{fill:var(--t1)}.t1.open{fill:var(--bg);stroke:var(--t1);stroke-width:2}.k11{stroke:"
	"var(--t1)}\n"
	".t2{fill:var(--t2)}.t2.open{fill:var(--bg);stroke:var(--t2);stroke-width:2}.k12{stroke:"
	"var(--t2)}\n"
	".t3{fill:var(--t3)}.t3.open{fill:var(--bg);stroke:var(--t3);stroke-width:2}.k13{stroke:"
	"var(--t3)}\n"
	".t4{fill:var(--t4)}.t4.open{fill:var(--bg);stroke:var(--t4);stroke-width:2}.k14{stroke:"
	"var(--t4)}\n"
	".t5{fill:var(--t5)}.t5.open{fill:var(--bg);stroke:var(--t5);stroke-width:2}.k15{stroke:"
	"var(--t5)}\n"
	".key{list-style:none;padding:0;margin:.5rem 0;font-size:.87rem}\n"
	".key li{margin-right:1.25rem;display:inline-block}\n"
	".swatch{display:inline-block;width:.75rem;height:.75rem;border-radius:50%;margin-right:"
	".4rem;vertical-align:-1px}\n"
	".swatch.off{background:var(--off)}.swatch.on{background:var(--on)}\n"
	"pre{overflow-x:auto;font-size:.78rem;line-height:1.4;background:var(--card);border:1px "
	"solid var(--rule);border-radius:6px;padding:.6rem}\n"
	"summary{cursor:pointer;color:var(--muted);font-size:.87rem}\n"
	"ol.notes{font-size:.9rem;max-width:60rem}ol.notes li{margin:.3rem 0}\n"
	"@media print{body{max-width:none}.cell{break-inside:avoid}}\n";

/* printf() that knows %s (escaped), %zu, %lld and %% only. */
static void __attribute__((format(printf, 2, 3))) say(FILE *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	for (; *fmt; fmt++) {
		if (*fmt != '%') {
			putc(*fmt, out);
		} else if (!strncmp(fmt, "%s", 2)) {
			put_escaped(out, va_arg(ap, const char *));
			fmt += 1;
		} else if (!strncmp(fmt, "%zu", 3)) {
			fprintf(out, "%zu", va_arg(ap, size_t));
			fmt += 2;
		} else if (!strncmp(fmt, "%lld", 4)) {
			fprintf(out, "%lld", va_arg(ap, long long));
			fmt += 3;
		} else {
			putc('%', out);
			fmt += fmt[1] == '%';
		}
	}
	va_end(ap);
}

static void mark(FILE *out, size_t note)
{
	say(out, "<sup><a href=\"#note%zu\">%zu</a></sup>", note, note);
}

static void head(FILE *out, const char *name, bool number, size_t note)
{
	say(out, number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">");
	say(out, "%s", name);
	if (note)
		mark(out, note);
	say(out, "</th>");
}

static void badge(FILE *out, const char *class, const char *text)
{
	say(out, "<span class=\"badge %s\">%s</span>", class, text);
}

/* The word on the badge; the reason, if any, goes below it, @whole or its beginning. */
static void verdict(FILE *out, const struct cell *c, bool whole)
{
	const char *name = verdict_name(c->verdict);
	const char *reason = strchr(c->verdict_text, '(');

	switch (c->verdict) {
	case VERDICT_NONE:
		badge(out, name, "no verdict");
		if (reason) {
			char *inner = xformat("%.*s", (int)strcspn(reason + 1, whole ? ")" : ":)"),
					      reason + 1);

			say(out, "<span class=\"sub\">%s</span>", inner);
			free(inner);
		}
		break;
	case VERDICT_INCOMPLETE:
		badge(out, name, "incomplete");
		say(out, "<span class=\"sub\">one arm only</span>");
		break;
	default:
		badge(out, name, c->verdict_text);
		if (c->any->emulated)
			say(out, "<span class=\"sub\">lab timings</span>");
	}
}

static void ipis_avoided(FILE *out, const struct cell *c)
{
	const struct counts *counts = &c->counts;

	if (!counts->shown) {
		say(out, "–");
		return;
	}
	if (counts->judged)
		badge(out, avoided_name(counts->avoided), avoided_name(counts->avoided));
	else
		say(out, "not judged");
	say(out, "<span class=\"sub tight\">%s → %s</span>", num3(counts->ipis[ARM_OFF]),
	    num3(counts->ipis[ARM_ON]));
}

static void plus_minus(FILE *out, const char *value, const char *half)
{
	if (!strcmp(half, "n/a"))
		say(out, "%s, no interval", value);
	else
		say(out, "%s ± %s", value, half);
}

static void summary_row(FILE *out, const struct cell *c)
{
	const struct sample *s = c->any;
	size_t arm;

	say(out,
	    "<tr><th scope=\"row\"><a href=\"#c%zu\">%zu</a></th>"
	    "<td>%s<span class=\"sub\">%s, %s</span></td>",
	    c->id, c->id, s->workload, s->metric, s->unit);
	say(out,
	    "<td class=\"tight\">%s:1, bystanders %s<span class=\"sub\">%s, %lld vCPUs on %lld "
	    "pCPUs</span></td>",
	    num(s->overcommit), bystander_names[s->bystanders], s->lane, (long long)s->vcpus,
	    (long long)s->pcpus);
	for (arm = 0; arm < ARMS; arm++) {
		if (c->n[arm])
			say(out, "<td class=\"n\">%s<span class=\"sub\">n = %zu</span></td>",
			    num(centre(&c->sum[arm], s->higher)), c->n[arm]);
		else
			say(out, "<td class=\"n\">–<span class=\"sub\">n = 0</span></td>");
	}
	say(out, "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">",
	    percent(c->gained), percent(c->saved));
	if (c->complete) {
		plus_minus(out, percent(c->cmp.percent / 100),
			   percent_plain(c->cmp.half_percent / 100));
		say(out, "<span class=\"sub\">detectable: %s</span>",
		    percent_plain(c->cmp.detectable_percent / 100));
	} else {
		say(out, "n/a");
	}
	say(out, "</td><td>");
	ipis_avoided(out, c);
	say(out, "</td><td class=\"verdict\">");
	verdict(out, c, false);
	say(out, "</td></tr>\n");
}

static void summary_table(FILE *out, const struct report *r)
{
	size_t i;

	say(out, "<h2 id=\"summary\">Summary</h2>\n<div class=\"wide\"><table class=\"whole\">"
		 "<thead><tr>");
	head(out, "Cell", false, 0);
	head(out, "Workload", false, 0);
	head(out, "Setting", false, 0);
	head(out, "off", true, 0);
	head(out, "on", true, 0);
	head(out, "Throughput gained", true, 1);
	head(out, "Time saved", true, 2);
	head(out, "Difference", true, 3);
	head(out, "IPIs avoided", false, 7);
	head(out, "Verdict", false, 6);
	say(out, "</tr></thead>\n<tbody>\n");
	for (i = 0; i < r->n_cells; i++)
		summary_row(out, &r->cells[i]);
	say(out, "</tbody></table></div>\n"
		 "<p class=\"meta\">off and on: harmonic mean of rates, arithmetic mean of "
		 "times.</p>\n");
}

static void figure(FILE *out, const char *svg)
{
	say(out, "<figure>");
	fputs(svg, out);
	say(out, "<figcaption>");
}

static void overview(FILE *out, const struct report *r)
{
	size_t i;

	if (!r->svg_speed && !r->svg_ipis)
		return;
	say(out, "<h2 id=\"overview\">On relative to off</h2>\n<ul class=\"key\">");
	for (i = 0; i < r->n_series; i++)
		say(out,
		    "<li><span class=\"swatch\" style=\"background:var(--t%zu)\"></span>%s</li>",
		    i % SERIES_COLOURS, r->series[i]);
	say(out, "</ul>\n<div class=\"plots\">");
	if (r->svg_speed) {
		figure(out, r->svg_speed);
		say(out,
		    "Throughput, on / off: above 1 the feature helps%s. Filled: a verdict was "
		    "reached; open: none.</figcaption></figure>\n",
		    r->n_emulated ? " (lab timings)" : "");
	}
	if (r->svg_ipis) {
		figure(out, r->svg_ipis);
		say(out, "TLB IPIs per flush and remote vCPU, on / off: below 1 the feature avoids "
			 "interrupts.</figcaption></figure>\n");
	}
	say(out, "</div>\n");
}

static void stats_row(FILE *out, const struct cell *c, enum arm arm)
{
	const struct summary *s = &c->sum[arm];
	/* The centre of times is their arithmetic mean: not twice. */
	const double values[] = {s->hmean, s->mean, s->min, s->median, s->max, s->sd};
	size_t i;

	if (!c->n[arm])
		return;
	say(out, "<tr><th scope=\"row\"><span class=\"swatch %s\"></span>%s</th>", arm_names[arm],
	    arm_names[arm]);
	say(out, "<td class=\"n\">%zu</td>", s->n);
	for (i = c->any->higher ? 0 : 1; i < sizeof(values) / sizeof(values[0]); i++)
		say(out, "<td class=\"n\">%s</td>", num(values[i]));
	if (c->counts.shown)
		say(out, "<td class=\"n\">%s</td>", num3(c->counts.ipis[arm]));
	else
		say(out, "<td class=\"n\">%s</td>", num(c->ipis_per_s[arm]));
	say(out, "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
	    num(c->deferred[arm]), num(c->steal_s[arm]), percent_plain(c->steal_share[arm]));
}

static void stats_table(FILE *out, const struct cell *c)
{
	say(out, "<div class=\"wide\"><table><thead><tr>");
	head(out, "arm", false, 0);
	head(out, "runs", true, 0);
	if (c->any->higher)
		head(out, "harmonic mean", true, 0);
	head(out, "arith. mean", true, 0);
	head(out, "min", true, 0);
	head(out, "median", true, 0);
	head(out, "max", true, 0);
	head(out, "std. dev.", true, 0);
	head(out, c->counts.shown ? "IPIs/(flush·vCPU)" : "TLB IPIs/s", true,
	     c->counts.shown ? 7 : 0);
	head(out, "deferred", true, 0);
	head(out, "steal s", true, 8);
	head(out, "steal share", true, 8);
	say(out, "</tr></thead><tbody>\n");
	stats_row(out, c, ARM_OFF);
	stats_row(out, c, ARM_ON);
	say(out, "</tbody></table></div>\n");
}

static void cell_plots(FILE *out, const struct cell *c)
{
	const struct sample *s = c->any;

	if (!c->svg_values)
		return;
	figure(out, c->svg_values);
	say(out,
	    "%s in %s, %s is better. One point per run, from left to right in the order they were "
	    "made; line: %s",
	    s->metric, s->unit, s->higher ? "higher" : "lower",
	    s->higher ? "harmonic mean" : "mean");
	if (c->n[ARM_OFF] > 2 || c->n[ARM_ON] > 2)
		say(out, "; bar: 95 %% interval of the arithmetic mean");
	say(out, ".</figcaption></figure>\n");
	if (c->svg_ipis) {
		figure(out, c->svg_ipis);
		say(out, "TLB IPIs per flush and remote vCPU. Line: median; dashes: 0.5, below "
			 "which IPIs count as avoided. About 1 when every flush interrupts every "
			 "remote vCPU.</figcaption></figure>\n");
	}
}

static void fact(FILE *out, const char *name, size_t note)
{
	say(out, "<tr><th scope=\"row\">%s", name);
	mark(out, note);
	say(out, "</th><td>");
}

static void cell_comparison(FILE *out, const struct cell *c)
{
	const struct comparison *cmp = &c->cmp;
	const struct sample *s = c->any;

	say(out, "<table class=\"facts\"><tbody>\n");
	fact(out, "Throughput gained", 1);
	say(out, "<b>%s</b></td></tr>\n", percent(c->gained));
	fact(out, "Time saved", 2);
	say(out, "<b>%s</b></td></tr>\n", percent(c->saved));
	fact(out, "Difference of means", 3);
	plus_minus(out, num(cmp->diff), num(cmp->half));
	say(out, " %s<br/>", s->unit);
	plus_minus(out, percent(cmp->percent / 100), percent_plain(cmp->half_percent / 100));
	if (isfinite(cmp->df))
		say(out, ", df %s", num3(cmp->df));
	say(out, "</td></tr>\n");
	fact(out, "Effect size, Hedges' g", 4);
	say(out, "%s</td></tr>\n", num3(cmp->hedges_g));
	fact(out, "Smallest detectable", 5);
	say(out, "%s %s (%s)</td></tr>\n</tbody></table>\n", num(cmp->detectable), s->unit,
	    percent_plain(cmp->detectable_percent / 100));
}

static void cell_counts(FILE *out, const struct cell *c)
{
	const struct counts *counts = &c->counts;

	say(out, "<p>");
	if (counts->judged) {
		say(out, "IPIs avoided: ");
		badge(out, avoided_name(counts->avoided), avoided_name(counts->avoided));
	} else {
		say(out, "TLB IPIs are informational here (%s)",
		    counts->why_not ? counts->why_not : "only one arm");
	}
	say(out, " on/off ratio of the medians: %s.</p>\n", num3(counts->ratio));
}

static void run_links(FILE *out, const struct cell *c)
{
	size_t arm, i;

	for (arm = 0; arm < ARMS; arm++) {
		if (!c->n[arm])
			continue;
		say(out, "<p class=\"meta runs\"><span class=\"swatch %s\"></span>Runs %s:",
		    arm_names[arm], arm_names[arm]);
		for (i = 0; i < c->n[arm]; i++)
			say(out, " <a href=\"#s%zu\">%s</a>", c->runs[arm][i]->id,
			    num(c->runs[arm][i]->value));
		say(out, "</p>\n");
	}
}

static void cell_section(FILE *out, const struct report *r, const struct cell *c)
{
	const struct sample *s = c->any;
	size_t i;

	say(out,
	    "<section class=\"cell\" id=\"c%zu\">\n<h3>Cell %zu: %s, %s:1, bystanders %s</h3>\n",
	    c->id, c->id, s->workload, num(s->overcommit), bystander_names[s->bystanders]);
	say(out, "<p class=\"meta wrap\">%s (%s), implementation %s, params <code>%s</code>. ",
	    s->metric, s->unit, s->implementation, s->params);
	say(out, "Feature %s; %s host %s%s, guest %s with %lld vCPUs on %lld pCPUs.", s->feature,
	    s->lane, s->host, s->emulated ? " (emulated)" : "", s->guest, (long long)s->vcpus,
	    (long long)s->pcpus);
	if (r->n_envs > 1)
		say(out, " <a href=\"#env%zu\">Environment %zu</a>.", s->env_nr + 1, s->env_nr + 1);
	say(out, "</p>\n<p>");
	verdict(out, c, true);
	say(out, "</p>\n");
	say(out, "<div class=\"plots\">");
	cell_plots(out, c);
	say(out, "<div class=\"said\">\n");
	if (c->complete)
		cell_comparison(out, c);
	if (c->counts.shown)
		cell_counts(out, c);
	for (i = 0; i < c->n_notes; i++)
		say(out, "<p class=\"note\">Note: %s.</p>\n", c->notes[i]);
	run_links(out, c);
	say(out, "</div></div>\n");
	stats_table(out, c);
	say(out, "</section>\n");
}

static void env_table(FILE *out, json_t *env)
{
	const char *name;
	json_t *value;

	say(out, "<div class=\"wide\"><table><tbody>\n");
	json_object_foreach(env, name, value)
	{
		say(out, "<tr><th scope=\"row\">%s</th><td class=\"wrap\">%s</td></tr>\n", name,
		    json_string_value(value));
	}
	say(out, "</tbody></table></div>\n");
}

static void environment(FILE *out, const struct report *r)
{
	size_t i;

	say(out, "<h2 id=\"environment\">Environment</h2>\n");
	for (i = 0; i < r->n_envs; i++) {
		if (r->n_envs > 1)
			say(out, "<h3 id=\"env%zu\">Environment %zu</h3>\n", i + 1, i + 1);
		if (json_object_size(r->envs[i]))
			env_table(out, r->envs[i]);
		else
			say(out, "<p class=\"meta\">The samples say nothing about it.</p>\n");
	}
	if (r->run_env) {
		say(out, "<h3>Of the whole run</h3>\n");
		env_table(out, r->run_env);
	}
}

static void count_cell(FILE *out, json_int_t count)
{
	if (count == UNKNOWN_COUNT)
		say(out, "<td class=\"n\">–</td>");
	else
		say(out, "<td class=\"n\">%lld</td>", (long long)count);
}

static void sample_row(FILE *out, const struct sample *s)
{
	char *source = cleaned(s->source);
	char *value = xformat("%.15g", s->value);

	say(out,
	    "<tr id=\"s%zu\"><th scope=\"row\">%zu</th><td>%s</td><td class=\"n\">%lld</td>"
	    "<td class=\"n\">%lld</td><td class=\"n\">%s</td><td class=\"n\">%s</td>"
	    "<td class=\"n\">%s</td><td class=\"n\">%s</td>",
	    s->id, s->id, arm_names[s->arm], (long long)s->run, (long long)s->position, value,
	    num(s->elapsed_s), num(s->steal_s), percent_plain(sample_steal_share(s)));
	count_cell(out, s->tlb_ipis);
	count_cell(out, s->flushes);
	count_cell(out, s->remote_vcpus);
	say(out, "<td class=\"n\">%s</td>", isnan(sample_ipis(s)) ? "–" : num3(sample_ipis(s)));
	count_cell(out, s->deferred_flushes);
	say(out, "<td class=\"wrap\">%s:%zu</td></tr>\n", source, s->line);
	free(source);
	free(value);
}

static void raw_samples(FILE *out, const struct cell *c)
{
	size_t arm, i;

	say(out, "<details><summary>Raw samples of cell %zu, whole</summary><pre>", c->id);
	for (arm = 0; arm < ARMS; arm++) {
		for (i = 0; i < c->n[arm]; i++) {
			char *text = json_dumps(c->runs[arm][i]->json,
						JSON_COMPACT | JSON_REAL_PRECISION(15) |
							JSON_ENSURE_ASCII);

			if (!text)
				pv_die(PV_EXIT_FAILED, "report.html: cannot write a sample");
			say(out, "%s\n", text);
			free(text);
		}
	}
	say(out, "</pre></details>\n");
}

static void appendix(FILE *out, const struct report *r)
{
	static const char *const heads[] = {
		"run",		"position",	     "value",	 "elapsed s",
		"steal s",	"steal share",	     "TLB IPIs", "flushes",
		"remote vCPUs", "IPIs/(flush·vCPU)", "deferred"};
	size_t i, j, arm;

	say(out, "<h2 id=\"samples\">Samples</h2>\n");
	for (i = 0; i < r->n_cells; i++) {
		const struct cell *c = &r->cells[i];

		say(out,
		    "<h3><a href=\"#c%zu\">Cell %zu</a>: %s, %s:1, bystanders %s, %s</h3>\n"
		    "<div class=\"wide\"><table class=\"whole\"><thead><tr>",
		    c->id, c->id, c->any->workload, num(c->any->overcommit),
		    bystander_names[c->any->bystanders], c->any->unit);
		head(out, "sample", false, 0);
		head(out, "arm", false, 0);
		for (j = 0; j < sizeof(heads) / sizeof(heads[0]); j++)
			head(out, heads[j], true, 0);
		head(out, "source", false, 0);
		say(out, "</tr></thead><tbody>\n");
		for (arm = 0; arm < ARMS; arm++) {
			for (j = 0; j < c->n[arm]; j++)
				sample_row(out, c->runs[arm][j]);
		}
		say(out, "</tbody></table></div>\n");
		raw_samples(out, c);
	}
}

void report_html(FILE *out, const struct report *r)
{
	char *lead = report_lead(r);
	size_t i;

	say(out,
	    "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
	    "<meta charset=\"utf-8\"/>\n"
	    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	    "style-src 'unsafe-inline'\"/>\n"
	    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
	    "<title>%s</title>\n<style>\n",
	    r->title);
	fputs(style, out);
	say(out, "</style>\n</head>\n<body>\n<header>\n<h1>%s</h1>\n<p>%s</p>\n", r->title, lead);
	free(lead);
	if (r->n_emulated) {
		say(out, "<p class=\"banner\" role=\"note\"><b>%s</b>", lab_banner);
		if (r->n_emulated < r->n_cells)
			say(out, " This holds for %zu of %zu cells.", r->n_emulated, r->n_cells);
		say(out, "</p>\n");
	}
	say(out, "<nav><a href=\"#summary\">Summary</a> <a href=\"#cells\">Cells</a> "
		 "<a href=\"#environment\">Environment</a> <a href=\"#samples\">Samples</a> "
		 "<a href=\"#notes\">How the numbers are made</a></nav>\n</header>\n<main>\n");
	summary_table(out, r);
	overview(out, r);
	say(out, "<h2 id=\"cells\">Cells</h2>\n");
	for (i = 0; i < r->n_cells; i++)
		cell_section(out, r, &r->cells[i]);
	environment(out, r);
	appendix(out, r);
	say(out, "<h2 id=\"notes\">How the numbers are made</h2>\n<ol class=\"notes\">\n");
	for (i = 0; footnotes[i]; i++)
		say(out, "<li id=\"note%zu\">%s</li>\n", i + 1, footnotes[i]);
	say(out, "</ol>\n</main>\n</body>\n</html>\n");
}
