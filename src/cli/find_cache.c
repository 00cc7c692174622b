/* find_cache.c - finds the directory for files that can be made again. */
#include <stdio.h>

#include "cli.h"

bool cli_find_cache(char *out, size_t size)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && *cache == '/')
		return snprintf(out, size, "%s/killick", cache) < (int)size;
	return home && *home == '/' && snprintf(out, size, "%s/.cache/killick", home) < (int)size;
}
