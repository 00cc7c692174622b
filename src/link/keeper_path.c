/* keeper_path.c - finds the program killick. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "link/link.h"
#include "os/env.h"

#define INSTALLED KILLICK_BINDIR "/killick" ENV_EXE

int link_keeper_path(const char *given, char **out, struct err *e)
{
	const char *named = given ? given : env_get("KILLICK_KEEPER");
	char path[4096];

	if (named && *named) {
		if (!env_is_program(named))
			return err_set(
				e, -ENOENT,
				"the keeper '%s' is not a program; give the path of 'killick'",
				named);
		*out = mem_dup(named);
		return 0;
	}
	if (env_is_program(INSTALLED)) {
		*out = mem_dup(INSTALLED);
		return 0;
	}
	if (!env_find_beside("killick", path, sizeof(path)) &&
	    !env_find_program(env_get("PATH"), "killick", path, sizeof(path)))
		return err_set(e, -ENOENT,
			       "the program 'killick' is neither in " KILLICK_BINDIR
			       " nor in PATH; install it or set KILLICK_KEEPER to its path");
	*out = mem_dup(path);
	return 0;
}
