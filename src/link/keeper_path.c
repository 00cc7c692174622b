/* keeper_path.c - finds the program killick. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "link/link.h"

static bool is_program(const char *path)
{
	return strchr(path, '/') && access(path, X_OK) == 0;
}

static bool in_path(char *out, size_t size)
{
	const char *p = getenv("PATH");

	while (p && *p) {
		size_t len = strcspn(p, ":");

		if (len && snprintf(out, size, "%.*s/killick", (int)len, p) < (int)size &&
		    is_program(out))
			return true;
		p += len + (p[len] == ':');
	}
	return false;
}

int link_keeper_path(const char *given, char **out, struct err *e)
{
	const char *named = given ? given : getenv("KILLICK_KEEPER");
	char path[4096];

	if (named && *named) {
		if (!is_program(named))
			return err_set(
				e, -ENOENT,
				"the keeper '%s' is not a program; give the path of 'killick'",
				named);
		*out = mem_dup(named);
		return 0;
	}
	if (is_program(KILLICK_BINDIR "/killick")) {
		*out = mem_dup(KILLICK_BINDIR "/killick");
		return 0;
	}
	if (!in_path(path, sizeof(path)))
		return err_set(e, -ENOENT,
			       "the program 'killick' is neither in " KILLICK_BINDIR
			       " nor in PATH; install it or set KILLICK_KEEPER to its path");
	*out = mem_dup(path);
	return 0;
}
