/* emit.h - writes one JSON text into a buffer, commas and escapes included.
 *
 * Life: EMIT_INIT(buffer) -> emit_open, members, emit_close, in pairs -> emit_end or emit_print.
 * `key` is NULL inside an array. Strings that are not UTF-8 get U+FFFD for each broken byte. A
 * misplaced call is a bug and asserts. Once the buffer's limit is reached, nothing more is written,
 * and emit_end removes the part that was written. The text contains no newline except those of
 * emit_raw and EMIT_LINES.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/json.h"

struct emit {
	struct buf *out; /* borrowed */
	size_t start;    /* where the text begins in out */
	int failed;      /* 0, -EMSGSIZE: the limit was reached, or -ENOMEM */
	unsigned depth;
	bool filled;   /* a comma is due */
	bool lines;    /* elements of the outermost array stand on lines of their own */
	char kind[16]; /* '{' or '[' per depth */
};
#define EMIT_INIT(buffer)                                                                          \
	{                                                                                          \
		.out = (buffer), .start = (buffer)->len                                            \
	}
/* The same with line breaks, for people. */
#define EMIT_LINES(buffer)                                                                         \
	{                                                                                          \
		.out = (buffer), .start = (buffer)->len, .lines = true                             \
	}

void emit_open(struct emit *j, const char *key, char kind); /* '{' or '[' */
void emit_close(struct emit *j);
void emit_str(struct emit *j, const char *key, const char *value); /* NULL or "" is null */
void emit_text(struct emit *j, const char *key, const char *text, size_t len); /* "" is "" */
void emit_int(struct emit *j, const char *key, long long value);
/* Milliseconds with three digits behind the decimal point, also where the locale has a comma. */
void emit_ms(struct emit *j, const char *key, double ms);
void emit_bool(struct emit *j, const char *key, bool value);
void emit_null(struct emit *j, const char *key);
/* A value that is JSON already, byte for byte. */
void emit_raw(struct emit *j, const char *key, const char *json, size_t len);
/* The same on one line: a newline between its tokens becomes a space. */
void emit_json(struct emit *j, const char *key, const char *json, size_t len);
/* A member whose key, with its quotes, and value are JSON already; on one line, too. */
void emit_member(struct emit *j, struct json key, struct json value);
/* Members of an object that are written already, with the commas between them. */
void emit_members(struct emit *j, const char *members, size_t len);

/* The text is whole: 0, or -EMSGSIZE or -ENOMEM and the buffer is as it was before the text. */
int emit_end(struct emit *j);
/* The text is whole: print it and a newline, and empty the buffer. For output that must not fail:
 * asserts that there was room. */
void emit_print(struct emit *j, FILE *f);

/* For a caller that writes the beginning of the text itself (rpc/message.c): append bytes as they
 * are, without a comma; and a number. */
static inline void emit_bytes(struct emit *j, const char *bytes, size_t len)
{
	if (j->failed == 0)
		j->failed = buf_add(j->out, bytes, len);
}
void emit_digits(struct emit *j, uint64_t n);

/* Text as a quoted JSON string; 0 or -EMSGSIZE, then the buffer is unchanged. */
int emit_quoted(struct buf *b, const char *text, size_t len);
