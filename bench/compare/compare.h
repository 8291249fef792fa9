/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pv-compare: judges samples (bench/samples.md), compares the arms of each cell, writes reports.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CONFIDENCE 0.95
#define POWER 0.80
#define MIN_RUNS 10	   /* runs per arm below which there is no verdict */
#define MIN_FLUSHES 20	   /* flushes below which the counters of a sample prove nothing */
#define IPI_THRESHOLD 0.5  /* TLB IPIs per flush and remote vCPU: sent above, avoided below */
#define UNKNOWN_COUNT (-1) /* null in the sample */

enum arm { ARM_OFF, ARM_ON, ARMS };
extern const char *const arm_names[ARMS];

enum tri { TRI_YES, TRI_NO, TRI_UNKNOWN };

/* The strings belong to @json. */
struct sample {
	const char *source;
	size_t line;
	size_t id; /* 1, 2, ... in the order of the report */
	json_t *json;
	const char *workload, *implementation, *metric, *unit, *params;
	const char *lane, *host, *guest, *feature;
	int higher;	/* 1: a rate, 0: a time */
	int bystanders; /* index of bystander_names */
	int arm;
	int requested, offered, active; /* enum tri */
	int emulated;
	double value, overcommit, elapsed_s;
	double steal_s; /* NAN: null */
	json_int_t vcpus, pcpus, run, position, seed;
	json_int_t tlb_ipis, flushes, remote_vcpus, deferred_flushes;
	json_t *details, *env;
	size_t env_nr; /* index into the report's distinct environments */
};

enum bystanders { BYSTANDERS_BUSY, BYSTANDERS_IDLE, BYSTANDERS_NONE };
extern const char *const bystander_names[];

struct sample_list {
	struct sample *samples;
	size_t n, room;
	size_t malformed, refused;
};

/* sample.c */
/* Appends the samples of @path; says what is wrong with the others and counts them. */
void samples_read(struct sample_list *list, const char *path);
void samples_free(struct sample_list *list);
/* TLB IPIs per flush and remote vCPU; NAN where it has no meaning. */
double sample_ipis(const struct sample *s);
/* Part of the vCPUs' time that was stolen, 0 to 1; NAN if unknown. */
double sample_steal_share(const struct sample *s);

/* stats.c */
struct summary {
	size_t n;
	double min, max, median, mean;
	double hmean;	  /* harmonic mean */
	double sd;	  /* NAN below two values, as everything that needs a spread */
	double low, high; /* interval of the arithmetic mean */
};

struct comparison {
	double diff, percent;		   /* of the arithmetic means, on - off; of off */
	double se, df, half, half_percent; /* Welch; half is half of the interval */
	double pooled_sd, pooled_df, pooled_half;
	double t, t_table, pooled_half_table; /* t of the pooled df; rounded as tables print it */
	double hedges_g;
	double detectable, detectable_percent;
};

/* @values: n > 0 finite values > 0; sorted in place. */
struct summary summarize(double *values, size_t n);
struct comparison compare(const struct summary *off, const struct summary *on);
double centre(const struct summary *s, bool higher);
double throughput_gained(const struct summary *off, const struct summary *on, bool higher);
double time_saved(const struct summary *off, const struct summary *on, bool higher);
/* Of n values, NAN among them skipped; NAN if nothing is left. Reorders. */
double median_known(double *values, size_t n);

/* cell.c */
enum verdict { VERDICT_NONE, VERDICT_GAIN, VERDICT_LOSS, VERDICT_SAME, VERDICT_INCOMPLETE };
enum avoided { AVOIDED_UNKNOWN, AVOIDED_YES, AVOIDED_NO, AVOIDED_MIXED };

struct counts {
	bool shown;  /* a tlb cell */
	bool judged; /* else informational, @why_not says why */
	const char *why_not;
	enum avoided avoided;
	double ipis[ARMS]; /* median TLB IPIs per flush and remote vCPU */
	double ratio;	   /* on / off */
};

struct cell {
	size_t id;
	const struct sample *any;	  /* carries all the fields of the key */
	const struct sample **runs[ARMS]; /* by position */
	size_t n[ARMS];
	bool complete; /* both arms */
	struct summary sum[ARMS];
	struct comparison cmp;
	double gained, saved;							   /* fractions */
	double ipis_per_s[ARMS], deferred[ARMS], steal_s[ARMS], steal_share[ARMS]; /* medians */
	struct counts counts;
	enum verdict verdict;
	char *verdict_text; /* "gain", "no verdict (...)" */
	char **notes;
	size_t n_notes;
	char *svg_values, *svg_ipis; /* HTML report only */
};

struct report {
	const char *title;
	const char *out;
	bool full;	    /* profile */
	double equivalence; /* percent */
	bool allow_partial, allow_mixed_env;
	json_t *run_env; /* --env; may be NULL */
	char **sources;
	size_t n_sources;
	struct sample_list list;
	struct cell *cells;
	size_t n_cells;
	json_t **envs; /* distinct */
	size_t n_envs;
	size_t n_emulated;	    /* cells */
	char *svg_speed, *svg_ipis; /* HTML report only */
	char **series;		    /* names of the overview's series */
	size_t n_series;
};

/* Groups, checks and judges; false after having said what is contradictory. */
bool report_build(struct report *r);
void report_free(struct report *r);
enum verdict judge(const struct comparison *cmp, size_t n_off, size_t n_on, bool higher,
		   double equivalence, char **text);
const char *avoided_name(enum avoided avoided);
const char *verdict_name(enum verdict verdict);
/* Two sentences; the caller frees. */
char *report_lead(const struct report *r);
extern const char lab_banner[];
/* One line each, NULL at the end. The first two belong to the two percentages. */
extern const char *const footnotes[];

/* numbers.c */
int numbers_main(const char *off, const char *on, int higher, const char *unit, double equivalence);

/* The reports. */
void report_text(FILE *out, const struct report *r);
void report_json(FILE *out, const struct report *r);
void report_html(FILE *out, const struct report *r);

/* plot.c */
/* Makes every plot of the HTML report. */
void plots_make(struct report *r);
#define SERIES_COLOURS 6

/* util.c */
void *xrealloc(void *p, size_t n, size_t size);
char *xstrdup(const char *text);
/* @text as the text or the quoted attribute of HTML or SVG. */
void put_escaped(FILE *out, const char *text);
char *xformat(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Valid UTF-8 on one line, without control characters. */
bool clean_text(const char *text);
/* @text with everything else replaced by '?'; the caller frees. */
char *cleaned(const char *text);
/* Short texts for people, "n/a" for what is not finite; valid for the next 31 calls. */
const char *num(double x);
const char *num3(double x); /* three digits */
const char *percent(double fraction);
const char *percent_plain(double fraction);

/* A file that appears under its name only when it is complete. */
struct new_file {
	FILE *f;
	char *path, *temp;
};
void new_file_open(struct new_file *nf, const char *dir, const char *name);
/* Everything on the medium, nothing visible yet. */
void new_file_finish(struct new_file *nf);
void new_file_publish(struct new_file *nf);
/* Removes what was not published; also called at exit. */
void new_files_discard(void);

#endif
