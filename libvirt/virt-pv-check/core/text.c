// SPDX-License-Identifier: GPL-2.0-only
#include "check.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool wrong(struct problem *p, const char *fmt, ...)
{
	char text[sizeof(p->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_clean(p->text, sizeof(p->text), text);
	return false;
}

/* Bytes of the UTF-8 character at @s (of @length > 0 bytes), its number in *@code; 0: it is none.
 */
static size_t utf8_char(const unsigned char *s, size_t length, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n, i;

	if (s[0] < 0x80)
		n = 1;
	else if (s[0] >= 0xc2 && s[0] < 0xe0)
		n = 2;
	else if (s[0] >= 0xe0 && s[0] < 0xf0)
		n = 3;
	else if (s[0] >= 0xf0 && s[0] < 0xf5)
		n = 4;
	else
		return 0;
	if (n > length)
		return 0;
	*code = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3fu);
	}
	if (*code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return n;
}

bool is_utf8(const char *text, size_t length)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t code;
	size_t n;

	for (; length > 0; s += n, length -= n) {
		n = utf8_char(s, length, &code);
		if (!n || !code)
			return false;
	}
	return true;
}

static bool is_control(uint32_t code)
{
	/* the line separators and the marks that turn the direction of writing around, too */
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

bool is_name(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t length = strlen(text), n;
	uint32_t code;

	if (!length || length >= NAME_ROOM)
		return false;
	for (; length > 0; s += n, length -= n) {
		n = utf8_char(s, length, &code);
		if (!n || is_control(code))
			return false;
	}
	return true;
}

void put_clean(char *out, size_t room, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t length = strlen(text), used = 0, n;
	uint32_t code;

	for (; length > 0; s += n, length -= n) {
		n = utf8_char(s, length, &code);
		if (used + (n ? n : 1) + 1 > room)
			break;
		if (n && !is_control(code)) {
			memcpy(out + used, s, n);
			used += n;
		} else {
			n = n ? n : 1;
			out[used++] = code == '\n' && n == 1 && length > n ? ' ' : '?';
			if (length == n && *s == '\n')
				used--; /* the end of a message of another library */
		}
	}
	out[used] = '\0';
}

bool parse_date(const char *text, long *days)
{
	static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
	static const int of_month[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	long y, m, d;
	bool leap;
	int i;

	for (i = 0; i < 10; i++) {
		if (i == 4 || i == 7 ? text[i] != '-' : !isdigit((unsigned char)text[i]))
			return false;
	}
	if (text[10])
		return false;
	y = strtol(text, NULL, 10);
	m = strtol(text + 5, NULL, 10);
	d = strtol(text + 8, NULL, 10);
	leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
	if (y < 1970 || m < 1 || m > 12 || d < 1 || d > of_month[m - 1] + (m == 2 && leap))
		return false;
	*days = (y - 1970) * 365 + (y - 1969) / 4 - (y - 1901) / 100 + (y - 1601) / 400 +
		before[m - 1] + (m > 2 && leap) + d - 1;
	return true;
}

bool size_is_fine(size_t length, struct problem *p)
{
	if (!length)
		return wrong(p, "empty");
	if (length > MAX_BYTES)
		return wrong(p, "larger than %zu MiB", MAX_BYTES >> 20);
	return true;
}

json_t *load_json(const char *text, size_t length, size_t flags, struct problem *p)
{
	json_error_t error;
	json_t *json;

	if (!size_is_fine(length, p))
		return NULL;
	json = json_loadb(text, length, JSON_REJECT_DUPLICATES | flags, &error);
	if (!json)
		wrong(p, "not JSON: line %d: %s", error.line, error.text);
	return json;
}

bool only_keys(json_t *object, const char *where, const char *const *keys, struct problem *p)
{
	const char *key;
	json_t *value;
	size_t i;

	json_object_foreach(object, key, value)
	{
		for (i = 0; keys[i] && strcmp(key, keys[i]) != 0; i++)
			;
		if (!keys[i])
			return wrong(p, "%s: unknown key \"%.64s\"", where, key);
	}
	return true;
}
