/* launch.h - start a killick: as the keeper of a server, or as the janitor.
 *
 * Threads: any.  Blocking: until exec.
 */
#pragma once

#include "base/err.h"
#include "link/recipe.h"
#include "os/spawn.h"

/* Start the keeper of a process, with fds as its stdin, stdout, stderr and control channel. 0, or
 * -errno with a sentence and nothing was started. */
int launch_keeper(const struct recipe *recipe, const int fds[SPAWN_FDS], struct spawned *out,
		  struct err *e);

/* Start `killick reap`, which ends the rest of each tree whose watch and hold were both killed. 0,
 * or -errno; -ENOTSUP where no tree outlives its keeper. */
int launch_janitor(const char *program, struct spawned *out);
