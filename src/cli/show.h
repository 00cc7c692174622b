/* show.h - what servers send, printed for people.
 *
 * On a terminal nothing that a server wrote is obeyed by it (text.h); a pipe or a file gets the
 * bytes as they are. Threads: one.  Blocking: on the stream.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/emit.h"
#include "base/json.h"

/* All of it, lines kept. Returns false when it was empty or did not end a line. */
bool show_text(FILE *out, const char *text, size_t len);

/* JSON as somebody wrote it, and a newline. */
void show_json(FILE *out, struct json v);
/* The text that is whole now, on stdout. */
void show_emitted(struct emit *j);

/* Text as a paragraph: each line cleaned, put behind `indent` spaces and, when width is not 0,
 * wrapped to it. Empty lines at both ends are left out. */
void show_block(FILE *out, const char *text, size_t indent, size_t width);

/* The same with a (clean) label in the margin of its first line, or above it when it is too long.
 */
void show_labelled(FILE *out, const char *label, const char *text, size_t indent, size_t width);

/* The first line that is not empty, cleaned. */
void show_first_line(const char *text, char *out, size_t size);
/* The same of a member of v that is a string; "" if there is none. */
void show_member(struct json v, const char *key, char *out, size_t size);

/* One element of a `content` array: texts as they are, others as `[image image/png, 12 KiB]`. */
void show_content(FILE *out, struct json item);
/* One element of the `contents` of a resource, for a terminal. */
void show_resource(FILE *out, struct json item);

/* Decode base64 text to a stream. False: it is none. */
bool show_decoded(FILE *out, struct json text);

/* "17 bytes", "12 KiB", "3.4 MiB". */
const char *show_bytes(unsigned long long bytes, char out[32]);
