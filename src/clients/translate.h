/* translate.h - the servers of any client's config as the JSON text that the library reads.
 *
 * Each server is on the same line as in the file, so that a message about the text can name the
 * line of the file. Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "configfile.h"

/* Does the file have a shape that the library cannot read itself? */
bool translate_is_needed(const struct configfile *c);
/* Returns how many servers the text would have. Servers of a local scope count if `dir` is in their
 * project. */
size_t translate_count(const struct configfile *c, const char *dir);
/* Append {"mcpServers": {...}}. If several servers have the same name, the server of the local
 * scope is taken, else the last. */
void translate(const struct configfile *c, const char *dir, struct buf *out);
