/* emit.h - writes one JSON text into a buffer, commas and escapes included.
 *
 * Life: EMIT_INIT(buffer) -> emit_open, members, emit_close, in pairs -> emit_end or emit_print.
 * `key` is NULL inside an array. Strings that are not UTF-8 get U+FFFD for each broken byte. A
 * misplaced call is a bug and asserts. Once the buffer's limit is reached nothing more is
 * written; emit_end tells. The text has no newline in it but those of emit_raw and EMIT_LINES.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"

struct emit {
	struct buf *out; /* borrowed */
	int failed;      /* 0 or -EMSGSIZE: the limit was reached */
	unsigned depth;
	bool filled;   /* a comma is due */
	bool lines;    /* elements of the outermost array stand on lines of their own */
	char kind[16]; /* '{' or '[' per depth */
};
#define EMIT_INIT(buffer)                                                                          \
	{                                                                                          \
		.out = (buffer)                                                                    \
	}
/* For people to read as well. */
#define EMIT_LINES(buffer)                                                                         \
	{                                                                                          \
		.out = (buffer), .lines = true                                                     \
	}

void emit_open(struct emit *j, const char *key, char kind); /* '{' or '[' */
void emit_close(struct emit *j);
void emit_str(struct emit *j, const char *key, const char *value); /* NULL or "" is null */
void emit_text(struct emit *j, const char *key, const char *text, size_t len); /* "" is "" */
void emit_int(struct emit *j, const char *key, long long value);
void emit_bool(struct emit *j, const char *key, bool value);
void emit_null(struct emit *j, const char *key);
/* A value that is JSON already, byte for byte. */
void emit_raw(struct emit *j, const char *key, const char *json, size_t len);

/* The text is whole: 0, or -EMSGSIZE and the buffer has a part of it. */
int emit_end(struct emit *j);
/* The text is whole: print it and a newline, and empty the buffer. For output that must not fail:
 * asserts that there was room. */
void emit_print(struct emit *j, FILE *f);

/* Text as a quoted JSON string; 0 or -EMSGSIZE, then the buffer is as it was. */
int emit_quoted(struct buf *b, const char *text, size_t len);
