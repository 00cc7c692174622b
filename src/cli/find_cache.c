/* find_cache.c - finds the directory for files that can be made again. */
#include "cli.h"
#include "os/dirs.h"

bool cli_find_cache(char *out, size_t size)
{
	return dirs_cache(out, size);
}
