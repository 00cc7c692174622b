/* line.h - one line of text in fixed memory.
 *
 * Text that does not fit is cut, and `cut` is set. A line never overflows and never allocates, so
 * every part of the keeper may use it, also while other calls fail. How a line is written is each
 * system's: line_fd.h of Linux, line_handle.h of Windows. Threads: one per line.  Blocking: never.
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

/* Make the line `killick: TEXT`, flattened, without a newline at its end. Returns TEXT, which is a
 * part of the line. */
const char *line_say(struct line *l, const char *fmt, va_list ap);
