/* scan.h - finds values in JSON that is known to be valid.
 *
 * Finds only values of a few keys at known depths; the scanner knows strings and nesting and checks
 * nothing else.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct span { /* a piece of the text, as written: strings have their quotes */
	const char *at;
	size_t len; /* 0: absent */
};
#define SPAN_NONE ((struct span){ .at = NULL })

/* The value of `key` among the members of the object `obj`: the first one. With scan_folds the last
 * one, in upper or lower case, as the decoder of Go has it. */
struct span scan_member(struct span obj, const char *key);
extern bool scan_folds;
/* Is the span this string? */
bool scan_is(struct span s, const char *text);
/* The number of the span; `otherwise` when it is not a number. */
long scan_long(struct span s, long otherwise);
/* A copy without quotes, not unescaped, cut to fit. */
void scan_copy(struct span s, char *out, size_t size);
