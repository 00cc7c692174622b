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
#include <stdint.h>
#include <sys/types.h>

#define MARK_MS 1000 /* for one scan of the environments */

struct mark {
	const char *entry; /* "KILLICK_TREE=ID", borrowed; NULL: the tree has no mark */
	int proc_fd;       /* /proc */
	char pidns[32];    /* the keeper's pid namespace, as /proc/PID/ns/pid names it */
	int error;         /* errno: why a scan is not possible; 0: possible */
	int control_fd;    /* socket to the owner, or -1 (control.h) */
	bool asks;         /* ask the owner before the next scan */
};

/* Open the files that a scan needs, before the server starts. m->entry may be set later.
 * *out_heeded: see proc_is_own; one file answers both. */
void mark_ready(struct mark *m, uint64_t *out_heeded);

/* Scan /proc for living processes with the mark in their environment, in pid namespaces below the
 * keeper's, and SIGKILL them. Returns how many there are; -errno when the scan could not be
 * finished. Processes whose environment this user may not read (another user's, a keeper's) are
 * skipped.
 *
 * The scan reads the pid namespace of every process first, which takes a microsecond and no
 * descriptor. Environments are read only when a process is in another pid namespace, and then by a
 * forked process: a read of /proc/PID/environ blocks while PID changes its memory map, and a PID
 * that maps a file of a dead file system may block for ever.
 *
 * The owner may answer that no scan is needed (control.h): another keeper of the same user and pid
 * namespace scanned after the question, and either no process was in another pid namespace, or none
 * of those had a mark of any tree. */
int mark_strike(struct mark *m);
