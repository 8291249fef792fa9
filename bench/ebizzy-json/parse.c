// SPDX-License-Identifier: GPL-2.0-only
#include "parse.h"

#include "pv.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What comes next, in this order. */
enum expected { RATE, REAL, USER, SYS, NOTHING };
static const char *const expected_name[] = {"records/s", "real", "user", "sys", "nothing"};

static char *message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static char *message(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return strdup(text);
}

/* The banner, the settings and the progress that -v, -vv and -vvv put before the result. */
static bool is_chatter(const char *line)
{
	static const char *const whole[] = {"Allocated memory", "Wrote memory", "Threads starting",
					    "Thread started", "Threads finished"};
	static const char *const start[] = {"ebizzy ", "(C) ", "Thread finished, ", "Search key "};
	static const char *const setting[] = {"always_mmap ",
					      "never_mmap ",
					      "chunks ",
					      "prevent coalescing using permissions ",
					      "prevent coalescing using holes ",
					      "random_size ",
					      "chunk_size ",
					      "seconds ",
					      "threads ",
					      "verbose ",
					      "linear ",
					      "touch_pages ",
					      "page size "};
	long value;

	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		if (strcmp(line, whole[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(start) / sizeof(*start); i++)
		if (strncmp(line, start[i], strlen(start[i])) == 0)
			return true;
	for (size_t i = 0; i < sizeof(setting) / sizeof(*setting); i++) {
		size_t len = strlen(setting[i]);

		if (strncmp(line, setting[i], len) == 0 &&
		    pv_parse_long(line + len, LONG_MIN, LONG_MAX, &value))
			return true;
	}
	return false;
}

/* "N records/s", then perhaps integers. Takes @line apart. */
static bool parse_rate(char *line, struct ebizzy_output *out)
{
	char *rest = NULL, *word = strtok_r(line, " \t", &rest);

	if (!word || !pv_parse_long(word, 0, LONG_MAX, &out->records_per_s))
		return false;
	word = strtok_r(NULL, " \t", &rest);
	if (!word || strcmp(word, "records/s") != 0)
		return false;
	while ((word = strtok_r(NULL, " \t", &rest))) {
		long *grown = realloc(out->per_thread,
				      (out->per_thread_count + 1) * sizeof(*out->per_thread));

		if (!grown)
			pv_die(PV_EXIT_FAILED, "out of memory");
		out->per_thread = grown;
		if (!pv_parse_long(word, 0, LONG_MAX, &grown[out->per_thread_count]))
			return false;
		out->per_thread_count++;
	}
	return true;
}

/* "NAME SECONDS s". Takes @line apart. */
static bool parse_time(char *line, const char *name, double *seconds)
{
	char *rest = NULL, *word = strtok_r(line, " ", &rest);

	if (!word || strcmp(word, name) != 0)
		return false;
	word = strtok_r(NULL, " ", &rest);
	if (!word || word[strspn(word, "0123456789.")] || !pv_parse_double(word, 0, 1e12, seconds))
		return false;
	word = strtok_r(NULL, " ", &rest);
	return word && strcmp(word, "s") == 0 && !strtok_r(NULL, " ", &rest);
}

static bool parse_expected(enum expected expected, char *line, struct ebizzy_output *out)
{
	switch (expected) {
	case RATE:
		return parse_rate(line, out);
	case REAL:
		return parse_time(line, "real", &out->real_s);
	case USER:
		return parse_time(line, "user", &out->user_s);
	case SYS:
		return parse_time(line, "sys", &out->sys_s);
	case NOTHING:
		break;
	}
	return false;
}

bool ebizzy_parse(FILE *file, struct ebizzy_output *out, char **why)
{
	enum expected expected = RATE;
	char *line = NULL;
	size_t size = 0, number = 0;
	ssize_t len;

	memset(out, 0, sizeof(*out));
	*why = NULL;
	while (!*why && (len = getline(&line, &size, file)) >= 0) {
		char *copy;

		number++;
		if (len > 0 && line[len - 1] == '\n')
			line[--len] = '\0';
		if (strlen(line) != (size_t)len) {
			*why = message("line %zu has a NUL byte", number);
			break;
		}
		if (expected == RATE && is_chatter(line))
			continue;
		copy = strdup(line);
		if (!copy)
			pv_die(PV_EXIT_FAILED, "out of memory");
		if (parse_expected(expected, copy, out))
			expected++;
		else
			*why = message("line %zu is not ebizzy's (wanted: %s): '%.200s'", number,
				       expected_name[expected], line);
		free(copy);
	}
	if (!*why && expected != NOTHING)
		*why = message("it ends before the line with '%s'", expected_name[expected]);
	free(line);
	return !*why;
}

void ebizzy_output_free(struct ebizzy_output *out)
{
	free(out->per_thread);
	out->per_thread = NULL;
	out->per_thread_count = 0;
}
