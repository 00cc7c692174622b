/* spawn.h - start a program that is not a child of the host.
 *
 * The keeper must not be visible to the host: no SIGCHLD, no child for the host's wait() to find.
 * So the keeper is a grandchild whose parent has ended, and belongs to init (or to the next
 * subreaper; that may be the host itself, see spawn_reap). Both new processes share the memory of
 * the host until exec, so no memory is copied, however large the host is. The middle process does
 * not exec, so its end sends no signal.
 * Threads: any.  Blocking: until exec.
 */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"

#define SPAWN_FDS 4 /* 0, 1, 2 and 3 */

struct spawn { /* borrowed */
	const char *path;
	char *const *argv, *const *envp;
	const struct rlimit *files; /* RLIMIT_NOFILE; NULL: ours */
	int fds[SPAWN_FDS];         /* become 0, 1, 2, 3; all must be above 3 */
};

/* 0, a pidfd and, if out_pid is not NULL, the pid; or -errno with a sentence and nothing was
 * started. */
int spawn_detached(const struct spawn *s, int *out_pidfd, pid_t *out_pid, struct err *e);

/* True: the process is gone, or is not our child, which is known as soon as it is started. False:
 * call spawn_reap again when the pidfd is readable. */
bool spawn_reap(int pidfd);
