/* method.h - methods that a host may use in its own requests and notifications.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>

/* False: the text is not a valid method (empty, long, or with characters that JSON would have to
 * escape), or the method belongs to the connection; only the library uses these methods. */
bool method_is_free(const char *method);
