// SPDX-License-Identifier: GPL-2.0-only
/*
 * The statistics; README.md has the formulas and their sources.
 */
#include "compare.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_sorted(const double *values, size_t n)
{
	return n % 2 ? values[n / 2] : values[n / 2 - 1] / 2 + values[n / 2] / 2;
}

double median_known(double *values, size_t n)
{
	size_t known = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!isnan(values[i]))
			values[known++] = values[i];
	}
	if (!known)
		return NAN;
	qsort(values, known, sizeof(*values), by_value);
	return median_sorted(values, known);
}

/* Two-sided quantile of Student's t at the confidence used everywhere. */
static double t_two_sided(double df)
{
	return gsl_cdf_tdist_Pinv((1 + CONFIDENCE) / 2, df);
}

struct summary summarize(double *values, size_t n)
{
	struct summary s = {.n = n, .sd = NAN, .low = NAN, .high = NAN};
	double sum = 0;
	double inverse = 0;
	double squares = 0;
	double half;
	size_t i;

	qsort(values, n, sizeof(*values), by_value);
	s.min = values[0];
	s.max = values[n - 1];
	s.median = median_sorted(values, n);
	for (i = 0; i < n; i++) {
		sum += values[i];
		inverse += 1 / values[i];
	}
	s.mean = sum / (double)n;
	s.hmean = (double)n / inverse;
	if (n < 2)
		return s;
	for (i = 0; i < n; i++)
		squares += (values[i] - s.mean) * (values[i] - s.mean);
	/* All equal: their sum may be rounded, their spread must not be. */
	s.sd = s.min == s.max ? 0 : sqrt(squares / (double)(n - 1));
	half = t_two_sided((double)(n - 1)) * s.sd / sqrt((double)n);
	s.low = s.mean - half;
	s.high = s.mean + half;
	return s;
}

struct comparison compare(const struct summary *off, const struct summary *on)
{
	double n_off = (double)off->n;
	double n_on = (double)on->n;
	struct comparison c = {
		.diff = on->mean - off->mean,
		.se = NAN,
		.df = NAN,
		.half = NAN,
		.half_percent = NAN,
		.pooled_sd = NAN,
		.pooled_df = NAN,
		.pooled_half = NAN,
		.pooled_half_table = NAN,
		.t = NAN,
		.t_table = NAN,
		.hedges_g = NAN,
		.detectable = NAN,
		.detectable_percent = NAN,
	};
	double var_off, var_on, pooled_se;

	c.percent = 100 * c.diff / off->mean;
	if (off->n < 2 || on->n < 2)
		return c;

	/* Welch 1947: unequal variances. Degrees of freedom after Satterthwaite 1946. */
	var_off = off->sd * off->sd / n_off;
	var_on = on->sd * on->sd / n_on;
	c.se = sqrt(var_off + var_on);
	if (c.se > 0) {
		c.df = (var_off + var_on) * (var_off + var_on) /
		       (var_off * var_off / (n_off - 1) + var_on * var_on / (n_on - 1));
		c.half = t_two_sided(c.df) * c.se;
		c.detectable = (t_two_sided(c.df) + gsl_cdf_tdist_Pinv(POWER, c.df)) * c.se;
	} else {
		c.half = 0;
		c.detectable = 0;
	}
	c.half_percent = 100 * c.half / off->mean;
	c.detectable_percent = 100 * c.detectable / off->mean;

	/* Student 1908: one pooled variance; only for comparison with ministat. */
	c.pooled_df = n_off + n_on - 2;
	c.pooled_sd = sqrt(((n_off - 1) * off->sd * off->sd + (n_on - 1) * on->sd * on->sd) /
			   c.pooled_df);
	pooled_se = c.pooled_sd * sqrt(1 / n_off + 1 / n_on);
	c.t = t_two_sided(c.pooled_df);
	c.t_table = round(c.t * 1000) / 1000;
	c.pooled_half = c.t * pooled_se;
	c.pooled_half_table = c.t_table * pooled_se;

	/* Hedges 1981, with the exact factor against the bias of small samples. */
	if (c.pooled_sd > 0)
		c.hedges_g = c.diff / c.pooled_sd *
			     exp(lgamma(c.pooled_df / 2) - lgamma((c.pooled_df - 1) / 2)) /
			     sqrt(c.pooled_df / 2);
	return c;
}

double centre(const struct summary *s, bool higher)
{
	return higher ? s->hmean : s->mean;
}

double throughput_gained(const struct summary *off, const struct summary *on, bool higher)
{
	return higher ? on->hmean / off->hmean - 1 : off->mean / on->mean - 1;
}

double time_saved(const struct summary *off, const struct summary *on, bool higher)
{
	return higher ? 1 - off->hmean / on->hmean : 1 - on->mean / off->mean;
}
