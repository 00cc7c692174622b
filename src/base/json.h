/* json.h - writes one JSON text to a stream, commas and escapes included.
 *
 * Life: JSON_INIT(stream) -> json_open, members, json_close, in pairs -> json_end, which adds the
 * last newline. `key` is NULL inside an array. Strings that are not UTF-8 get U+FFFD for each
 * broken byte. A misplaced call is a bug and asserts. Elements of the outermost array stand on
 * lines of their own, so that a person can read them too.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct json {
	FILE *out; /* borrowed */
	unsigned depth;
	bool filled;   /* a comma is due */
	char kind[16]; /* '{' or '[' per depth */
};
#define JSON_INIT(stream)                                                                          \
	{                                                                                          \
		.out = (stream)                                                                    \
	}

void json_open(struct json *j, const char *key, char kind); /* '{' or '[' */
void json_close(struct json *j);
void json_str(struct json *j, const char *key, const char *value); /* NULL or "" is null */
void json_int(struct json *j, const char *key, long long value);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
void json_end(struct json *j);
