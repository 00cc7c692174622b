/* watch.h - the outer keeper: the process that the client started.
 *
 * The watch passes signals to the hold and ends as the server ended. The watch is a subreaper, so
 * that it becomes the parent of the tree when the hold is killed: then it kills the tree at once.
 * All other decisions are the hold's. Threads: one.  Allocates: never after start.
 */
#pragma once

#include "keeper/options.h"

/* Run `killick run` from parsed options to the end. Returns an exit code, or dies of the server's
 * signal. */
int watch_run(const struct options *opt, char **environment);
