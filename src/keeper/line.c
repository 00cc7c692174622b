/* line.c - see line.h */
#include "line.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void line_vadd(struct line *l, const char *fmt, va_list ap)
{
	size_t room = sizeof(l->text) - l->len;
	int n = vsnprintf(l->text + l->len, room, fmt, ap);

	assert(l->len < sizeof(l->text));
	if (n < 0) {
		l->text[l->len] = '\0';
		l->cut = true;
	} else if ((size_t)n >= room) {
		l->len = sizeof(l->text) - 1;
		l->cut = true;
	} else {
		l->len += (size_t)n;
	}
}

void line_add(struct line *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line_vadd(l, fmt, ap);
	va_end(ap);
}

/* Length of the well-formed UTF-8 sequence at s, or 0. Overlong forms and surrogates are not
 * well-formed. */
static size_t utf8_len(const unsigned char *s)
{
	static const struct {
		unsigned char mask, lead, len;
		unsigned min;
	} forms[] = {
		{ 0x80, 0x00, 1, 0 },
		{ 0xe0, 0xc0, 2, 0x80 },
		{ 0xf0, 0xe0, 3, 0x800 },
		{ 0xf8, 0xf0, 4, 0x10000 },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if ((s[0] & forms[i].mask) != forms[i].lead)
			continue;
		unsigned code = s[0] & (unsigned char)~forms[i].mask;
		for (size_t k = 1; k < forms[i].len; k++) {
			if ((s[k] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (s[k] & 0x3f);
		}
		if (code < forms[i].min || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
			return 0;
		return forms[i].len;
	}
	return 0;
}

/* How many bytes at s go into a JSON string as they are. */
static size_t line_plain_len(const char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

void line_json(struct line *l, const char *s)
{
	if (!s) {
		line_add(l, "null");
		return;
	}
	line_add(l, "\"");
	while (*s) {
		const unsigned char *c = (const unsigned char *)s;
		size_t plain = line_plain_len(s), n = plain ? plain : utf8_len(c);

		if (n == 0)
			line_add(l, "\\ufffd");
		else if (*c == '"' || *c == '\\')
			line_add(l, "\\%c", *c);
		else if (*c < 0x20 || *c == 0x7f)
			line_add(l, "\\u%04x", *c);
		else
			line_add(l, "%.*s", (int)n, s);
		s += n ? n : 1;
	}
	line_add(l, "\"");
}

void line_flatten(struct line *l)
{
	for (size_t i = 0; i < l->len; i++) {
		if ((unsigned char)l->text[i] < 0x20 || l->text[i] == 0x7f)
			l->text[i] = ' ';
	}
}

const char *line_say(struct line *l, const char *fmt, va_list ap)
{
	line_init(l);
	line_add(l, "killick: ");
	line_vadd(l, fmt, ap);
	line_flatten(l);
	return l->text + strlen("killick: ");
}
