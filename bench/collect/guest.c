// SPDX-License-Identifier: GPL-2.0-only
/*
 * One guest and what it says on its channel. A guest is not trusted: everything it sends is
 * bounded and checked, and it has no say in the fields that belong to the host.
 */
#define _GNU_SOURCE

#include "collect.h"
#include "fields.h"
#include "pv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CONSOLE_LINES 20
#define CONSOLE_BYTES 16384

#define EVENT {.name = "event", .kind = PV_TEXT}
#define YES_NO "yes|no|unknown"

static const struct pv_field state_fields[] = {
	EVENT,
	{.name = "version", .kind = PV_COUNT1},
	{.name = "feature", .kind = PV_TEXT},
	{.name = "offered", .kind = PV_CHOICE, .choices = YES_NO},
	{.name = "active", .kind = PV_CHOICE, .choices = YES_NO},
	{.name = "vcpus", .kind = PV_COUNT1},
	{.name = "barrier", .kind = PV_BOOL},
	{.name = "jobs", .kind = PV_COUNT1},
	{.name = "kernel", .kind = PV_TEXT},
	{.name = "build", .kind = PV_TEXT},
	{.name = "glibc", .kind = PV_TEXT},
	{.name = "clocksource", .kind = PV_LINE},
	{.name = "mem_kb", .kind = PV_COUNT, .flags = PV_NULL},
	{.name = "hypervisor", .kind = PV_LINE, .flags = PV_NULL},
	{.name = "steal", .kind = PV_BOOL},
	{.name = "dedicated", .kind = PV_BOOL, .flags = PV_NULL},
	{.name = "mwait", .kind = PV_BOOL, .flags = PV_NULL},
	{0},
};

static const struct pv_field ready_fields[] = {EVENT, {0}};

static const struct pv_field begin_fields[] = {
	EVENT,
	{.name = "job", .kind = PV_TEXT},
	{.name = "k", .kind = PV_COUNT1},
	{.name = "n", .kind = PV_COUNT1},
	{.name = "timeout_s", .kind = PV_COUNT1},
	{.name = "args", .kind = PV_ARRAY},
	{0},
};

static const struct pv_field progress_fields[] = {
	EVENT,
	{.name = "job", .kind = PV_TEXT},
	{.name = "elapsed_s", .kind = PV_NONNEG},
	{0},
};

static const struct pv_field sample_event_fields[] = {
	EVENT,
	{.name = "job", .kind = PV_TEXT},
	{.name = "sample", .kind = PV_OBJECT},
	{0},
};

static const struct pv_field error_fields[] = {
	EVENT,
	{.name = "job", .kind = PV_TEXT, .flags = PV_NULL},
	{.name = "reason", .kind = PV_FREE},
	{.name = "stderr", .kind = PV_FREE, .flags = PV_OPTIONAL},
	{0},
};

static const struct pv_field done_fields[] = {
	EVENT,
	{.name = "jobs", .kind = PV_COUNT},
	{.name = "failed", .kind = PV_COUNT},
	{0},
};

/* What a guest puts into a sample beside the workload's own fields. */
static const struct pv_field guest_fields[] = {
	{.name = "vcpus", .kind = PV_COUNT1},
	{.name = "feature", .kind = PV_TEXT},
	{.name = "offered", .kind = PV_CHOICE, .choices = YES_NO},
	{.name = "active", .kind = PV_CHOICE, .choices = YES_NO},
	{.name = "steal_s", .kind = PV_NONNEG, .flags = PV_NULL},
	{.name = "elapsed_s", .kind = PV_POSITIVE},
	{.name = "tlb_ipis", .kind = PV_COUNT, .flags = PV_NULL},
	{.name = "env", .kind = PV_STRINGS},
	{0},
};

/* ---- messages ---- */

static void print_console(const struct guest *g)
{
	static char buf[CONSOLE_BYTES + 1];
	struct stat st;
	char *line;
	ssize_t len = -1;
	int lines = 0, fd = g->console ? open(g->console, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
		len = pread(fd, buf, CONSOLE_BYTES,
			    st.st_size > CONSOLE_BYTES ? st.st_size - CONSOLE_BYTES : 0);
	if (fd >= 0)
		close(fd);
	if (len < 0) {
		fprintf(stderr, "  no console of %s\n", g->name);
		return;
	}
	for (ssize_t i = 0; i < len; i++)
		if (!buf[i] || buf[i] == '\r')
			buf[i] = ' ';
	while (len && (buf[len - 1] == '\n' || buf[len - 1] == ' '))
		len--;
	buf[len] = '\0';
	pv_printable(buf);
	for (line = buf + len; line > buf; line--)
		if (line[-1] == '\n' && ++lines == CONSOLE_LINES)
			break;
	fprintf(stderr, "  console of %s ends with:\n", g->name);
	for (char *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		fprintf(stderr, "  | %s\n", line);
	}
}

void guest_die(const struct guest *g, const char *fmt, ...)
{
	char text[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pv_printable(text);
	pv_warn("guest %s: %s", g->name, text);
	if (g->last_event[0])
		fprintf(stderr, "  last event: %s, %.1f s ago\n", g->last_event,
			(double)(pv_now_ns() - g->last_ns) / 1e9);
	else
		fprintf(stderr, "  last event: none\n");
	print_console(g);
	exit(PV_EXIT_FAILED);
}

/* ---- the command line's word for a guest ---- */

static bool name_valid(const char *name)
{
	return name[0] && strlen(name) < 128 && name[0] != '-' &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789._-")];
}

bool guest_parse(struct guest *g, char *arg, const char **why)
{
	char *rest = strchr(arg, '='), *part;

	memset(g, 0, sizeof(*g));
	g->fd = -1;
	*why = "not GUEST=SOCKET[,PIDFILE[,CONSOLE]]";
	if (!rest)
		return false;
	*rest++ = '\0';
	g->name = arg;
	g->socket = strsep(&rest, ",");
	part = strsep(&rest, ",");
	g->pidfile = part && *part ? part : NULL;
	part = strsep(&rest, ",");
	g->console = part && *part ? part : NULL;
	if (rest || !*g->socket)
		return false;
	*why = "not a guest's name";
	if (!name_valid(g->name))
		return false;
	*why = "the socket's path is too long";
	if (strlen(g->socket) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return false;
	g->buf = malloc(LINE_MAX_BYTES + 1);
	g->samples = json_array();
	if (!g->buf || !g->samples)
		pv_die(PV_EXIT_FAILED, "no memory");
	return true;
}

void guest_free(struct guest *g)
{
	if (g->fd >= 0)
		close(g->fd);
	host_close(&g->host);
	free(g->console_path);
	free(g->buf);
	free(g->windows);
	json_decref(g->samples);
}

/* ---- the channel ---- */

void guest_connect(struct guest *g)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (g->fd < 0)
		g->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (g->fd < 0)
		guest_die(g, "no socket: %s", strerror(errno));
	memcpy(to.sun_path, g->socket, strlen(g->socket) + 1); /* guest_parse() saw to it */
	if (!connect(g->fd, (struct sockaddr *)&to, sizeof(to))) {
		g->phase = PHASE_STATE;
		progress("%s: connected", g->name);
		return;
	}
	/* QEMU makes the socket when it starts. */
	if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR)
		guest_die(g, "%s: %s", g->socket, strerror(errno));
}

void guest_send(struct guest *g, const char *line)
{
	size_t len = strlen(line);

	if (send(g->fd, line, len, MSG_NOSIGNAL) != (ssize_t)len)
		guest_die(g, "cannot write \"%.10s\" to its channel: %s", line, strerror(errno));
}

/* ---- events ---- */

static const char *text(const json_t *obj, const char *key)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s ? s : "";
}

static json_int_t integer(const json_t *obj, const char *key)
{
	return json_integer_value(json_object_get(obj, key));
}

static void check(const struct guest *g, const json_t *event, const struct pv_field *fields)
{
	char why[200];

	if (!pv_check_fields(event, fields, NULL, why, sizeof(why)))
		guest_die(g, "event \"%.20s\": %s", text(event, "event"), why);
}

static void expect(const struct guest *g, const json_t *event, bool in_order)
{
	if (!in_order)
		guest_die(g, "event \"%.20s\" out of order", text(event, "event"));
}

static void on_state(struct guest *g, const json_t *event, const struct context *ctx)
{
	expect(g, event, g->phase == PHASE_STATE);
	check(g, event, state_fields);
	if (integer(event, "version") != 1)
		guest_die(g, "speaks version %lld of the protocol, not 1",
			  (long long)integer(event, "version"));
	if (!json_is_true(json_object_get(event, "barrier")))
		guest_die(g, "does not wait for the other guests (pvb.barrier=0)");
	g->vcpus = integer(event, "vcpus");
	g->jobs = integer(event, "jobs");
	snprintf(g->feature, sizeof(g->feature), "%s", text(event, "feature"));
	snprintf(g->offered, sizeof(g->offered), "%s", text(event, "offered"));
	snprintf(g->active, sizeof(g->active), "%s", text(event, "active"));
	if (ctx->feature && strcmp(ctx->feature, g->feature) != 0)
		guest_die(g, "tests feature %s, the context says %s", g->feature, ctx->feature);
	if (ctx->vcpus && ctx->vcpus != g->vcpus)
		guest_die(g, "has %lld vCPUs online, the context says %lld", (long long)g->vcpus,
			  (long long)ctx->vcpus);
	host_open(&g->host, g->name, g->pidfile);
	if (g->host.n && (json_int_t)g->host.n < g->vcpus)
		guest_die(g, "says it has %lld vCPUs, its QEMU has %zu", (long long)g->vcpus,
			  g->host.n);
	g->phase = PHASE_BOOTED;
	progress("%s: %s offered %s, active %s; %lld vCPUs, Linux %s", g->name, g->feature,
		 g->offered, g->active, (long long)g->vcpus, text(event, "kernel"));
}

static void on_ready(struct guest *g, const json_t *event)
{
	expect(g, event, g->phase == PHASE_BOOTED);
	check(g, event, ready_fields);
	g->phase = PHASE_READY;
	progress("%s: ready", g->name);
}

static void on_begin(struct guest *g, const json_t *event)
{
	expect(g, event, g->phase == PHASE_BETWEEN);
	check(g, event, begin_fields);
	if (integer(event, "k") != ++g->begun || integer(event, "n") != g->jobs)
		guest_die(g, "begins job %lld of %lld; it should be %lld of %lld",
			  (long long)integer(event, "k"), (long long)integer(event, "n"),
			  (long long)g->begun, (long long)g->jobs);
	snprintf(g->job, sizeof(g->job), "%s", text(event, "job"));
	g->phase = PHASE_JOB;
	host_read(&g->host, &g->begin_counts);
	g->begin_ns = pv_now_ns();
	progress("%s: job %lld of %lld: %s", g->name, (long long)g->begun, (long long)g->jobs,
		 g->job);
}

static void check_job(const struct guest *g, const json_t *event)
{
	char job[sizeof(g->job)];

	snprintf(job, sizeof(job), "%s", text(event, "job"));
	if (strcmp(job, g->job) != 0)
		guest_die(g, "event \"%.20s\" is of job %s, but %s runs", text(event, "event"), job,
			  g->job);
}

/* The guest said these things when it booted; it may not change its mind. */
static void check_same(const struct guest *g, const json_t *sample)
{
	if (strcmp(text(sample, "feature"), g->feature) != 0 ||
	    strcmp(text(sample, "offered"), g->offered) != 0 ||
	    strcmp(text(sample, "active"), g->active) != 0 || integer(sample, "vcpus") != g->vcpus)
		guest_die(g,
			  "its sample has another feature, state or number of vCPUs than itself");
}

static void merge_env(const struct guest *g, json_t *sample, const struct context *ctx)
{
	json_t *env = json_object_get(sample, "env");

	for (void *it = json_object_iter(ctx->env); it; it = json_object_iter_next(ctx->env, it)) {
		const char *key = json_object_iter_key(it);

		if (json_object_get(env, key))
			guest_die(g, "its sample has env.%s, which is the host's", key);
		json_object_set(env, key, json_object_iter_value(it));
	}
}

/* Fields of the context that are expectations for us, not parts of a sample. */
static bool is_expectation(const char *key)
{
	return !strcmp(key, "env") || !strcmp(key, "feature") || !strcmp(key, "vcpus");
}

static json_t *real_or_null(double value, bool known)
{
	return known ? json_real(value) : json_null();
}

static void add_host(struct guest *g, json_t *sample, const struct context *ctx,
		     const struct host_counts *end)
{
	const struct host_counts *begin = &g->begin_counts;
	json_t *details = json_object_get(sample, "details"), *host = json_object();
	bool known = begin->run_delay_s >= 0 && end->run_delay_s >= begin->run_delay_s;

	json_object_set_new(host, "run_delay_s",
			    real_or_null(end->run_delay_s - begin->run_delay_s, known));
	json_object_set_new(details, "host", host);
	known = begin->deferred >= 0 && end->deferred >= begin->deferred;
	json_object_set_new(sample, "deferred_flushes",
			    known ? json_integer(end->deferred - begin->deferred) : json_null());
	json_object_set_new(sample, "schema", json_integer(1));
	json_object_set_new(sample, "guest", json_string(g->name));
	for (void *it = json_object_iter(ctx->json); it; it = json_object_iter_next(ctx->json, it))
		if (!is_expectation(json_object_iter_key(it)))
			json_object_set(sample, json_object_iter_key(it),
					json_object_iter_value(it));
}

static void on_sample(struct guest *g, json_t *event, const struct context *ctx)
{
	json_t *sample = json_object_get(event, "sample");
	size_t n = json_array_size(g->samples);
	uint64_t end_ns = pv_now_ns();
	struct host_counts end;
	struct window *more;
	char why[200];

	host_read(&g->host, &end);
	expect(g, event, g->phase == PHASE_JOB);
	check(g, event, sample_event_fields);
	check_job(g, event);
	if (!pv_check_fields(sample, pv_result_fields, guest_fields, why, sizeof(why)))
		guest_die(g, "its sample: %s", why);
	if (json_object_get(json_object_get(sample, "details"), "host"))
		guest_die(g, "its sample has details.host, which is the host's");
	check_same(g, sample);
	merge_env(g, sample, ctx);
	add_host(g, sample, ctx, &end);
	more = realloc(g->windows, (n + 1) * sizeof(*more));
	if (!more || json_array_append(g->samples, sample))
		pv_die(PV_EXIT_FAILED, "no memory");
	g->windows = more;
	g->windows[n] = (struct window){.start_ns = g->begin_ns, .end_ns = end_ns};
	g->phase = PHASE_BETWEEN;
	progress("%s: job %lld of %lld: %s: %g %s", g->name, (long long)g->begun,
		 (long long)g->jobs, g->job, json_number_value(json_object_get(sample, "value")),
		 text(sample, "unit"));
}

static void on_error(const struct guest *g, const json_t *event)
{
	const char *err = text(event, "stderr");

	check(g, event, error_fields);
	guest_die(g, "%s%s%.400s%s%.4200s", text(event, "job"), text(event, "job")[0] ? ": " : "",
		  text(event, "reason"), *err ? "; it said:\n" : "", err);
}

static void on_done(struct guest *g, const json_t *event)
{
	expect(g, event, g->phase == PHASE_BETWEEN);
	check(g, event, done_fields);
	if (integer(event, "jobs") != g->jobs || integer(event, "failed") ||
	    (json_int_t)json_array_size(g->samples) != g->jobs)
		guest_die(g, "is done with %zu samples of %lld jobs", json_array_size(g->samples),
			  (long long)g->jobs);
	g->phase = PHASE_DONE;
	progress("%s: done", g->name);
	guest_send(g, "bye\n");
}

static void dispatch(struct guest *g, json_t *event, const struct context *ctx)
{
	const char *name = text(event, "event");

	if (!strcmp(name, "state")) {
		on_state(g, event, ctx);
	} else if (!strcmp(name, "ready")) {
		on_ready(g, event);
	} else if (!strcmp(name, "begin")) {
		on_begin(g, event);
	} else if (!strcmp(name, "progress")) {
		expect(g, event, g->phase == PHASE_JOB);
		check(g, event, progress_fields);
		check_job(g, event);
	} else if (!strcmp(name, "sample")) {
		on_sample(g, event, ctx);
	} else if (!strcmp(name, "error")) {
		on_error(g, event);
	} else if (!strcmp(name, "done")) {
		on_done(g, event);
	} else {
		guest_die(g, "sends the unknown event \"%.40s\"", name);
	}
	snprintf(g->last_event, sizeof(g->last_event), "%.20s%s%.40s", name,
		 *text(event, "job") ? " " : "", text(event, "job"));
	pv_printable(g->last_event);
	g->last_ns = pv_now_ns();
}

static void take_line(struct guest *g, const char *line, size_t len, const struct context *ctx)
{
	json_error_t error;
	json_t *event;

	if (++g->events > EVENTS_MAX)
		guest_die(g, "sends more than %u events", EVENTS_MAX);
	if (memchr(line, '\0', len))
		guest_die(g, "sends a NUL byte");
	event = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
	if (!event)
		guest_die(g, "sends a line that is not a JSON object: %s", error.text);
	if (!json_is_object(event))
		guest_die(g, "sends a line that is not a JSON object");
	dispatch(g, event, ctx);
	json_decref(event);
}

static void on_eof(struct guest *g)
{
	if (g->len)
		guest_die(g, "closed its channel in the middle of a line");
	if (g->phase != PHASE_DONE)
		guest_die(g, "closed its channel before it was done");
	close(g->fd);
	g->fd = -1;
	g->phase = PHASE_OFF;
	progress("%s: off", g->name);
}

void guest_read(struct guest *g, const struct context *ctx)
{
	ssize_t got = read(g->fd, g->buf + g->len, LINE_MAX_BYTES + 1 - g->len);
	char *line = g->buf, *end;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		on_eof(g);
		return;
	}
	g->len += (size_t)got;
	g->total += (size_t)got;
	if (g->total > TOTAL_MAX_BYTES)
		guest_die(g, "sends more than %u bytes", TOTAL_MAX_BYTES);
	while ((end = memchr(line, '\n', (size_t)(g->buf + g->len - line)))) {
		take_line(g, line, (size_t)(end - line), ctx);
		line = end + 1;
	}
	g->len = (size_t)(g->buf + g->len - line);
	memmove(g->buf, line, g->len);
	if (g->len > LINE_MAX_BYTES)
		guest_die(g, "sends a line of more than %u bytes", LINE_MAX_BYTES);
}
