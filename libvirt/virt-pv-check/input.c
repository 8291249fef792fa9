// SPDX-License-Identifier: GPL-2.0-only
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Reads @fd to its end; NULL and a problem. */
static char *read_all(int fd, const char *path, size_t *length, struct problem *p)
{
	size_t room = 1u << 16, n = 0;
	char *text = malloc(room), *more;
	ssize_t got = 1;

	while (text && got && n <= MAX_BYTES) {
		if (n == room) {
			more = realloc(text, 2 * room);
			if (!more)
				free(text);
			text = more;
			room *= 2;
			continue;
		}
		got = read(fd, text + n, room - n);
		if (got > 0)
			n += (size_t)got;
		else if (got < 0 && errno != EINTR)
			break;
	}
	if (text && !got) {
		*length = n;
		return text;
	}
	if (!text)
		wrong(p, "%s: out of memory", path);
	else if (got < 0)
		wrong(p, "%s: %s", path, strerror(errno));
	else
		wrong(p, "%s: larger than %zu MiB", path, MAX_BYTES >> 20);
	free(text);
	return NULL;
}

char *read_input(const char *path, size_t *length, struct problem *p)
{
	bool is_stdin = !strcmp(path, "-");
	char *text;
	int fd;

	fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		wrong(p, "%s: %s", path, strerror(errno));
		return NULL;
	}
	text = read_all(fd, path, length, p);
	if (!is_stdin)
		close(fd);
	return text;
}

bool is_uri(const char *text)
{
	return strstr(text, "://");
}

/* Puts "PATH: " before the problem. */
static bool about(const char *path, struct problem *p)
{
	struct problem inner = *p;

	return wrong(p, "%.200s: %.300s", path, inner.text);
}

bool load_host(const char *path, struct host *host, struct problem *p)
{
	size_t length, at = 0;
	char *text = read_input(path, &length, p);
	const char *base = strrchr(path, '/');
	bool good;

	if (!text)
		return false;
	while (at < length && strchr(" \t\r\n", text[at]))
		at++;
	put_clean(host->name, sizeof(host->name), base ? base + 1 : path);
	if (at < length && text[at] == '<')
		good = host_from_capabilities(text, length, host, p);
	else
		good = host_from_json(text, length, host, p);
	free(text);
	return good ? true : about(path, p);
}

struct policy *load_policy(const char *path, struct problem *p)
{
	struct policy *policy;
	size_t length;
	char *text = read_input(path, &length, p);

	if (!text)
		return NULL;
	policy = policy_from_json(text, length, p);
	free(text);
	if (!policy)
		about(path, p);
	return policy;
}

long today(void)
{
	return (long)(time(NULL) / 86400);
}
