/* find_keeper.c - finds the program `killick` of this killick-more. */
#include <limits.h>
#include <stdio.h>

#include "base/path.h"
#include "cli.h"
#include "os/dirs.h"
#include "os/env.h"

const char *cli_program = "";

bool cli_find_keeper(char *out, size_t size)
{
	static const char *const places[] = { "killick" ENV_EXE, "../../bin/killick" ENV_EXE };
	const char *named = env_get("KILLICK_KEEPER");
	char self[PATH_MAX];
	int dir;

	if ((named && *named) || !dirs_program(self, sizeof(self)))
		return false;
	dir = (int)(path_name(self, PATH_NATIVE) - self);
	for (size_t i = 0; dir > 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(out, size, "%.*s%s", dir, self, places[i]);
		if (env_is_program(out))
			return true;
	}
	return false;
}
