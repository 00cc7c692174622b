/* text.c - see text.h */
#include "text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "os/glyph.h"

static bool utf8_out;

void text_set_utf8(bool on)
{
	utf8_out = on;
}

bool text_is_utf8(void)
{
	return utf8_out;
}

/* Read one character of at most len bytes. Returns its length, at least 1. *c is -1 for a byte that
 * is not UTF-8. */
static size_t next_char(const char *s, size_t len, int *c)
{
	size_t n = utf8_len(s, len);

	*c = n ? utf8_code(s, n) : -1;
	return n ? n : 1;
}

static int char_width(int c)
{
	int w = c < 0x80 ? 1 : glyph_width(c);

	return w < 0 ? 1 : w;
}

bool text_is_printable(int c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		return false;
	if (c < 0x80)
		return true;
	if ((c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	    (c >= 0x2066 && c <= 0x2069) || c == 0xfeff)
		return false;
	return utf8_out;
}

void text_clean(const char *in, size_t len, char *out, size_t size)
{
	size_t o = 0;

	assert(size > 0);
	for (size_t i = 0; i < len;) {
		int c;
		size_t n = next_char(in + i, len - i, &c);

		if (c == 0 || c == '\n' || c == '\t') {
			c = ' ';
			n = 1;
		}
		if (o + n >= size)
			break;
		if (c == ' ')
			out[o++] = ' ';
		else if (c < 0 || !text_is_printable(c))
			out[o++] = '?';
		else
			for (size_t k = 0; k < n; k++)
				out[o++] = in[i + k];
		i += n;
	}
	while (o > 0 && out[o - 1] == ' ')
		o--;
	out[o] = '\0';
}

size_t text_width(const char *s)
{
	size_t width = 0, len = strlen(s);

	for (size_t i = 0; i < len;) {
		int c;

		i += next_char(s + i, len - i, &c);
		width += (size_t)char_width(c < 0 ? '?' : c);
	}
	return width;
}

void text_cut(const char *s, size_t columns, char *out, size_t size)
{
	const char *mark = utf8_out ? "\xe2\x80\xa6" : columns >= 8 ? "..." : "~";
	size_t mark_width = utf8_out || columns < 8 ? 1 : 3, len = strlen(s), width = 0, i = 0;

	assert(size > 8);
	if (text_width(s) <= columns && len < size) {
		memcpy(out, s, len + 1);
		return;
	}
	if (columns == 0)
		mark = "", mark_width = 0;
	while (i < len) {
		int c;
		size_t n = next_char(s + i, len - i, &c), w = (size_t)char_width(c < 0 ? '?' : c);

		if (width + w + mark_width > columns || i + n + 4 >= size)
			break;
		width += w;
		i += n;
	}
	snprintf(out, size, "%.*s%s", (int)i, s, mark);
}

void text_cut_middle(const char *s, size_t columns, char *out, size_t size)
{
	const char *tail = s, *name = strrchr(s, '/');
	size_t head = columns / 4 > 8 ? columns / 4 : 8;

	if (columns < 12 || (text_width(s) <= columns && strlen(s) < size)) {
		text_cut(s, columns, out, size);
		return;
	}
	while (name && head > 3 && head + text_width(name) > columns)
		head--;
	text_cut(s, head, out, size / 2);
	head = text_width(out);
	while (*tail && (head + text_width(tail) > columns || strlen(tail) > size / 2 - 1)) {
		do
			tail++;
		while ((*tail & 0xc0) == 0x80);
	}
	snprintf(out + strlen(out), size - strlen(out), "%s", tail);
}

const char *text_size(unsigned long long bytes, char out[16])
{
	static const char unit[] = "KMGTPE";
	double v = (double)bytes / 1024;
	size_t u = 0;

	while (v >= 999.5 && u < sizeof(unit) - 2) {
		v /= 1024;
		u++;
	}
	if (u == 0 || v >= 9.95)
		snprintf(out, 16, "%.0f%c", v, unit[u]);
	else
		snprintf(out, 16, "%.1f%c", v, unit[u]);
	return out;
}

const char *text_span(long long ms, char out[24])
{
	long long s = ms / 1000;

	if (ms < 0)
		ms = s = 0;
	if (ms < 1000)
		snprintf(out, 24, "%lldms", ms);
	else if (ms < 10000)
		snprintf(out, 24, "%lld.%llds", s, ms / 100 % 10);
	else if (s < 60)
		snprintf(out, 24, "%llds", s);
	else if (s < 3600)
		snprintf(out, 24, "%lldm", s / 60);
	else if (s < 86400)
		snprintf(out, 24, "%lldh%02lldm", s / 3600, s / 60 % 60);
	else
		snprintf(out, 24, "%lldd%lldh", s / 86400, s / 3600 % 24);
	return out;
}
