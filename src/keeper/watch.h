/* watch.h - the outer keeper: the process the client started and knows.
 *
 * It hands signals to the hold and ends as the server ended. It is a subreaper, so that if the hold
 * is killed the tree becomes its own: then it ends the tree itself, at once. It decides nothing
 * else. Threads: one.  Allocates: never after start.
 */
#pragma once

#include "options.h"

/* Run `killick run` from understood options to the end. Returns an exit code, or dies of the
 * server's signal. */
int watch_run(const struct options *opt, char **environment);
