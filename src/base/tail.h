/* tail.h - the last bytes that a server wrote to its stderr.
 *
 * Nothing is allocated for a server that writes nothing. Life: zero -> tail_add ... -> tail_done.
 */
#pragma once

#include <stddef.h>

#define TAIL_SIZE 4096

struct tail {
	char *ring; /* NULL: nothing was written */
	size_t start, len;
};

void tail_add(struct tail *t, const char *bytes, size_t len);
/* All kept bytes, the oldest first, from the beginning of a line if it is known; NUL-terminated. */
void tail_text(const struct tail *t, char out[TAIL_SIZE + 1]);
/* The last lines (at most `lines`, as many as fit) as one line: "first | second"; "" when there is
 * none.
 */
void tail_last(const struct tail *t, unsigned lines, char *out, size_t size);
/* The first line that looks like a reason ("npm ERR! ...", "Error: ...") and is not among the last
 * `lines` lines, cut to size - 1 bytes; "" when there is none. */
void tail_reason(const struct tail *t, unsigned lines, char *out, size_t size);
void tail_done(struct tail *t);
