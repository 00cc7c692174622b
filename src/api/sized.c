/* sized.c - see sized.h */
#include "api/sized.h"

#include <string.h>

#include "session/runtime.h"

/* A larger size is refused: a size that the host did not set is most often zero or very large. */
#define SIZED_MAX 4096

int sized_read(void *to, size_t size, const void *from, const struct sized_name *name,
	       struct killick_error *e)
{
	size_t given;

	memcpy(&given, from, sizeof(given));
	if (given < sizeof(given) || given > SIZED_MAX)
		return error_set(e, KILLICK_ERR_USAGE,
				 "the size of struct %s is %zu; set it by %s(...), or to the "
				 "sizeof of the struct",
				 name->type, given, name->macro);
	memset(to, 0, size);
	memcpy(to, from, given < size ? given : size);
	for (size_t at = size; at < given; at++)
		if (((const char *)from)[at])
			return error_set(e, KILLICK_ERR_USAGE,
					 "struct %s has a member at byte %zu that this library "
					 "(version %s, %zu bytes) does not know: leave the member "
					 "zero, or use a newer library",
					 name->type, at, killick_version(), size);
	return 0;
}
