/* mark.h - processes that carry a tree's mark, and that no parent and no cgroup ties to the tree.
 *
 * Every process of a tree is born with KILLICK_TREE=ID in its environment. One that has entered a
 * pid namespace which existed before, and forked twice there, is no descendant of its keepers any
 * more, and only its mark shows that it belongs to the tree. Such processes are killed. A marked
 * process in our own pid namespace that is no descendant was started by another manager which got
 * our environment (at, a D-Bus service): the report names it, and it is not killed, because other
 * programs may use it as well.
 *
 * A process can drop its mark by an exec with another environment: then nothing here finds it.
 * Threads: one.  Blocking: never for long (procfs).  Allocates: never.
 */
#pragma once

#include <sys/types.h>

struct mark_found {
	int below;     /* marked processes in pid namespaces below ours */
	int beside;    /* marked processes in our own */
	pid_t example; /* one of those beside, 0: none */
};

/* Look through /proc for living processes with `mark` in their environment, and SIGKILL those
 * below. Returns how many are below; -errno when /proc could not be looked through to its end.
 * Processes whose environment this user may not read (another user's, a keeper's) are passed over.
 */
int mark_strike(const char *mark, struct mark_found *out);
