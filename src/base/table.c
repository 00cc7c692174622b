/* table.c - see table.h */
#include "table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "mem.h"
#include "text.h"

enum { GAP = 2, CELL_MAX = 8192 };

void table_add(struct table *t, const char *cell)
{
	if ((t->count & (t->count + 1)) == 0)
		t->cells = mem_grow(t->cells, (t->count + 1) * 2, sizeof(*t->cells));
	t->cells[t->count++] = mem_dup(cell);
}

void table_addf(struct table *t, const char *fmt, ...)
{
	char text[CELL_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	table_add(t, text);
}

/* The width that each column needs for all of its texts; 0 for a column that may be dropped and has
 * no text in any row. */
static void natural_widths(const struct table *t, size_t *width)
{
	memset(width, 0, t->ncols * sizeof(*width));
	for (size_t i = 0; i < t->count; i++) {
		size_t w = text_width(t->cells[i]);

		if (w > width[i % t->ncols])
			width[i % t->ncols] = w;
	}
	for (size_t c = 0; c < t->ncols; c++) {
		size_t w = text_width(t->cols[c].title);

		if (w > width[c] && (width[c] || !t->cols[c].drop))
			width[c] = w;
	}
}

static size_t total_width(const struct table *t, const size_t *width, size_t indent)
{
	size_t sum = indent;

	for (size_t c = 0; c < t->ncols; c++)
		if (width[c])
			sum += width[c] + (sum > indent ? GAP : 0);
	return sum;
}

/* Make the widest column that may be cut narrower by one. Returns false when no column can be cut
 * any more. */
static bool cut_widest(const struct table *t, size_t *width)
{
	size_t best = t->ncols;

	for (size_t c = 0; c < t->ncols; c++)
		if (t->cols[c].min && width[c] > t->cols[c].min &&
		    (best == t->ncols || width[c] > width[best]))
			best = c;
	if (best < t->ncols)
		width[best]--;
	return best < t->ncols;
}

static bool drop_last(const struct table *t, size_t *width)
{
	for (size_t c = t->ncols; c-- > 0;)
		if (t->cols[c].drop && width[c]) {
			width[c] = 0;
			return true;
		}
	return false;
}

static void fit(const struct table *t, size_t *width, size_t indent, size_t limit)
{
	AUTO(mem_drop) size_t *natural = mem_grow(NULL, t->ncols, sizeof(*natural));

	memcpy(natural, width, t->ncols * sizeof(*natural));
	while (total_width(t, width, indent) > limit) {
		if (cut_widest(t, width))
			continue;
		if (!drop_last(t, width))
			return;
		/* one column was dropped: start again from the full widths of the others */
		for (size_t c = 0; c < t->ncols; c++)
			width[c] = width[c] ? natural[c] : 0;
	}
}

static void print_row(const struct table *t, FILE *out, size_t indent, const size_t *width,
		      char *const *cells)
{
	size_t owed = indent; /* spaces before the next text, so that no line ends with spaces */
	char text[CELL_MAX];

	for (size_t c = 0; c < t->ncols; c++) {
		const char *colour =
			cells && t->cols[c].colour ? t->cols[c].colour(cells[c]) : NULL;
		size_t w;

		if (!width[c])
			continue;
		(t->cols[c].path ? text_cut_middle : text_cut)(cells ? cells[c] : t->cols[c].title,
							       width[c], text, sizeof(text));
		w = text_width(text);
		if (t->cols[c].right)
			owed += width[c] - w;
		if (*text) {
			fprintf(out, "%*s", (int)owed, "");
			fprintf(out, colour ? "\033[%sm%s\033[0m" : "%s%s", colour ? colour : "",
				text);
			owed = 0;
		}
		owed += GAP + (t->cols[c].right ? (*text ? 0 : w) : width[c] - w);
	}
	fprintf(out, "%s\n", t->end ? t->end : "");
}

void table_print(const struct table *t, FILE *out, size_t indent, size_t width)
{
	AUTO(mem_drop) size_t *widths = mem_grow(NULL, t->ncols, sizeof(*widths));

	assert(t->count % t->ncols == 0);
	natural_widths(t, widths);
	if (width)
		fit(t, widths, indent, width);
	if (!t->bare)
		print_row(t, out, indent, widths, NULL);
	for (size_t i = 0; i < t->count; i += t->ncols)
		print_row(t, out, indent, widths, t->cells + i);
}

void table_done(struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->cells[i]);
	free(t->cells);
	t->cells = NULL;
	t->count = 0;
}
