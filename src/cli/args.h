/* args.h - the arguments of a call as they stand on a command line, as JSON.
 *
 * `--args` gives the object whole: JSON text, @FILE, or - for stdin. Words give it piece by piece:
 * `key=value`, where the schema says whether that is a text, and `key:=JSON`.
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "talk.h"

/* Read --args into `out`, checked, on one line. False: it was said why not (exit status 64). */
bool args_read(struct talk *t, const char *given, struct buf *out);

/* Are these words of the form key=value or key:=JSON? Said if not. */
bool args_check(struct talk *t, char **words, int count);
/* Make an object of them. `schema` is that of the whole object; JSON_NONE: all are texts. */
void args_build(char **words, int count, struct json schema, struct buf *out);
