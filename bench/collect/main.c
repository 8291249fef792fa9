// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE

#include "collect.h"
#include "fields.h"
#include "pv.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RETRY_MS 100
#define TIMEOUT_MAX 604800

const char *pv_progname = "pv-collect";

static uint64_t started_ns;

static const struct pv_field context_fields[] = {
	{.name = "host", .kind = PV_TEXT},
	{.name = "lane", .kind = PV_CHOICE, .choices = "x86|loongarch|arm64"},
	{.name = "emulated", .kind = PV_BOOL},
	{.name = "pcpus", .kind = PV_COUNT1},
	{.name = "overcommit", .kind = PV_POSITIVE},
	{.name = "arm", .kind = PV_CHOICE, .choices = "off|on"},
	{.name = "requested", .kind = PV_CHOICE, .choices = "yes|no|unknown"},
	{.name = "run", .kind = PV_COUNT1},
	{.name = "position", .kind = PV_COUNT1},
	{.name = "seed", .kind = PV_COUNT},
	{.name = "env", .kind = PV_STRINGS},
	{.name = "feature", .kind = PV_TEXT, .flags = PV_OPTIONAL},
	{.name = "vcpus", .kind = PV_COUNT1, .flags = PV_OPTIONAL},
	{0},
};

struct options {
	const char *context, *out, *console_dir;
	long timeout_s, boot_timeout_s, off_timeout_s;
	bool force;
	struct guest *guests;
	size_t n;
};

static void usage(FILE *to)
{
	fputs("usage: pv-collect --context FILE.json --out FILE.jsonl [options]\n"
	      "                  GUEST=SOCKET[,PIDFILE[,CONSOLELOG]]...\n"
	      "\n"
	      "Collects the samples of guests (pv-guest) that run together, each once: waits "
	      "until\n"
	      "all of them are ready, lets them go at the same time, and writes all their samples\n"
	      "when all are done. Nothing is written if anything goes wrong in any guest.\n"
	      "  --context FILE     a JSON object with the host's part of every sample: host, "
	      "lane,\n"
	      "                     emulated, pcpus, overcommit, arm, requested, run, position,\n"
	      "                     seed, env; feature and vcpus, if there, must be the guests'\n"
	      "  --out FILE         must not exist; appears at once, whole, at the end\n"
	      "  --force            remove FILE first\n"
	      "  --boot-timeout S   until all guests are ready (300)\n"
	      "  --timeout S        from there until all are done (3600)\n"
	      "  --off-timeout S    from there until all have closed their channels (30);\n"
	      "                     exceeding it is only a warning\n"
	      "  --console-dir DIR  console log of a guest without CONSOLELOG: DIR/GUEST.log\n"
	      "SOCKET is the guest's virtio-serial channel, a unix socket QEMU listens on; "
	      "PIDFILE\n"
	      "has QEMU's process id and adds the host's counts (deferred_flushes,\n"
	      "details.host.run_delay_s).\n"
	      "Exit status: 0 all samples written, 1 something failed, 2 bad usage or context.\n",
	      to);
}

void progress(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pv_printable(text);
	pv_warn("%6.1f s: %s", (double)(pv_now_ns() - started_ns) / 1e9, text);
}

/* ---- options and context ---- */

static void add_guest(struct options *o, char *arg)
{
	struct guest *g = &o->guests[o->n];
	const char *why;

	/* guest_parse() cuts the text up; up to the '=' it stays. */
	if (!guest_parse(g, arg, &why))
		pv_die(PV_EXIT_USAGE, "\"%s\": %s", arg, why);
	for (size_t i = 0; i < o->n; i++)
		if (!strcmp(o->guests[i].name, g->name) || !strcmp(o->guests[i].socket, g->socket))
			pv_die(PV_EXIT_USAGE, "guest %s: name or socket is there twice", g->name);
	o->n++;
}

static void add_console(const struct options *o, struct guest *g)
{
	if (g->console || !o->console_dir)
		return;
	if (asprintf(&g->console_path, "%s/%s.log", o->console_dir, g->name) < 0)
		pv_die(PV_EXIT_FAILED, "no memory");
	g->console = g->console_path;
}

static void seconds(const char *option, long *out)
{
	if (!pv_parse_long(optarg, 1, TIMEOUT_MAX, out))
		pv_die(PV_EXIT_USAGE, "--%s: must be 1 to %d seconds", option, TIMEOUT_MAX);
}

static void parse_options(struct options *o, int argc, char **argv)
{
	static const struct option longopts[] = {
		{"boot-timeout", required_argument, NULL, 'b'},
		{"console-dir", required_argument, NULL, 'd'},
		{"context", required_argument, NULL, 'c'},
		{"force", no_argument, NULL, 'F'},
		{"help", no_argument, NULL, 'h'},
		{"off-timeout", required_argument, NULL, 'f'},
		{"out", required_argument, NULL, 'o'},
		{"timeout", required_argument, NULL, 't'},
		{0},
	};
	int c, index;

	while ((c = getopt_long(argc, argv, "h", longopts, &index)) != -1) {
		if (c == 'h') {
			usage(stdout);
			exit(0);
		}
		if (c == 'b')
			seconds("boot-timeout", &o->boot_timeout_s);
		else if (c == 'f')
			seconds("off-timeout", &o->off_timeout_s);
		else if (c == 't')
			seconds("timeout", &o->timeout_s);
		else if (c == 'c')
			o->context = optarg;
		else if (c == 'd')
			o->console_dir = optarg;
		else if (c == 'o')
			o->out = optarg;
		else if (c == 'F')
			o->force = true;
		else
			pv_die(PV_EXIT_USAGE, "bad option; --help explains");
	}
	if (!o->context || !o->out)
		pv_die(PV_EXIT_USAGE, "--context and --out are needed; --help explains");
	if (optind == argc)
		pv_die(PV_EXIT_USAGE, "no guest");
	if (argc - optind > GUESTS_MAX)
		pv_die(PV_EXIT_USAGE, "more than %d guests", GUESTS_MAX);
	o->guests = calloc((size_t)(argc - optind), sizeof(*o->guests));
	if (!o->guests)
		pv_die(PV_EXIT_FAILED, "no memory");
	for (; optind < argc; optind++)
		add_guest(o, argv[optind]);
	for (size_t i = 0; i < o->n; i++)
		add_console(o, &o->guests[i]);
}

static void read_context(struct context *ctx, const char *path)
{
	json_error_t error;
	char why[200];

	ctx->json = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!ctx->json)
		pv_die(PV_EXIT_USAGE, "%s:%d: %s", path, error.line, error.text);
	if (!pv_check_fields(ctx->json, context_fields, NULL, why, sizeof(why)))
		pv_die(PV_EXIT_USAGE, "%s: %s", path, why);
	ctx->env = json_object_get(ctx->json, "env");
	ctx->feature = json_string_value(json_object_get(ctx->json, "feature"));
	ctx->vcpus = json_integer_value(json_object_get(ctx->json, "vcpus"));
	ctx->overcommit = json_number_value(json_object_get(ctx->json, "overcommit"));
	ctx->pcpus = json_number_value(json_object_get(ctx->json, "pcpus"));
}

/* An hour's work must not be lost at its end. */
static void check_out(const struct options *o)
{
	char copy[4096];
	const char *dir;

	if (snprintf(copy, sizeof(copy), "%s", o->out) >= (int)sizeof(copy))
		pv_die(PV_EXIT_USAGE, "--out: the path is too long");
	dir = dirname(copy);
	if (o->force && unlink(o->out) && errno != ENOENT)
		pv_die(PV_EXIT_USAGE, "%s: %s", o->out, strerror(errno));
	if (!access(o->out, F_OK))
		pv_die(PV_EXIT_USAGE, "%s is there already", o->out);
	if (access(dir, W_OK | X_OK))
		pv_die(PV_EXIT_USAGE, "%s: %s", dir, strerror(errno));
}

/* ---- the run ---- */

static bool all_in(const struct options *o, enum phase phase)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->guests[i].phase < phase)
			return false;
	return true;
}

static const struct guest *laggard(const struct options *o, enum phase phase)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->guests[i].phase < phase)
			return &o->guests[i];
	return NULL;
}

/* Events of all guests until all are in @phase; false: not within @timeout_s. */
static bool run_until(const struct options *o, const struct context *ctx, enum phase phase,
		      long timeout_s)
{
	uint64_t now, end = pv_now_ns() + (uint64_t)timeout_s * 1000000000u;
	struct pollfd *p = calloc(o->n, sizeof(*p));
	bool there, connecting;

	if (!p)
		pv_die(PV_EXIT_FAILED, "no memory");
	while (!(there = all_in(o, phase)) && (now = pv_now_ns()) < end) {
		int ms = (int)((end - now) / 1000000u) + 1;

		connecting = false;
		for (size_t i = 0; i < o->n; i++) {
			struct guest *g = &o->guests[i];

			if (g->phase == PHASE_CONNECT)
				guest_connect(g);
			connecting |= g->phase == PHASE_CONNECT;
			p[i].fd = g->phase == PHASE_CONNECT ? -1 : g->fd;
			p[i].events = POLLIN;
			p[i].revents = 0;
		}
		if (poll(p, o->n, connecting && ms > RETRY_MS ? RETRY_MS : ms) < 0 &&
		    errno != EINTR)
			pv_die(PV_EXIT_FAILED, "poll: %s", strerror(errno));
		for (size_t i = 0; i < o->n; i++)
			if (p[i].fd >= 0 && p[i].revents)
				guest_read(&o->guests[i], ctx);
	}
	free(p);
	return there;
}

/* The guests that we know of cannot be more than all that run. */
static void check_overcommit(const struct options *o, const struct context *ctx)
{
	double vcpus = 0;

	for (size_t i = 0; i < o->n; i++)
		vcpus += (double)o->guests[i].vcpus;
	if (vcpus / ctx->pcpus > ctx->overcommit * 1.001)
		pv_die(PV_EXIT_FAILED,
		       "overcommit %g in the context, but the guests have %g vCPUs "
		       "on %g pCPUs",
		       ctx->overcommit, vcpus, ctx->pcpus);
}

/* ---- the results ---- */

/* Time within @w during which guest @g ran some job; its windows do not overlap each other. */
static bool next_window(const struct guest *g, size_t *i, struct window *w)
{
	if (*i >= json_array_size(g->samples))
		return false;
	*w = g->windows[(*i)++];
	return true;
}

/* Cut the @n windows @set down to the parts during which @g ran jobs too. */
static size_t intersect(struct window **set, size_t n, const struct guest *g)
{
	size_t m = 0, size = n + json_array_size(g->samples);
	struct window *cut = calloc(size, sizeof(*cut)), w;

	if (!cut)
		pv_die(PV_EXIT_FAILED, "no memory");
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; next_window(g, &j, &w);) {
			if (w.start_ns < (*set)[i].start_ns)
				w.start_ns = (*set)[i].start_ns;
			if (w.end_ns > (*set)[i].end_ns)
				w.end_ns = (*set)[i].end_ns;
			if (w.start_ns < w.end_ns && m < size)
				cut[m++] = w;
		}
	}
	free(*set);
	*set = cut;
	return m;
}

/* Share of @w during which all guests ran some job. */
static double overlap(const struct options *o, const struct window *w)
{
	struct window *set = malloc(sizeof(*set));
	size_t n = 1;
	double sum = 0;

	if (!set)
		pv_die(PV_EXIT_FAILED, "no memory");
	set[0] = *w;
	for (size_t i = 0; i < o->n; i++)
		n = intersect(&set, n, &o->guests[i]);
	for (size_t i = 0; i < n; i++)
		sum += (double)(set[i].end_ns - set[i].start_ns);
	free(set);
	return w->end_ns > w->start_ns ? sum / (double)(w->end_ns - w->start_ns) : 1;
}

static void add_windows(const struct options *o)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct guest *g = &o->guests[i];

		for (size_t k = 0; k < json_array_size(g->samples); k++) {
			const struct window *w = &g->windows[k];
			json_t *sample = json_array_get(g->samples, k);
			json_t *host = json_object_get(json_object_get(sample, "details"), "host");

			json_object_set_new(host, "window",
					    json_pack("[f, f]", (double)w->start_ns / 1e9,
						      (double)w->end_ns / 1e9));
			json_object_set_new(host, "overlap", json_real(overlap(o, w)));
		}
	}
}

static bool write_samples(const struct options *o, FILE *f)
{
	for (size_t i = 0; i < o->n; i++) {
		const json_t *samples = o->guests[i].samples;

		for (size_t k = 0; k < json_array_size(samples); k++)
			if (json_dumpf(json_array_get(samples, k), f, JSON_COMPACT) ||
			    fputc('\n', f) == EOF)
				return false;
	}
	return !fflush(f) && !fsync(fileno(f));
}

static void write_out(const struct options *o)
{
	char *tmp;
	FILE *f;
	int fd;

	if (asprintf(&tmp, "%s.XXXXXX", o->out) < 0)
		pv_die(PV_EXIT_FAILED, "no memory");
	fd = mkostemp(tmp, O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		pv_die(PV_EXIT_FAILED, "%s: %s", tmp, strerror(errno));
	if (!write_samples(o, f) || fchmod(fd, 0644) || fclose(f) || rename(tmp, o->out)) {
		pv_warn("%s: %s", o->out, strerror(errno));
		unlink(tmp);
		exit(PV_EXIT_FAILED);
	}
	free(tmp);
}

static void free_all(struct options *o, struct context *ctx)
{
	for (size_t i = 0; i < o->n; i++)
		guest_free(&o->guests[i]);
	free(o->guests);
	json_decref(ctx->json);
}

int main(int argc, char **argv)
{
	struct options o = {.timeout_s = 3600, .boot_timeout_s = 300, .off_timeout_s = 30};
	const struct guest *late;
	struct context ctx;
	size_t n = 0;

	started_ns = pv_now_ns();
	parse_options(&o, argc, argv);
	read_context(&ctx, o.context);
	check_out(&o);
	if (!run_until(&o, &ctx, PHASE_READY, o.boot_timeout_s)) {
		late = laggard(&o, PHASE_READY);
		guest_die(late, "%s within %ld s",
			  late->phase == PHASE_CONNECT ? "nobody listens on its socket"
						       : "not ready",
			  o.boot_timeout_s);
	}
	check_overcommit(&o, &ctx);
	for (size_t i = 0; i < o.n; i++) {
		guest_send(&o.guests[i], "go\n");
		o.guests[i].phase = PHASE_BETWEEN;
	}
	progress("go: %zu guests", o.n);
	if (!run_until(&o, &ctx, PHASE_DONE, o.timeout_s))
		guest_die(laggard(&o, PHASE_DONE), "not done within %ld s", o.timeout_s);
	if (!run_until(&o, &ctx, PHASE_OFF, o.off_timeout_s))
		pv_warn("guest %s: done, but not off within %ld s", laggard(&o, PHASE_OFF)->name,
			o.off_timeout_s);
	add_windows(&o);
	write_out(&o);
	for (size_t i = 0; i < o.n; i++)
		n += json_array_size(o.guests[i].samples);
	progress("%zu samples in %s", n, o.out);
	free_all(&o, &ctx);
	return PV_EXIT_OK;
}
