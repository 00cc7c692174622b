/* mark.h - finds processes that belong to a tree by their mark alone, not by parent or cgroup.
 *
 * Every process of a tree starts with KILLICK_TREE=ID in its environment. A process that has
 * entered a pid namespace which existed before, and forked twice there, is no longer a descendant
 * of its keepers, and only its mark shows that it belongs to the tree. Such processes are killed. A
 * marked process in the keeper's own pid namespace that is not a descendant was started by another
 * manager which got the environment (at, a D-Bus service). Such processes are not looked for,
 * because other programs may use them.
 *
 * A process can drop its mark by an exec with another environment: then mark_strike does not find
 * the process.
 * Threads: one.  Blocking: for MARK_MS.  Allocates: never.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define MARK_MS 1000 /* for one scan of the environments */

struct mark {
	const char *entry; /* "KILLICK_TREE=ID", borrowed; NULL: the tree has no mark */
	int proc_fd;       /* /proc */
	char pidns[32];    /* our own pid namespace, as /proc/PID/ns/pid names it */
	int error;         /* errno: why no look is possible; 0: one is */
	int control_fd;    /* of the owner, or -1 (control.h) */
	bool asks;         /* the owner is to be asked before the next look */
};

/* Open the files that a scan needs, before the server starts. m->entry may be set later. */
void mark_ready(struct mark *m);

/* Scan /proc for living processes with the mark in their environment, in pid namespaces below the
 * keeper's, and SIGKILL them. Returns how many there are; -errno when the scan could not be
 * finished. Processes whose environment this user may not read (another user's, a keeper's) are
 * skipped.
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
