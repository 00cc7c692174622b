/* fuzz.h - what a fuzz target needs: its entry point, its input as a text, and lines of the text.
 *
 * A target is one file with LLVMFuzzerTestOneInput. libFuzzer calls it in `make check`
 * (tests/fuzz/run), replay.c calls it with every file of its corpus in `make test`. The oracle is
 * assert, and the sanitizers where there are any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes as a text, in a block of exactly its size: reading past its end is seen. free() it. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* The line at *at, with a NUL in place of its newline; *at moves to the next line, or to `end` or
 * behind it when there is none. */
static inline char *fuzz_next_line(char **at, char *end, size_t *out_len)
{
	char *line = *at, *newline = memchr(line, '\n', (size_t)(end - line));

	*out_len = (size_t)((newline ? newline : end) - line);
	if (newline)
		*newline = '\0';
	*at = line + *out_len + 1;
	return line;
}

/* Is the field a text that ends within it? */
static inline int fuzz_is_text(const char *field, size_t size)
{
	return memchr(field, '\0', size) != NULL;
}
