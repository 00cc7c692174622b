/* t_line.h - a formatted line, for tests that speak a protocol of lines. Without t.c, so that fuzz
 * targets can use it. */
#pragma once

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* The text and a newline behind it, but no NUL; the caller frees it. out_len: with the newline. */
static inline __attribute__((format(printf, 1, 0))) char *t_line(const char *fmt, va_list ap,
								 size_t *out_len)
{
	char *line;
	int n = vasprintf(&line, fmt, ap);

	assert(n >= 0);
	line[n] = '\n'; /* in place of the NUL */
	*out_len = (size_t)n + 1;
	return line;
}
