/* show.h - prints texts and JSON from servers.
 *
 * On a terminal control characters are replaced, so that a server cannot control the terminal
 * (text.h); a pipe or a file gets the bytes unchanged. Threads: one.  Blocking: on the stream.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/emit.h"
#include "base/json.h"

/* Print the whole text with its lines. False: the text was empty or did not end with a newline. */
bool show_text(FILE *out, const char *text, size_t len);

/* Print JSON as it was written, and a newline. */
void show_json(FILE *out, struct json v);
/* Print the finished JSON text on stdout. */
void show_emitted(struct emit *j);

/* Print text as a paragraph: each line is cleaned, indented by `indent` spaces and, if width is not
 * 0, wrapped to this width. Empty lines at the beginning and at the end are skipped. */
void show_block(FILE *out, const char *text, size_t indent, size_t width);

/* Print the same with a clean label in the margin of the first line; a label that is too long gets
 * its own line. */
void show_labelled(FILE *out, const char *label, const char *text, size_t indent, size_t width);

/* Write the first line that is not empty, cleaned. */
void show_first_line(const char *text, char *out, size_t size);
/* Write the first line of a string member of v, cleaned; "" if there is none. */
void show_member(struct json v, const char *key, char *out, size_t size);

/* Print one element of a `content` array: text unchanged, other content as a summary such as
 * `[image image/png, 12 KiB]`. */
void show_content(FILE *out, struct json item);
/* Print one element of the `contents` of a resource, for a terminal. */
void show_resource(FILE *out, struct json item);

/* Decode a base64 string to a stream. False: it is not base64. */
bool show_decoded(FILE *out, struct json text);

/* Write "17 bytes", "12 KiB" or "3.4 MiB". Returns out. */
const char *show_bytes(unsigned long long bytes, char out[32]);
