/* line.h - one line of text in fixed memory.
 *
 * What does not fit is cut and remembered in `cut`; nothing overflows and nothing is allocated, so
 * it may be used anywhere in the keeper, also while everything else fails. Threads: one per line.
 * Blocking: only line_write, as write(2) does.
 */
#pragma once

#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>

struct line {
	size_t len; /* text[len] is always NUL */
	bool cut;
	char text[16384];
};
/* No initialiser: zeroing 16 KiB to write 60 bytes is for nothing. */
static inline void line_init(struct line *l)
{
	l->len = 0;
	l->cut = false;
	l->text[0] = '\0';
}

void line_add(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void line_vadd(struct line *l, const char *fmt, va_list ap);

/* Add `s` as a JSON string with its quotes, or `null` for NULL. Bytes that are not UTF-8 become
 * U+FFFD. */
void line_json(struct line *l, const char *s);

/* Control characters become spaces: what users and servers name may hold anything, a line is one
 * line. */
void line_flatten(struct line *l);

/* Write the line to somebody who may not read it: not at all unless fd takes it within timeout_ms.
 */
void line_offer(const struct line *l, int fd, int timeout_ms);

/* Write the whole line to fd, going on after EINTR and short writes. -errno on failure. */
int line_write(const struct line *l, int fd);
