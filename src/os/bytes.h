/* bytes.h - a search that some C libraries have and others lack.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stddef.h>

/* The last of len bytes that has the value c; NULL: there is none. */
const void *bytes_last(const void *in, int c, size_t len);
