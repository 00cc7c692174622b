/* mark.h - processes that carry a tree's mark, and that no parent and no cgroup ties to the tree.
 *
 * Every process of a tree is born with KILLICK_TREE=ID in its environment. One that has entered a
 * pid namespace which existed before, and forked twice there, is no descendant of its keepers any
 * more, and only its mark shows that it belongs to the tree. Such processes are killed. A marked
 * process in our own pid namespace that is no descendant was started by another manager which got
 * our environment (at, a D-Bus service): it is not looked for, because other programs may use it.
 *
 * A process can drop its mark by an exec with another environment: then nothing here finds it.
 * Threads: one.  Blocking: for MARK_MS.  Allocates: in mark_room only.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define MARK_MS 1000 /* for one look */

struct mark_found {
	int below;  /* marked processes in pid namespaces below ours */
	bool whole; /* all of /proc was looked through */
	int error;  /* otherwise errno of the reason, 0: there was no time */
};

/* Memory for mark_strike, to be made before the server starts. NULL: there is none. */
struct mark_found *mark_room(void);

/* Look through /proc for living processes with `mark` in their environment, and SIGKILL those
 * below. Returns how many are below; -errno when /proc could not be looked through to its end.
 * Processes whose environment this user may not read (another user's, a keeper's) are passed over.
 *
 * A process of its own does it: the kernel makes whoever reads an environment wait for as long as
 * that process changes its memory map, and one that maps a dead file system does that for ever. */
int mark_strike(const char *mark, struct mark_found *found);
