/* hunt.h - finds the processes of trees without working keepers, and ends them.
 *
 * A process belongs to a tree when its environment holds the tree's mark, when its cgroup is the
 * tree's or below it, when its parent belongs to the tree, or when it is a janitor that its watch
 * could not take along. One scan of /proc serves any number of records.
 *
 * Pids are reused, so a pid alone does not identify a process. The hunt opens a pidfd of the
 * process first, then reads its files in /proc, and uses the answers only if the pidfd shows
 * afterwards that the process has not been reaped: then the pid was its own the whole time. A
 * parent counts only while the hunt has a pidfd of it in the same way.
 *
 * Members are stopped when they are found, and killed when a scan finds no new member: a stopped
 * process does not fork, and leaves no children whose parent is gone.
 * Threads: one.  Blocking: until the deadline.  Allocates: never.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "record.h"

struct hunt_tree {
	char id[TREE_ID_LEN + 1];
	/* results */
	int found; /* processes */
	int ended; /* of those, killed and gone */
};

struct hunt {
	struct hunt_tree *trees; /* the trees to look for */
	int count;
	bool strike;                                /* kill the members; otherwise only count */
	long long deadline_us;                      /* clock_us */
	void (*fn)(void *ctx, int tree, pid_t pid); /* called for each process found; may be NULL */
	void *ctx;
};

/* Hunt. True: /proc was scanned until a scan found no new member; then found - ended processes of
 * each tree are left. False: the time was too short, or /proc, pidfd_open or descriptors are
 * missing; the members that were found are killed all the same. Raises the soft limit of open
 * files. */
bool hunt_run(struct hunt *h);
