/* recipe.h - what is started when a server is: our own copy of a config's words, because a shared
 * server outlives the session it came from.
 *
 * Life: recipe_init -> recipe_done. Threads: any.
 */
#pragma once

#include "config/config.h"

struct recipe {
	const char *name;
	char **argv, **envp; /* argv: the block that all of it is in */
	char **remote_names; /* of one that is placed: variables that the executor has */
	const char *cwd, *contain;
	const char *environment; /* NULL: this machine */
	unsigned long max_procs;
	unsigned long long memory;
};

void recipe_init(struct recipe *out, const struct config_server *cs);
void recipe_done(struct recipe *r);
