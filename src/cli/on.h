/* on.h - the executor that `--on` means, and the way there.
 *
 * `--on` is the name of an environment of the config, or the way itself: a URL, or ssh:HOST.
 */
#pragma once

#include <stdbool.h>

#include "base/loop.h"
#include "remote/environment.h"
#include "config/config.h"

struct on { /* as given; NULL: not */
	const char *where, *config, *token_env;
};

/* Find it. False: it was said why not; the verb ends with *out_status. */
bool on_find(const char *verb, const struct on *o, struct config_place *out, int *out_status);
/* The environment of a place; with the loop's lock. keeper holds the program, if it is one. */
struct environment *on_open(struct loop *loop, const struct config_place *p, const char *verb,
			    const char *keeper);
/* The program killick, to be given to free(); NULL: it was said. */
char *on_keeper(const char *verb);
