/* edits.h - a list of replacements in a text, applied while the text is copied.
 *
 * Calling sequence: TEXT_EDITS_INIT -> text_edits_add ... -> text_edits_copy. Nothing is allocated;
 * the text and the replacements are borrowed until text_edits_copy returns. Edits do not overlap.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"

#define TEXT_EDITS_MAX 8

struct text_edit { /* `cut` bytes at `at` become `put` */
	const char *at;
	size_t cut;
	struct json put; /* at NULL: nothing */
};
struct text_edits { /* in the order of the text; edits at one place in the order of the calls */
	struct text_edit list[TEXT_EDITS_MAX];
	size_t count;
};
#define TEXT_EDITS_INIT                                                                            \
	{                                                                                          \
		.count = 0                                                                         \
	}

void text_edits_add(struct text_edits *e, const char *at, size_t cut, struct json put);
/* Append the edited text. 0, or -EMSGSIZE or -ENOMEM and nothing was added. Capacity for a newline
 * behind the text is reserved too. */
int text_edits_copy(struct buf *b, struct json text, const struct text_edits *e);
