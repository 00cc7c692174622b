/* on.h - finds and opens the executor of `--on`.
 *
 * `--on` is the name of an environment of the config, a URL, or ssh:HOST.
 */
#pragma once

#include <stdbool.h>

#include "base/loop.h"
#include "remote/environment.h"
#include "config/config.h"

struct on { /* as given; NULL: not given */
	const char *where, *config, *token_env;
};

/* Find the place. False: an error was printed; exit with *out_status. */
bool on_find(const char *verb, const struct on *o, struct config_place *out, int *out_status);
/* Create the environment of a place; call with the loop's lock. `keeper` is the path of killick,
 * which holds ssh or another program. */
struct environment *on_open(struct loop *loop, const struct config_place *p, const char *verb,
			    const char *keeper);
/* Returns the path of killick, which the caller frees; NULL: an error was printed. */
char *on_keeper(const char *verb);
