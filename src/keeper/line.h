/* line.h - one line of text in fixed memory.
 *
 * Text that does not fit is cut, and `cut` is set. A line never overflows and never allocates, so
 * every part of the keeper may use it, also while other calls fail. Threads: one per line.
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
/* A function instead of an initialiser, which would zero 16 KiB to write 60 bytes. */
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

/* Replace control characters by spaces: names from users and servers may have newlines, and a line
 * must stay one line. */
void line_flatten(struct line *l);

/* Write the line to a reader that may not read: skipped unless fd is writable within timeout_ms. */
void line_offer(const struct line *l, int fd, int timeout_ms);

/* Write the whole line to fd, and continue after EINTR and short writes. -errno on failure. */
int line_write(const struct line *l, int fd);
