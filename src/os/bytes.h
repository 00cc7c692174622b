/* bytes.h - a search that some C libraries have and others lack.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stddef.h>

/* Search len bytes for the value c. Returns the last place where it stands; NULL: nowhere. */
const void *bytes_last(const void *in, int c, size_t len);
