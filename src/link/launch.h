/* launch.h - start a killick: as the keeper of a server, or as the janitor.
 *
 * Threads: any.  Blocking: until exec.
 */
#pragma once

#include <sys/resource.h>

#include "base/err.h"
#include "link/recipe.h"
#include "link/spawn.h"

/* Start the keeper of a process, with fds as its stdin, stdout, stderr and control socket. 0, a
 * pidfd and the pid, or -errno with a sentence. */
int launch_keeper(const struct recipe *recipe, const int fds[SPAWN_FDS], int *out_pidfd,
		  pid_t *out_pid, struct err *e);

/* Start `killick reap`, which ends the rest of each tree whose watch and hold were both killed. */
int launch_janitor(const char *program, int *out_pidfd);

/* Move *fd to a number that spawn.h accepts: above the numbers that the child gets. */
int launch_raise_fd(int *fd);

/* Keepers, and so their servers, get this limit of descriptors instead of ours. For programs that
 * raised their own limit. Call it before the first launch. */
void launch_limit_files(const struct rlimit *lim);
