// SPDX-License-Identifier: GPL-2.0-only
#include "compare.h"
#include "pv.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void *xrealloc(void *p, size_t n, size_t size)
{
	if (n == 0)
		n = 1;
	p = n > SIZE_MAX / size ? NULL : realloc(p, n * size);
	if (!p)
		pv_die(PV_EXIT_FAILED, "out of memory");
	return p;
}

char *xstrdup(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(xrealloc(NULL, size, 1), text, size);
}

char *xformat(const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		pv_die(PV_EXIT_FAILED, "cannot format a text");
	text = xrealloc(NULL, (size_t)n + 1, 1);
	va_start(ap, fmt);
	vsnprintf(text, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return text;
}

/* Length of the valid, printable character at @p; 0 if it is none. */
static size_t char_length(const unsigned char *p)
{
	unsigned int code;
	size_t n, i;

	if (p[0] < 0x80)
		return p[0] >= 0x20 && p[0] != 0x7f;
	if (p[0] >= 0xc2 && p[0] <= 0xdf) {
		n = 2;
		code = p[0] & 0x1fu;
	} else if ((p[0] & 0xf0) == 0xe0) {
		n = 3;
		code = p[0] & 0x0fu;
	} else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		n = 4;
		code = p[0] & 0x07u;
	} else {
		return 0;
	}
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3fu);
	}
	/* Overlong, surrogates, beyond Unicode, not characters. */
	if ((n == 3 && code < 0x800) || (n == 4 && code < 0x10000) || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff) || (code & 0xfffe) == 0xfffe)
		return 0;
	/* C1 controls, line and paragraph separators, reordering of what is around them. */
	if (code < 0xa0 || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069))
		return 0;
	return n;
}

bool clean_text(const char *text)
{
	size_t n;

	for (; *text; text += n) {
		n = char_length((const unsigned char *)text);
		if (!n)
			return false;
	}
	return true;
}

char *cleaned(const char *text)
{
	char *copy = xstrdup(text);
	char *p = copy;

	while (*p) {
		size_t n = char_length((const unsigned char *)p);

		if (!n)
			*p++ = '?';
		else
			p += n;
	}
	return copy;
}

#define SCRATCH_SIZE 40
#define SCRATCHES 32

static char *scratch(void)
{
	static struct {
		char text[SCRATCHES][SCRATCH_SIZE];
		unsigned int next;
	} ring;

	return ring.text[ring.next++ % SCRATCHES];
}

const char *num(double x)
{
	char *text = scratch();

	if (!isfinite(x))
		return "n/a";
	if (fabs(x) >= 99999.5 && fabs(x) < 1e15)
		snprintf(text, SCRATCH_SIZE, "%.0f", x);
	else
		snprintf(text, SCRATCH_SIZE, "%.5g", x == 0 ? 0 : x);
	return text;
}

const char *num3(double x)
{
	char *text = scratch();

	if (!isfinite(x))
		return "n/a";
	if (fabs(x) >= 999.5)
		return num(x);
	snprintf(text, SCRATCH_SIZE, "%.3g", x == 0 ? 0 : x);
	return text;
}

static const char *percent_signed(double fraction, bool plus)
{
	char *text = scratch();
	double x = fraction * 100;
	int decimals = fabs(x) < 9.995 ? 2 : fabs(x) < 999.5 ? 1 : 0;

	if (!isfinite(x))
		return "n/a";
	if (fabs(x) >= 1e9) {
		snprintf(text, SCRATCH_SIZE, plus ? "%+.3g %%" : "%.3g %%", x);
		return text;
	}
	if (fabs(x) < 0.005)
		x = 0;
	snprintf(text, SCRATCH_SIZE, plus && x != 0 ? "%+.*f %%" : "%.*f %%", decimals, x);
	return text;
}

const char *percent(double fraction)
{
	return percent_signed(fraction, true);
}

const char *percent_plain(double fraction)
{
	return percent_signed(fraction, false);
}

#define MAX_NEW_FILES 4
static struct new_file *pending[MAX_NEW_FILES];

void new_files_discard(void)
{
	size_t i;

	for (i = 0; i < MAX_NEW_FILES; i++) {
		if (!pending[i])
			continue;
		unlink(pending[i]->temp);
		if (pending[i]->f)
			fclose(pending[i]->f);
		free(pending[i]->temp);
		free(pending[i]->path);
		pending[i] = NULL;
	}
}

void new_file_open(struct new_file *nf, const char *dir, const char *name)
{
	static bool registered;
	mode_t mask;
	size_t i;
	int fd;

	if (!registered)
		registered = atexit(new_files_discard) == 0;
	nf->path = xformat("%s/%s", dir, name);
	nf->temp = xformat("%s/.%s.XXXXXX", dir, name);
	fd = mkstemp(nf->temp);
	if (fd < 0)
		pv_die(PV_EXIT_FAILED, "%s: cannot create: %s", nf->path, strerror(errno));
	for (i = 0; i < MAX_NEW_FILES; i++) {
		if (!pending[i]) {
			pending[i] = nf;
			break;
		}
	}
	mask = umask(0);
	umask(mask);
	nf->f = fdopen(fd, "w");
	if (!nf->f || fchmod(fd, 0666 & ~mask))
		pv_die(PV_EXIT_FAILED, "%s: cannot create: %s", nf->path, strerror(errno));
}

void new_file_finish(struct new_file *nf)
{
	int failed = ferror(nf->f);
	FILE *f = nf->f;

	nf->f = NULL;
	if (fclose(f) || failed)
		pv_die(PV_EXIT_FAILED, "%s: cannot write: %s", nf->path, strerror(errno));
}

void new_file_publish(struct new_file *nf)
{
	size_t i;

	if (rename(nf->temp, nf->path))
		pv_die(PV_EXIT_FAILED, "%s: cannot rename: %s", nf->path, strerror(errno));
	for (i = 0; i < MAX_NEW_FILES; i++) {
		if (pending[i] == nf)
			pending[i] = NULL;
	}
	free(nf->temp);
	free(nf->path);
}

void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			putc(*text, out);
		}
	}
}
