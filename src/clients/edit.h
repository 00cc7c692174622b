/* edit.h - changes of a text: byte ranges that are replaced, all at once.
 *
 * Every byte outside of the ranges stays as it is. Life: EDITS_INIT -> edits_add in any order ->
 * edits_pieces, edits_diff -> edits_done. An edit whose range overlaps the range of another edit is
 * not added, and `overlap` is set. Threads: any.  Blocking: edits_diff writes to a stream.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "node.h"
#include "os/fd.h"

struct edit {
	struct span old; /* of length 0: text is inserted */
	char *text;
	size_t len;
};

struct edits {
	struct edit *list; /* in the order of the text */
	size_t count;
	bool overlap;        /* an edit was not added, because its range overlaps another */
	struct span *hidden; /* values of the old text that edits_diff does not print */
	size_t hidden_count;
};
#define EDITS_INIT                                                                                 \
	{                                                                                          \
		.count = 0                                                                         \
	}

/* Replace `old` by the contents of `text`, which is empty afterwards. */
void edits_add(struct edits *e, struct span old, struct buf *text);
/* Let edits_diff print a mark in place of these bytes of the old text, also where an edit moves
 * them. The written text is unchanged. */
void edits_hide(struct edits *e, struct span secret);
/* Returns the number of pieces of the new text. The pieces are borrowed from the old text and the
 * edits; the caller frees *out. */
size_t edits_pieces(const struct edits *e, const char *text, size_t len, struct fd_piece **out);
/* Append the new text to `out`. */
void edits_apply(const struct edits *e, const char *text, size_t len, struct buf *out);
void edits_done(struct edits *e);

/* Print the change as a unified diff. Lines are cleaned for a terminal; of a line that is too long
 * only the parts near the change are printed. */
void edits_diff(const struct edits *e, const char *text, size_t len, const char *file, FILE *out);
