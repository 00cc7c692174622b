/* translate.h - the servers of any client's config as the JSON text that the library reads.
 *
 * Each server stands on the line that it has in the file, so that a message about the text can name
 * the line of the file. Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "configfile.h"

/* Is the file of a shape that the library does not read itself? */
bool translate_is_needed(const struct configfile *c);
/* How many servers would the text have? Those of local scopes count if `dir` is in their project.
 */
size_t translate_count(const struct configfile *c, const char *dir);
/* Append {"mcpServers": {...}}. Of servers with the same name the one of the local scope is taken,
 * else the last. */
void translate(const struct configfile *c, const char *dir, struct buf *out);
