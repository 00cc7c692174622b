/* method.h - methods that a host may use in its own requests and notifications.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>

/* May the host use this method? False: the text is not a valid method (empty, too long, or with
 * characters that JSON must escape), or the method belongs to the connection, so that only the
 * library may use it. */
bool method_is_free(const char *method);
