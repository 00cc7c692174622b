/* emit.h - writes one JSON text to a stream, commas and escapes included.
 *
 * Life: EMIT_INIT(stream) -> emit_open, members, emit_close, in pairs -> emit_end, which adds the
 * last newline. `key` is NULL inside an array. Strings that are not UTF-8 get U+FFFD for each
 * broken byte. A misplaced call is a bug and asserts. Elements of the outermost array stand on
 * lines of their own, so that a person can read them too.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct emit {
	FILE *out; /* borrowed */
	unsigned depth;
	bool filled;   /* a comma is due */
	char kind[16]; /* '{' or '[' per depth */
};
#define EMIT_INIT(stream)                                                                          \
	{                                                                                          \
		.out = (stream)                                                                    \
	}

void emit_open(struct emit *j, const char *key, char kind); /* '{' or '[' */
void emit_close(struct emit *j);
void emit_str(struct emit *j, const char *key, const char *value); /* NULL or "" is null */
void emit_int(struct emit *j, const char *key, long long value);
void emit_bool(struct emit *j, const char *key, bool value);
void emit_null(struct emit *j, const char *key);
void emit_end(struct emit *j);
