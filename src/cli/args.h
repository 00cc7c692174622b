/* args.h - turns the arguments of a call from the command line into a JSON object.
 *
 * `--args` gives the whole object: JSON text, @FILE, or - for stdin. Words give single members:
 * `key=value`, where the schema decides whether the value is a string, and `key:=JSON`.
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "talk.h"

/* Read --args, check it, and write it to `out` as one line. False: an error was printed (exit
 * status 64). */
bool args_read(struct talk *t, const char *given, struct buf *out);

/* Are all words of the form key=value or key:=JSON? False: an error was printed. */
bool args_check(struct talk *t, char **words, int count);
/* Make an object of the words. `schema` is the schema of the object; JSON_NONE: all values are
 * strings. */
void args_build(char **words, int count, struct json schema, struct buf *out);
