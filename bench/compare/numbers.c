// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two files of plain numbers, compared: what ministat does, with Welch beside Student.
 */
#include "compare.h"
#include "pv.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct numbers {
	double *values;
	size_t n;
};

static void take_word(struct numbers *numbers, const char *path, size_t line, const char *word)
{
	double value;

	/* Hexadecimal is not what anybody means here. */
	if (strpbrk(word, "xX") || !pv_parse_double(word, 0, DBL_MAX, &value) || !(value > 0)) {
		char *text = cleaned(word);

		pv_die(PV_EXIT_USAGE, "%s:%zu: %.80s is not a finite number > 0", path, line, text);
	}
	numbers->values = xrealloc(numbers->values, numbers->n + 1, sizeof(*numbers->values));
	numbers->values[numbers->n++] = value;
}

/* Numbers between white space; '#' starts a comment. */
static struct numbers read_numbers(const char *path)
{
	struct numbers numbers = {0};
	char *text = NULL;
	size_t room = 0;
	size_t line = 0;
	ssize_t length;
	FILE *f;

	f = fopen(path, "r");
	if (!f)
		pv_die(PV_EXIT_USAGE, "%s: cannot open: %s", path, strerror(errno));
	while ((length = getline(&text, &room, f)) > 0) {
		char *rest = text;
		char *word;

		line++;
		if (strlen(text) != (size_t)length)
			pv_die(PV_EXIT_USAGE, "%s:%zu: NUL byte", path, line);
		text[strcspn(text, "#")] = '\0';
		while ((word = strsep(&rest, " \t\r\n\v\f"))) {
			if (*word)
				take_word(&numbers, path, line, word);
		}
	}
	if (ferror(f))
		pv_die(PV_EXIT_USAGE, "%s: cannot read: %s", path, strerror(errno));
	free(text);
	fclose(f);
	if (numbers.n < 2)
		pv_die(PV_EXIT_USAGE, "%s: %s: an interval needs at least two", path,
		       numbers.n ? "only one number" : "no numbers");
	return numbers;
}

static void print_summary(const char *name, const struct summary *s)
{
	printf("%-4s %4zu %12s %12s %12s %12s %12s %12s\n", name, s->n, num(s->min), num(s->median),
	       num(s->max), num(s->mean), num(s->hmean), num(s->sd));
}

/* Enough decimals for the golden figures, and never an exponent that hides digits. */
static void print_interval(const char *name, double diff, double half, const char *unit,
			   const char *how)
{
	if (fabs(diff) < 0.1 && half < 0.1)
		printf("  %-9s %.6g +/- %.6g%s  (%s)\n", name, diff, half, unit, how);
	else
		printf("  %-9s %.2f +/- %.2f%s  (%s)\n", name, diff, half, unit, how);
}

int numbers_main(const char *off_path, const char *on_path, int higher, const char *unit,
		 double equivalence)
{
	struct numbers off_numbers = read_numbers(off_path);
	struct numbers on_numbers = read_numbers(on_path);
	struct summary off = summarize(off_numbers.values, off_numbers.n);
	struct summary on = summarize(on_numbers.values, on_numbers.n);
	struct comparison c = compare(&off, &on);
	char *blank_unit = xformat("%s%s", *unit ? " " : "", unit);
	char *how;

	printf("off: %s\non:  %s\n\n", off_path, on_path);
	printf("%-4s %4s %12s %12s %12s %12s %12s %12s\n", "", "n", "min", "median", "max", "mean",
	       "harm. mean", "std. dev.");
	print_summary("off", &off);
	print_summary("on", &on);

	printf("\nDifference of the means, on - off, with its 95 %% interval:\n");
	how = xformat("df %.2f, t = %.4f, standard error %.2f: the one to quote", c.df,
		      c.half / c.se, c.se);
	print_interval("Welch", c.diff, c.half, blank_unit, how);
	free(how);
	how = xformat("df %.0f, pooled s %.2f, t = %.3f as printed tables and ministat have it",
		      c.pooled_df, c.pooled_sd, c.t_table);
	print_interval("Student", c.diff, c.pooled_half_table, blank_unit, how);
	free(how);
	how = xformat("the same with t = %.6f", c.t);
	print_interval("", c.diff, c.pooled_half, blank_unit, how);
	free(how);
	printf("  %-9s %s +/- %s (Welch), +/- %s (Student)\n", "of off", percent(c.percent / 100),
	       percent_plain(c.half_percent / 100), percent_plain(c.pooled_half_table / off.mean));
	printf("Effect size, Hedges' g: %s\n", num(c.hedges_g));
	printf("Smallest detectable difference (80 %% power, alpha 5 %%): %s%s, %s of off\n",
	       num(c.detectable), blank_unit, percent_plain(c.detectable_percent / 100));
	if (higher >= 0) {
		char *text;

		printf("Throughput gained: %s  [1]\n",
		       percent(throughput_gained(&off, &on, higher)));
		printf("Time saved:        %s  [2]\n", percent(time_saved(&off, &on, higher)));
		judge(&c, off.n, on.n, higher, equivalence, &text);
		printf("Verdict: %s\n", text);
		free(text);
		printf("\n[1] %s\n[2] %s\n", footnotes[0], footnotes[1]);
	} else {
		printf("(--better higher|lower adds throughput gained, time saved and a "
		       "verdict)\n");
	}
	free(blank_unit);
	free(off_numbers.values);
	free(on_numbers.values);
	return PV_EXIT_OK;
}
