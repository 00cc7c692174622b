/* method.h - methods that a host may use in requests and notifications of its own.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>

/* False: it is no method (empty, long, or with characters that JSON would have to escape), or one
 * that belongs to the connection, which the library speaks for all sessions. */
bool method_is_free(const char *method);
