/* sized.h - read structs of the host that begin with their size; the host may have been compiled
 * with the header of another version.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stddef.h>

#include "killick/killick.h"

/* Copy the struct at `from`, whose first member is its size, to `to`. `size` is the size of the
 * struct in this library. Members that the host does not know become zero; members that only the
 * host knows must be zero. name: the names of the struct and of its macro, for the error text.
 * Returns 0 or KILLICK_ERR_USAGE; after KILLICK_ERR_USAGE *to must not be used. */
struct sized_name {
	const char *type, *macro;
};
int sized_read(void *to, size_t size, const void *from, const struct sized_name *name,
	       struct killick_error *e);
