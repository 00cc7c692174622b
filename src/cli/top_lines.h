/* top_lines.h - lines of text in columns, cut to the width of a terminal, with colours.
 *
 * Life: TOP_LINES_INIT -> top_lines_put ... top_lines_end for each line -> top_lines_done. Texts
 * must be clean (text.h). Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct top_lines {
	size_t width; /* columns of the terminal */
	bool colour;
	struct buf line; /* the line that is being written */
	size_t used;     /* its columns */
	size_t spaces;   /* columns that are due before the next text */
	char **list;
	size_t count;
};
#define TOP_LINES_INIT(columns, colours)                                                           \
	{                                                                                          \
		.width = (columns), .colour = (colours), .line = BUF_INIT(BUF_ANY_SIZE)            \
	}

/* Append text. `style`: the terminal's code such as "1" or "31"; NULL: none. The text is cut at the
 * end of the line. */
void top_lines_put(struct top_lines *l, const char *style, const char *text);
void top_lines_putf(struct top_lines *l, const char *style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Append text in a column of this width; a text that is longer is cut with a mark. */
void top_lines_cell(struct top_lines *l, const char *style, const char *text, size_t columns,
		    bool right);
void top_lines_space(struct top_lines *l, size_t columns);
/* Append text at the right end of the line, if there is room. */
void top_lines_right(struct top_lines *l, const char *style, const char *text);
/* The bytes of a text that fit into one line of so many columns. The text is broken at a space, or
 * within a word that is longer than the line. */
size_t top_lines_fit(const char *text, size_t columns);
void top_lines_end(struct top_lines *l);
void top_lines_done(struct top_lines *l);
