/* dirs.c - see dirs.h */
#include "os/dirs.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

static bool dirs_of(const char *variable, const char *below_home, char *out, size_t size)
{
	const char *given = getenv(variable), *home = getenv("HOME");

	if (given && *given == '/')
		return snprintf(out, size, "%s/killick", given) < (int)size;
	return home && *home == '/' &&
	       snprintf(out, size, "%s/%s/killick", home, below_home) < (int)size;
}

bool dirs_cache(char *out, size_t size)
{
	return dirs_of("XDG_CACHE_HOME", ".cache", out, size);
}

bool dirs_state(char *out, size_t size)
{
	return dirs_of("XDG_STATE_HOME", ".local/state", out, size);
}

bool dirs_current(char *out, size_t size)
{
	return getcwd(out, size) != NULL;
}

bool dirs_program(char *out, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", out, size - 1);

	if (n > 0)
		out[n] = '\0';
	else /* no /proc: use the name by which this program was executed */
		n = snprintf(out, size, "%s", (const char *)getauxval(AT_EXECFN));
	return n > 0 && n < (ssize_t)size;
}
