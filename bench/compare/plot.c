// SPDX-License-Identifier: GPL-2.0-only
/*
 * SVG plots drawn by gnuplot, made fit to stand inline in one HTML page: no ids, colours by class,
 * every point a link to what it shows. gnuplot gets numbers only, never a text of the input.
 */
#define _GNU_SOURCE
#include "compare.h"
#include "pv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A point of a plot, in the order in which gnuplot draws them. */
struct mark {
	char *href, *title;
	const char *class;
	double x, y;
	bool open; /* a ring, not a disc */
};

struct drawing {
	char *name;
	char *label; /* for those who do not see it */
	char **svg;  /* where the result goes */
	int width, height;
	struct mark *marks;
	size_t n_marks;
};

struct scratch {
	char *dir;
	FILE *script;
	struct drawing *drawings;
	size_t n;
};

/* Colours in the script stand for classes of the page: rgb(0, 0, N) becomes class kN. */
#define COLOUR_OFF 1
#define COLOUR_ON 2
#define COLOUR_RULE 3
#define COLOUR_SERIES 10

static char *scratch_dir;

static void remove_scratch(void)
{
	const struct dirent *entry;
	DIR *dir;

	if (!scratch_dir)
		return;
	dir = opendir(scratch_dir);
	if (dir) {
		const int fd = dirfd(dir);

		while (fd >= 0 && (entry = readdir(dir)))
			unlinkat(fd, entry->d_name, 0);
		closedir(dir);
	}
	rmdir(scratch_dir);
	free(scratch_dir);
	scratch_dir = NULL;
}

static char *scratch_path(const struct scratch *st, const char *name, const char *suffix)
{
	return xformat("%s/%s%s", st->dir, name, suffix);
}

static struct scratch open_scratch(void)
{
	struct scratch st = {0};
	const char *tmp = getenv("TMPDIR");
	char *path;

	scratch_dir = xformat("%s/pv-compare.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(scratch_dir)) {
		int error = errno;

		path = scratch_dir;
		scratch_dir = NULL;
		pv_die(PV_EXIT_FAILED, "%s: cannot create: %s", path, strerror(error));
	}
	atexit(remove_scratch);
	st.dir = scratch_dir;
	path = scratch_path(&st, "plots", ".gp");
	st.script = fopen(path, "w");
	if (!st.script)
		pv_die(PV_EXIT_FAILED, "%s: cannot create: %s", path, strerror(errno));
	free(path);
	return st;
}

static struct drawing *begin(struct scratch *st, char **svg, char *name, char *label, int width,
			     int height)
{
	struct drawing *d;

	st->drawings = xrealloc(st->drawings, st->n + 1, sizeof(*st->drawings));
	d = &st->drawings[st->n++];
	*d = (struct drawing){
		.name = name, .label = label, .svg = svg, .width = width, .height = height};
	fprintf(st->script,
		"reset\n"
		"set term svg size %d,%d dynamic noenhanced font 'sans-serif,12' name '%s'\n"
		"set output '%s.svg'\n"
		"unset key\nset border 3\nset tics nomirror out scale 0.5\nset grid ytics\n"
		"set format y '%%.10g'\n",
		width, height, name, name);
	return d;
}

/* Forgets the drawing begun last. */
static void abandon(struct scratch *st)
{
	const struct drawing *d = &st->drawings[--st->n];

	free(d->name);
	free(d->label);
}

static void add_mark(struct drawing *d, const struct mark *mark)
{
	d->marks = xrealloc(d->marks, d->n_marks + 1, sizeof(*d->marks));
	d->marks[d->n_marks++] = *mark;
}

/* One plot element for each mark, so that they are drawn in their order, disc or ring. */
static void put_marks(FILE *f, struct drawing *d, const char *before)
{
	size_t i;

	for (i = 0; i < d->n_marks; i++)
		fprintf(f, "%s'-' using 1:2 with points pt %d ps 0.8 lc black", i ? ", " : before,
			d->marks[i].open ? 6 : 7);
}

static void put_mark_data(FILE *f, const struct drawing *d)
{
	size_t i;

	for (i = 0; i < d->n_marks; i++)
		fprintf(f, "%.10g %.10g\ne\n", d->marks[i].x, d->marks[i].y);
}

struct range {
	double low, high;
};

/* gnuplot takes numbers near the end of the doubles for undefined. */
static bool plottable(double x)
{
	return x == 0 || (fabs(x) > 1e-300 && fabs(x) < 1e300);
}

static void stretch(struct range *range, double x)
{
	if (!plottable(x))
		return;
	if (!isfinite(range->low) || x < range->low)
		range->low = x;
	if (!isfinite(range->high) || x > range->high)
		range->high = x;
}

/* From zero when that costs little; else around the data. */
static void loosen(struct range *range)
{
	double room = 0.08 * (range->high - range->low);

	if (!(room > 0))
		room = 0.05 * fabs(range->high);
	if (range->low < 0.4 * range->high) {
		range->low = 0;
		room = 0.08 * range->high;
	} else {
		range->low -= room;
	}
	range->high += room;
}

static void line(FILE *f, double x, double y, double dx, double dy)
{
	fprintf(f, "%.10g %.10g %.10g %.10g\n", x, y, dx, dy);
}

/* From left to right in the order in which the runs were made. */
static double strip_x(const struct cell *c, const struct sample *s)
{
	json_int_t first = s->position;
	json_int_t last = s->position;
	size_t arm;

	for (arm = 0; arm < ARMS; arm++) {
		if (!c->n[arm])
			continue;
		if (c->runs[arm][0]->position < first)
			first = c->runs[arm][0]->position;
		if (c->runs[arm][c->n[arm] - 1]->position > last)
			last = c->runs[arm][c->n[arm] - 1]->position;
	}
	if (first == last)
		return s->arm + 1;
	return s->arm + 1 - 0.25 + 0.5 * (double)(s->position - first) / (double)(last - first);
}

static void strip_marks(struct drawing *d, const struct cell *c,
			double (*get)(const struct sample *), const char *unit, struct range *range)
{
	size_t arm, i;

	for (arm = 0; arm < ARMS; arm++) {
		for (i = 0; i < c->n[arm]; i++) {
			const struct sample *s = c->runs[arm][i];
			struct mark mark = {.x = strip_x(c, s), .y = get(s)};

			if (!plottable(mark.y))
				continue;
			stretch(range, mark.y);
			mark.class = arm_names[arm];
			mark.href = xformat("s%zu", s->id);
			mark.title = xformat("%s, run %lld, position %lld: %s %s", arm_names[arm],
					     (long long)s->run, (long long)s->position, num(mark.y),
					     unit);
			add_mark(d, &mark);
		}
	}
}

static double get_value(const struct sample *s)
{
	return s->value;
}

#define BAR_X 0.37 /* of the interval, right of the points */
#define CAP 0.035

static void strip_axes(FILE *f, const struct range *range)
{
	fprintf(f,
		"set xrange [0.45:2.55]\nset xtics ('off' 1, 'on' 2) scale 0\n"
		"set yrange [%.10g:%.10g]\n",
		range->low, range->high);
}

/* Values of every run, the centre of each arm, the interval of its mean. */
static void draw_values(struct scratch *st, struct cell *c)
{
	struct range range = {NAN, NAN};
	FILE *f = st->script;
	struct drawing *d;
	const char *before = "plot ";
	size_t arm;

	d = begin(st, &c->svg_values, xformat("c%zuv", c->id),
		  xformat("Values of every run of cell %zu, off and on", c->id), 470, 300);
	strip_marks(d, c, get_value, c->any->unit, &range);
	if (!d->n_marks) {
		abandon(st);
		return;
	}
	for (arm = 0; arm < ARMS; arm++) {
		if (c->n[arm] > 2) {
			stretch(&range, c->sum[arm].low);
			stretch(&range, c->sum[arm].high);
		}
	}
	loosen(&range);
	strip_axes(f, &range);
	for (arm = 0; arm < ARMS; arm++) {
		if (!c->n[arm])
			continue;
		fprintf(f, "%s'-' using 1:2:3:4 with vectors nohead lw 2 lc rgb '#%06x'", before,
			arm == ARM_OFF ? COLOUR_OFF : COLOUR_ON);
		before = ", ";
	}
	put_marks(f, d, before);
	fputc('\n', f);
	for (arm = 0; arm < ARMS; arm++) {
		const struct summary *s = &c->sum[arm];
		double x = (double)arm + 1;

		if (!c->n[arm])
			continue;
		line(f, x - 0.3, centre(s, c->any->higher), 0.6, 0);
		if (c->n[arm] > 2) {
			line(f, x + BAR_X, s->low, 0, s->high - s->low);
			line(f, x + BAR_X - CAP, s->low, 2 * CAP, 0);
			line(f, x + BAR_X - CAP, s->high, 2 * CAP, 0);
			line(f, x + BAR_X - CAP / 2, s->mean, CAP, 0);
		}
		fprintf(f, "e\n");
	}
	put_mark_data(f, d);
}

static void draw_ipis(struct scratch *st, struct cell *c)
{
	struct range range = {0, 1.2};
	FILE *f = st->script;
	struct drawing *d;
	size_t arm;

	d = begin(st, &c->svg_ipis, xformat("c%zui", c->id),
		  xformat("TLB IPIs per flush and remote vCPU of every run of cell %zu", c->id),
		  470, 300);
	strip_marks(d, c, sample_ipis, "TLB IPIs per flush and remote vCPU", &range);
	if (range.high > 1.2)
		range.high *= 1.08;
	strip_axes(f, &range);
	fprintf(f, "plot %g with lines dt (6,6) lw 1 lc rgb '#%06x'", IPI_THRESHOLD, COLOUR_RULE);
	for (arm = 0; arm < ARMS; arm++) {
		if (isfinite(c->counts.ipis[arm]))
			fprintf(f, ", '-' using 1:2:3:4 with vectors nohead lw 2 lc rgb '#%06x'",
				arm == ARM_OFF ? COLOUR_OFF : COLOUR_ON);
	}
	put_marks(f, d, ", ");
	fputc('\n', f);
	for (arm = 0; arm < ARMS; arm++) {
		if (!isfinite(c->counts.ipis[arm]))
			continue;
		line(f, (double)arm + 0.7, c->counts.ipis[arm], 0.6, 0);
		fprintf(f, "e\n");
	}
	put_mark_data(f, d);
}

/* Texts that set series apart; in their names when they differ for the same workload. */
static const size_t series_fields[] = {
	offsetof(struct sample, workload),	 offsetof(struct sample, metric),
	offsetof(struct sample, implementation), offsetof(struct sample, feature),
	offsetof(struct sample, lane),		 offsetof(struct sample, host),
};

#define N_SERIES_FIELDS (sizeof(series_fields) / sizeof(series_fields[0]))

static const char *series_field(const struct sample *s, size_t i)
{
	return *(const char *const *)((const char *)s + series_fields[i]);
}

static bool same_series(const struct sample *a, const struct sample *b)
{
	size_t i;

	for (i = 0; i < N_SERIES_FIELDS; i++) {
		if (strcmp(series_field(a, i), series_field(b, i)) != 0)
			return false;
	}
	return a->bystanders == b->bystanders;
}

static char *series_name(const struct report *r, const struct sample *s)
{
	char *name = xstrdup(s->workload);
	char *more;
	size_t i, j;

	for (i = 1; i < N_SERIES_FIELDS; i++) {
		for (j = 0; j < r->n_cells; j++) {
			const struct sample *other = r->cells[j].any;

			if (!strcmp(other->workload, s->workload) &&
			    strcmp(series_field(other, i), series_field(s, i)) != 0)
				break;
		}
		if (j == r->n_cells)
			continue;
		more = xformat("%s, %s", name, series_field(s, i));
		free(name);
		name = more;
	}
	if (s->bystanders == BYSTANDERS_NONE)
		return name;
	more = xformat("%s, %s bystanders", name, bystander_names[s->bystanders]);
	free(name);
	return more;
}

/* The series of each cell; names go to the report. Returns an array, one number per cell. */
static size_t *number_series(struct report *r)
{
	size_t *numbers = xrealloc(NULL, r->n_cells, sizeof(*numbers));
	size_t i, j;

	for (i = 0; i < r->n_cells; i++) {
		for (j = 0; j < i; j++) {
			if (same_series(r->cells[i].any, r->cells[j].any))
				break;
		}
		if (j < i) {
			numbers[i] = numbers[j];
			continue;
		}
		numbers[i] = r->n_series;
		r->series = xrealloc(r->series, r->n_series + 1, sizeof(*r->series));
		r->series[r->n_series++] = series_name(r, r->cells[i].any);
	}
	return numbers;
}

static double speed_ratio(const struct cell *c)
{
	return 1 + c->gained;
}

/* Where hardly any IPI was sent with the feature off, the ratio is that of two noises. */
static double ipi_ratio(const struct cell *c)
{
	bool sent = c->counts.shown && c->counts.ipis[ARM_OFF] >= IPI_THRESHOLD;

	return sent ? c->counts.ratio : NAN;
}

static int by_x(const void *a, const void *b)
{
	double x = ((const struct mark *)a)->x;
	double y = ((const struct mark *)b)->x;

	return (x > y) - (x < y);
}

/* Lines between the points of a series, unless two of them have the same overcommit. */
static size_t put_joints(FILE *f, const struct mark *marks, size_t n)
{
	size_t i;

	for (i = 1; i < n; i++) {
		if (marks[i].x == marks[i - 1].x)
			return 0;
	}
	for (i = 1; f && i < n; i++)
		line(f, marks[i - 1].x, marks[i - 1].y, marks[i].x - marks[i - 1].x,
		     marks[i].y - marks[i - 1].y);
	return n > 1 ? n - 1 : 0;
}

static const char *const series_classes[SERIES_COLOURS] = {"t0", "t1", "t2", "t3", "t4", "t5"};

/* The on/off ratio of every cell by overcommit; nothing when no cell has one. */
static void draw_overview(struct scratch *st, struct report *r, const size_t *series,
			  double (*get)(const struct cell *), char **svg, const char *name,
			  const char *what)
{
	struct range x = {NAN, NAN};
	struct range y = {1, 1};
	FILE *f = st->script;
	struct drawing *d;
	size_t *starts = xrealloc(NULL, r->n_series + 1, sizeof(*starts));
	double step;
	size_t i, j;

	for (i = 0; i < r->n_cells; i++) {
		if (plottable(get(&r->cells[i])))
			stretch(&x, r->cells[i].any->overcommit);
	}
	if (!isfinite(x.low)) {
		free(starts);
		return;
	}
	step = 0.012 * (x.high > x.low ? x.high - x.low : 1);
	d = begin(st, svg, xstrdup(name), xformat("%s by overcommit", what), 470, 300);
	for (i = 0; i < r->n_series; i++) {
		starts[i] = d->n_marks;
		for (j = 0; j < r->n_cells; j++) {
			const struct cell *c = &r->cells[j];
			struct mark mark = {.y = get(c)};

			if (series[j] != i || !plottable(mark.y) || !plottable(c->any->overcommit))
				continue;
			stretch(&y, mark.y);
			mark.x = c->any->overcommit +
				 step * ((double)i - ((double)r->n_series - 1) / 2);
			mark.class = series_classes[i % SERIES_COLOURS];
			mark.open = c->verdict == VERDICT_NONE && get == speed_ratio;
			mark.href = xformat("c%zu", c->id);
			mark.title = xformat("Cell %zu, %s, overcommit %s: on/off %s (%s)", c->id,
					     r->series[i], num(c->any->overcommit), num(mark.y),
					     c->verdict_text);
			add_mark(d, &mark);
		}
		if (d->n_marks > starts[i])
			qsort(d->marks + starts[i], d->n_marks - starts[i], sizeof(*d->marks),
			      by_x);
	}
	starts[r->n_series] = d->n_marks;

	if (get == speed_ratio && y.high > 2.5 * y.low) {
		fprintf(f, "set logscale y 2\nset yrange [%.10g:%.10g]\n", y.low / 1.25,
			y.high * 1.25);
	} else {
		loosen(&y);
		fprintf(f, "set yrange [%.10g:%.10g]\n", y.low, y.high);
	}
	step = 0.15 * (x.high > x.low ? x.high - x.low : 1);
	fprintf(f, "set xrange [%.10g:%.10g]\nset xlabel 'vCPUs per pCPU'\nset xtics (",
		x.low - step, x.high + step);
	for (i = 0, j = 0; i < r->n_cells; i++) {
		size_t k;

		for (k = 0; k < i; k++) {
			if (r->cells[k].any->overcommit == r->cells[i].any->overcommit)
				break;
		}
		if (k == i)
			fprintf(f, "%s'%.4g:1' %.10g", j++ ? ", " : "", r->cells[i].any->overcommit,
				r->cells[i].any->overcommit);
	}
	fprintf(f, ")\nplot 1 with lines lw 1 lc rgb '#%06x'", COLOUR_RULE);
	for (i = 0; i < r->n_series; i++) {
		if (put_joints(NULL, d->marks + starts[i], starts[i + 1] - starts[i]))
			fprintf(f, ", '-' using 1:2:3:4 with vectors nohead lw 1.5 lc rgb '#%06x'",
				(unsigned int)(COLOUR_SERIES + i % SERIES_COLOURS));
	}
	put_marks(f, d, ", ");
	fputc('\n', f);
	for (i = 0; i < r->n_series; i++) {
		if (put_joints(f, d->marks + starts[i], starts[i + 1] - starts[i]))
			fprintf(f, "e\n");
	}
	put_mark_data(f, d);
	free(starts);
}

static char *read_file(const char *path)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = fopen(path, "r");
	FILE *copy;
	int c;

	if (!f)
		return NULL;
	copy = open_memstream(&text, &size);
	if (!copy)
		pv_die(PV_EXIT_FAILED, "out of memory");
	while ((c = getc(f)) != EOF)
		putc(c, copy);
	fclose(f);
	if (fclose(copy))
		pv_die(PV_EXIT_FAILED, "out of memory");
	return text;
}

static void run_gnuplot(struct scratch *st)
{
	char *const argv[] = {"gnuplot", "-d", "plots.gp", NULL};
	posix_spawn_file_actions_t actions;
	char *err_path = scratch_path(st, "stderr", "");
	pid_t child;
	int error, status;

	if (ferror(st->script) | fclose(st->script))
		pv_die(PV_EXIT_FAILED, "%s: cannot write: %s", st->dir, strerror(errno));
	st->script = NULL;
	if (posix_spawn_file_actions_init(&actions) ||
	    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) ||
	    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) ||
	    posix_spawn_file_actions_addopen(&actions, 2, err_path, O_WRONLY | O_CREAT, 0600) ||
	    posix_spawn_file_actions_addchdir_np(&actions, st->dir))
		pv_die(PV_EXIT_FAILED, "cannot prepare to run gnuplot");
	error = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		pv_die(PV_EXIT_FAILED,
		       "cannot run gnuplot, which draws the plots of report.html: %s (without "
		       "--out "
		       "it is not needed)",
		       strerror(error));
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			pv_die(PV_EXIT_FAILED, "cannot wait for gnuplot: %s", strerror(errno));
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		char *raw = read_file(err_path);
		char *text = cleaned(raw ? raw : "");

		pv_die(PV_EXIT_FAILED, "gnuplot failed: %.300s", text);
	}
	free(err_path);
}

/* A point symbol of gnuplot's as a link; returns what follows it, NULL if it is none. */
static const char *take_point(FILE *out, const char *p, const struct mark *mark)
{
	const char *end = strstr(p, "/>");
	const char *at = strstr(p, "translate(");
	double x, y;

	if (strncmp(p, "<use ", 5) != 0 || !end || !at || at > end ||
	    sscanf(at, "translate(%lf,%lf)", &x, &y) != 2)
		return NULL;
	fprintf(out, "<a href=\"#");
	put_escaped(out, mark->href);
	fprintf(out, "\"><circle class=\"dot %s%s\" cx=\"%.2f\" cy=\"%.2f\" r=\"4\"><title>",
		mark->class, mark->open ? " open" : "", x, y);
	put_escaped(out, mark->title);
	fprintf(out, "</title></circle></a>");
	return end + 2;
}

struct replacement {
	const char *from, *to;
};

/* What would keep the page's style, or its other plots, from working. */
static const struct replacement replacements[] = {
	{" color=\"black\"", ""},
	{" color=\"gray\"", ""},
	{" stroke=\"black\"", " stroke=\"currentColor\""},
	{" stroke='black'", " stroke=\"currentColor\""},
	{" stroke=\"gray\"", ""},
	{" stroke='gray'", ""},
	{" fill=\"black\"", " fill=\"currentColor\""},
	{" font-family=\"sans-serif\"", ""},
	{" stroke-linecap=\"butt\" stroke-linejoin=\"miter\"", ""},
	{"<text> ", "<text>"},
};

static const char *skip_past(const char *p, const char *what)
{
	const char *end = strstr(p, what);

	return end ? end + strlen(what) : NULL;
}

/* Handles what starts at @p and is not copied as it is; returns what follows, or NULL. */
static const char *replace(FILE *out, const char *p)
{
	int red, green, blue, length;
	size_t i;

	for (i = 0; i < sizeof(replacements) / sizeof(replacements[0]); i++) {
		length = (int)strlen(replacements[i].from);
		if (!strncmp(p, replacements[i].from, (size_t)length)) {
			fputs(replacements[i].to, out);
			return p + length;
		}
	}
	if (!strncmp(p, "<title>", 7))
		return skip_past(p, "</title>");
	if (!strncmp(p, " id=\"", 5))
		return skip_past(p + 5, "\"");
	length = 0;
	if (sscanf(p, " stroke='rgb(%d,%d,%d)'%n", &red, &green, &blue, &length) == 3 && length &&
	    p[0] == ' ') {
		fprintf(out, " class=\"k%d\"", blue);
		return p + length;
	}
	/* Empty groups. */
	if (!strncmp(p, "<g fill=", 8)) {
		const char *end = skip_past(p, ">");

		if (end && !strncmp(end, "\n</g>\n", 6))
			return end + 6;
	}
	return NULL;
}

static char *inline_svg(const struct drawing *d, const char *svg)
{
	char *text = NULL;
	size_t size = 0;
	size_t next = 0;
	const char *p = skip_past(svg, "</defs>");
	FILE *out = open_memstream(&text, &size);

	if (!out)
		pv_die(PV_EXIT_FAILED, "out of memory");
	if (!p)
		pv_die(PV_EXIT_FAILED, "gnuplot drew something unknown");
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 %d %d\" "
		"role=\"img\" aria-label=\"",
		d->width, d->height);
	put_escaped(out, d->label);
	fprintf(out, "\">\n<g>");
	while (*p) {
		const char *after = NULL;

		if (next < d->n_marks)
			after = take_point(out, p, &d->marks[next]);
		if (after)
			next++;
		else
			after = replace(out, p);
		if (after)
			p = after;
		else
			putc(*p++, out);
	}
	if (fclose(out))
		pv_die(PV_EXIT_FAILED, "out of memory");
	if (next != d->n_marks || strstr(text, "<use "))
		pv_die(PV_EXIT_FAILED, "gnuplot drew %zu points of %zu in %s", next, d->n_marks,
		       d->name);
	return text;
}

static void close_scratch(struct scratch *st)
{
	size_t i, j;

	for (i = 0; i < st->n; i++) {
		struct drawing *d = &st->drawings[i];
		char *path = scratch_path(st, d->name, ".svg");
		char *svg = read_file(path);

		if (!svg)
			pv_die(PV_EXIT_FAILED, "gnuplot did not draw %s", d->name);
		*d->svg = inline_svg(d, svg);
		free(svg);
		free(path);
		for (j = 0; j < d->n_marks; j++) {
			free(d->marks[j].href);
			free(d->marks[j].title);
		}
		free(d->marks);
		free(d->name);
		free(d->label);
	}
	free(st->drawings);
	remove_scratch();
}

void plots_make(struct report *r)
{
	size_t *series = number_series(r);
	struct scratch st = open_scratch();
	size_t i;

	draw_overview(&st, r, series, speed_ratio, &r->svg_speed, "speed",
		      "Throughput with the feature on relative to off");
	draw_overview(&st, r, series, ipi_ratio, &r->svg_ipis, "ipis",
		      "TLB IPIs with the feature on relative to off");
	for (i = 0; i < r->n_cells; i++) {
		draw_values(&st, &r->cells[i]);
		if (r->cells[i].counts.shown && (isfinite(r->cells[i].counts.ipis[ARM_OFF]) ||
						 isfinite(r->cells[i].counts.ipis[ARM_ON])))
			draw_ipis(&st, &r->cells[i]);
	}
	run_gnuplot(&st);
	close_scratch(&st);
	free(series);
}
