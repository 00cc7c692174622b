/* json.h - reads JSON in place: a value is a piece of the text.
 *
 * No tree is built: a message of 64 MiB costs nothing beyond its own bytes, values are handed on
 * byte for byte, and every value knows its place in the text, so that an error can name the line. A
 * text (it need not end in a NUL) is checked whole by json_check first (RFC 8259, UTF-8 included,
 * at most JSON_DEPTH deep); after that the accessors may be used on it and its parts, and fail only
 * if the value has another type. Duplicate keys: the last one counts in json_get; json_each shows
 * all of them.
 * Threads: any.  Blocking: never.  Allocates: only json_string.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define JSON_DEPTH 512

struct json {           /* a value: a piece of a checked text, without space around it */
	const char *at; /* NULL: there is no value */
	size_t len;
};
#define JSON_NONE ((struct json){ .at = NULL })

enum json_type {
	JSON_ABSENT,
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

enum json_flags {
	JSON_RELAXED = 1, /* comments, trailing commas, a BOM: configs that people write by hand */
};

struct json_fault { /* why a text is no JSON */
	/* The first byte that is wrong; for a character that is not UTF-8 or a comment that is not
	 * closed: its beginning; for a text that ends too early: its length. */
	size_t offset;
	const char *reason; /* static: "a string is not closed" */
};

/* Check text; on success *out is its only value. 0, -EBADMSG, or -E2BIG when nested too deep. */
int json_check(const char *text, size_t len, unsigned flags, struct json *out,
	       struct json_fault *fault);

/* The same, and in the same pass fn gets each member of the outermost object (depth 1) and of the
 * objects that are its members or items (depth 2), in the order of their ends. The members may be
 * used only if the check succeeds. */
#define JSON_MEMBERS_DEPTH 2
typedef void (*json_member_fn)(void *ctx, unsigned depth, struct json key, struct json value);
int json_check_members(const char *text, size_t len, unsigned flags, json_member_fn fn, void *ctx,
		       struct json *out, struct json_fault *fault);

enum json_type json_type(struct json v);
/* The line number of `at` in the text, from 1. */
unsigned json_line(const char *text, const char *at);

/* Walk an object or array: json_iter(v), then json_each until false. key is JSON_NONE in arrays;
 * else the quoted string. If v is neither an object nor an array, the first json_each returns
 * false. Accepts relaxed texts. */
struct json_iter {
	const char *p, *end;
	bool object;
	struct json known; /* may be set: a member whose end need not be searched again */
	struct json key, value;
};
struct json_iter json_iter(struct json v);
bool json_each(struct json_iter *it);

/* Member of an object by (decoded) key; JSON_NONE if there is none or v is no object. */
struct json json_get(struct json v, const char *key);
/* By path of keys and indexes joined by dots. */
struct json json_find(struct json v, const char *path);

/* Is v the string s (escapes decoded)? The result is the same as decoding v with json_string and
 * comparing. */
bool json_is(struct json v, const char *s);
/* The same without regard to case, as some decoders read keys (that of Go, for example): s is ASCII. The characters outside of ASCII that have an ASCII letter as another case count
 * as this letter. */
#define JSON_FOLD_MAX 160 /* s has fewer than a third of these bytes */
bool json_folds(struct json v, const char *s);
/* Decode a string; false if v is no string, or if there is no memory for a long one (mem_try). A
 * NUL inside the string becomes U+FFFD, because the result is a C string; so does half of a
 * surrogate pair. */
bool json_string(struct json v, char **out);                  /* to be given to free() */
bool json_string_into(struct json v, char *out, size_t size); /* cut to fit, at a character */
/* An integer that fits into int64_t, written without fraction or with .0, and without an
 * exponent. */
bool json_int(struct json v, int64_t *out);
bool json_double(struct json v, double *out); /* infinite when it is too large for a double */
bool json_bool(struct json v, bool *out);
/* Number of items or members. */
size_t json_count(struct json v);
