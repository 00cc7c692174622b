/* top_lines.c - see top_lines.h */
#include "top_lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"

enum { TOP_TEXT_MAX = 4096 };

void top_lines_space(struct top_lines *l, size_t columns)
{
	l->spaces += columns;
}

void top_lines_put(struct top_lines *l, const char *style, const char *text)
{
	char cut[TOP_TEXT_MAX];

	if (!*text || l->used + l->spaces >= l->width)
		return;
	for (; l->spaces; l->spaces--, l->used++)
		buf_adds(&l->line, " ");
	text_cut(text, l->width - l->used, cut, sizeof(cut));
	l->used += text_width(cut);
	if (style && l->colour)
		buf_addf(&l->line, "\033[%sm%s\033[0m", style, cut);
	else
		buf_adds(&l->line, cut);
}

void top_lines_putf(struct top_lines *l, const char *style, const char *fmt, ...)
{
	char text[TOP_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	top_lines_put(l, style, text);
}

void top_lines_cell(struct top_lines *l, const char *style, const char *text, size_t columns,
		    bool right)
{
	char cut[TOP_TEXT_MAX];
	size_t width;

	text_cut(text, columns, cut, sizeof(cut));
	width = text_width(cut);
	width = width < columns ? columns - width : 0;
	if (right)
		l->spaces += width;
	top_lines_put(l, style, cut);
	if (!right)
		l->spaces += width;
}

void top_lines_right(struct top_lines *l, const char *style, const char *text)
{
	size_t width = text_width(text);

	if (l->used + l->spaces + width + 1 > l->width)
		return;
	l->spaces = l->width - l->used - width;
	top_lines_put(l, style, text);
}

size_t top_lines_fit(const char *text, size_t columns)
{
	char part[TOP_TEXT_MAX];
	size_t len = 0, space = 0;

	while (text[len]) {
		size_t next = len + 1;

		while ((text[next] & 0xc0) == 0x80) /* the rest of a UTF-8 character */
			next++;
		if (next >= sizeof(part))
			return len;
		memcpy(part + len, text + len, next - len);
		part[next] = '\0';
		if (len && text_width(part) > columns)
			return text[len] == ' ' ? len : space ? space : len;
		if (text[len] == ' ')
			space = len;
		len = next;
	}
	return len;
}

void top_lines_end(struct top_lines *l)
{
	l->list = mem_grow(l->list, l->count + 1, sizeof(*l->list));
	l->list[l->count++] = mem_dup(l->line.data);
	buf_reset(&l->line, 4096);
	l->used = l->spaces = 0;
}

void top_lines_done(struct top_lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->list[i]);
	mem_drop(&l->list);
	l->count = 0;
	buf_done(&l->line);
}
