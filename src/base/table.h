/* table.h - rows of text in columns that fit a width.
 *
 * Life: TABLE_INIT(columns) -> table_add, one cell at a time, row by row -> table_print ->
 * table_done. Where the rows are too wide, columns with a `min` are cut, the widest first; when
 * that is not enough the columns marked `drop` are left out, the last first. A `drop` column with
 * no text in any row is always left out. Cells are printed as they are: clean them first (text.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct table_col {
	const char *title;
	bool right; /* numbers */
	bool drop;  /* may be left out */
	size_t min; /* may be cut to so many columns; 0: never cut */
	bool path;  /* is cut in the middle, so that the name of a file stays */
	/* the terminal's code for the colour of a cell, such as "32"; NULL: none */
	const char *(*colour)(const char *cell);
};

struct table {
	const struct table_col *cols; /* borrowed */
	size_t ncols;
	char **cells;
	size_t count;
	bool bare;       /* without titles */
	const char *end; /* what each line has in front of its newline; NULL: nothing */
};
#define TABLE_INIT(c)                                                                              \
	{                                                                                          \
		.cols = (c), .ncols = sizeof(c) / sizeof((c)[0])                                   \
	}

/* Add the next cell; the text is copied. */
void table_add(struct table *t, const char *cell);
void table_addf(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Print titles and rows with `indent` spaces in front, into `width` columns in all (0: as wide as
 * needed). The last row must be complete. */
void table_print(const struct table *t, FILE *out, size_t indent, size_t width);

void table_done(struct table *t);
