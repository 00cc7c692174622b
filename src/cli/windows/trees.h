/* trees.h - the trees of this user: their records, joined with the processes that belong to them.
 *
 * A job object tells only its own keeper which processes it has. So the processes of a tree are
 * found by their parents, from the server down; a process whose parent has ended is not found, but
 * its tree ends it all the same.
 * Life: trees_read -> look -> trees_done.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "keeper/record_text.h"

struct tree_process {
	int pid, parent;
	char name[260]; /* of its program */
	unsigned long long rss;
	long long cpu_ms;
};

struct tree {
	struct record rec;
	struct tree_process *processes; /* the server is the first */
	size_t count;
	unsigned long long rss; /* bytes, of all processes */
	long long cpu_ms, age_ms;
	bool has_owner;  /* the owner lives */
	char owner[260]; /* its program */
};

struct trees {
	struct tree *list; /* oldest first */
	size_t count;
	long long now_ms; /* since boot, as in records */
};
#define TREES_INIT                                                                                 \
	{                                                                                          \
		.list = NULL                                                                       \
	}

/* The directory of the records. False: there is none. */
bool trees_dir(char *out, size_t size);
/* 0 or -errno. Records whose keeper is gone (after a power cut) are left out. */
int trees_read(struct trees *ts);
void trees_done(struct trees *ts);

/* "running", or "stopping" when the end has begun, or "overdue" when it should be over. */
const char *tree_state(const struct trees *ts, const struct tree *t);
