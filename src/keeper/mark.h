/* mark.h - processes that carry a tree's mark, and that no parent and no cgroup ties to the tree.
 *
 * Every process of a tree is born with KILLICK_TREE=ID in its environment. One that has entered a
 * pid namespace which existed before, and forked twice there, is no descendant of its keepers any
 * more, and only its mark shows that it belongs to the tree. Such processes are killed. A marked
 * process in our own pid namespace that is no descendant was started by another manager which got
 * our environment (at, a D-Bus service): it is not looked for, because other programs may use it.
 *
 * A process can drop its mark by an exec with another environment: then nothing here finds it.
 * Threads: one.  Blocking: for MARK_MS.  Allocates: never.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define MARK_MS 1000 /* for one look at environments */

struct mark {
	const char *entry; /* "KILLICK_TREE=ID", borrowed; NULL: the tree has no mark */
	int proc_fd;       /* /proc */
	char pidns[32];    /* our own pid namespace, as /proc/PID/ns/pid names it */
	int error;         /* errno: why no look is possible; 0: one is */
	int control_fd;    /* of the owner, or -1 (control.h) */
	bool asks;         /* the owner is to be asked before the next look */
};

/* Open what a look needs, before the server starts. m->entry is set already, or will be. */
void mark_ready(struct mark *m);

/* Look through /proc for living processes with the mark in their environment, in pid namespaces
 * below ours, and SIGKILL them. Returns how many there are; -errno when /proc could not be looked
 * through to its end. Processes whose environment this user may not read (another user's, a
 * keeper's) are passed over.
 *
 * First every process is asked for its pid namespace, which takes a microsecond and no descriptor.
 * Only when a process is in another pid namespace are environments read, by a process that is
 * forked for it: a read of /proc/PID/environ waits while PID changes its memory map, and a PID that
 * maps a file of a dead file system may do that for ever.
 *
 * An owner that is asked may answer that there is nothing to find (control.h): another keeper of
 * the same user and pid namespace looked after the question, and either no process was in another
 * pid namespace, or none of those had a mark of any tree. */
int mark_strike(struct mark *m);
