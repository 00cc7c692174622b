/* hunt.h - finds the processes of trees that nobody keeps any more, and ends them.
 *
 * A process belongs to a tree when its environment holds the tree's mark, when its cgroup is the
 * tree's or below it, or when its parent belongs to the tree. All trees are looked for at once: one
 * look at /proc serves any number of records.
 *
 * Numbers are reused, so no process is known by its number. A process is held by a pidfd first,
 * then /proc is asked about its number, and the answers count only if the pidfd shows afterwards
 * that the process has not been reaped: then the number was its own the whole time. A parent counts
 * only while it is held in the same way.
 *
 * Members are stopped when they are found and killed when nobody new is found any more: a stopped
 * process does not fork, and does not leave children whose parent is gone.
 * Threads: one.  Blocking: until the deadline.  Allocates: never.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "record.h"

struct hunt_tree {
	char id[TREE_ID_LEN + 1];
	/* answered */
	int found; /* processes */
	int ended; /* of those, killed and gone */
};

struct hunt {
	struct hunt_tree *trees; /* what to look for */
	int count;
	bool strike;                                /* end them; otherwise only look */
	long long deadline_us;                      /* clock_us */
	void (*fn)(void *ctx, int tree, pid_t pid); /* called for each process found; may be NULL */
	void *ctx;
};

/* Hunt. True: all of /proc was looked through until nobody new was found; then found - ended is how
 * many of each tree are left. False: the time was too short, or /proc, pidfd_open or descriptors
 * are missing; what was found is ended all the same. Raises the soft limit of open files. */
bool hunt_run(struct hunt *h);
