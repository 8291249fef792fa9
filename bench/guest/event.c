// SPDX-License-Identifier: GPL-2.0-only
#include "fields.h"
#include "guest.h"
#include "pv.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A host that does not take a line within this time is gone. */
#define WRITE_TIMEOUT_MS 30000

static int out_fd = STDOUT_FILENO;
static bool out_channel;

void note(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pv_printable(text);
	pv_warn("%s", text);
}

void event_to(int fd, bool channel)
{
	out_fd = fd;
	out_channel = channel;
}

static void write_all(const char *data, size_t len)
{
	struct pollfd p = {.fd = out_fd, .events = POLLOUT};
	ssize_t put;

	while (len) {
		if (out_channel && event_hangup())
			pv_die(PV_EXIT_FAILED, "the host has closed the channel");
		put = write(out_fd, data, len);
		if (put > 0) {
			data += put;
			len -= (size_t)put;
		} else if (put < 0 && errno == EAGAIN) {
			if (!poll(&p, 1, WRITE_TIMEOUT_MS))
				pv_die(PV_EXIT_FAILED, "the host does not read the channel");
		} else if (put == 0 || errno != EINTR) {
			pv_die(PV_EXIT_FAILED, "cannot write an event: %s", strerror(errno));
		}
	}
}

/* A sample may be too long for a line; what is sent then says so. */
static json_t *too_long(const json_t *event)
{
	json_t *job = json_object_get(event, "job");

	return json_pack("{s:s, s:O?, s:s}", "event", "error", "job", job, "reason",
			 "the event does not fit into a line");
}

bool event_send(json_t *event)
{
	char *line = json_dumps(event, JSON_COMPACT);
	bool fits;
	size_t len;

	if (!line)
		pv_die(PV_EXIT_FAILED, "cannot write an event as JSON");
	len = strlen(line);
	fits = len < OUTPUT_MAX;
	if (fits) {
		line[len] = '\n';
		write_all(line, len + 1);
	} else {
		event_send(too_long(event));
	}
	free(line);
	json_decref(event);
	return fits;
}

bool event_hangup(void)
{
	struct pollfd p = {.fd = out_fd};

	return out_channel && poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

bool event_wait_host(long timeout_s)
{
	uint64_t end = pv_now_ns() + (uint64_t)timeout_s * 1000000000u;

	while (event_hangup()) {
		if (pv_now_ns() > end)
			return false;
		usleep(50000);
	}
	return true;
}

/*
 * The guest speaks only when it is asked to; so the few bytes that come can be read one at a time,
 * and nothing has to be kept between calls.
 */
bool event_wait_line(const char *wanted, const char *skip, long timeout_s, char *why)
{
	uint64_t now, end = pv_now_ns() + (uint64_t)timeout_s * 1000000000u;
	struct pollfd p = {.fd = out_fd, .events = POLLIN};
	char line[64];
	size_t len = 0;
	ssize_t got;

	while ((now = pv_now_ns()) < end) {
		if (poll(&p, 1, (int)((end - now) / 1000000u) + 1) <= 0)
			continue;
		got = read(out_fd, line + len, 1);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0) {
			snprintf(why, WHY_MAX, "the host has closed the channel");
			return false;
		}
		if (line[len] != '\n') {
			len++;
			if (len < sizeof(line))
				continue;
		}
		line[len - (len == sizeof(line))] = '\0';
		if (!strcmp(line, wanted))
			return true;
		if (!skip || strcmp(line, skip) != 0) {
			pv_printable(line);
			snprintf(why, WHY_MAX, "\"%s\" from the host in place of \"%s\"", line,
				 wanted);
			return false;
		}
		len = 0;
	}
	snprintf(why, WHY_MAX, "no \"%s\" from the host within %ld s", wanted, timeout_s);
	return false;
}
