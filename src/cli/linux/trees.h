/* trees.h - the trees of this user: their records, joined with the processes that belong to them.
 *
 * Life: trees_read -> look -> trees_done.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "keeper/linux/janitor.h"
#include "keeper/linux/record.h"
#include "procs.h"

enum held_state {
	HELD_RUNNING,
	HELD_STOPPING,  /* the end has begun */
	HELD_OVERDUE,   /* the tree should have ended by now */
	HELD_ORPHANED,  /* the owner or a keeper is gone; the keepers still have time to end it */
	HELD_ABANDONED, /* the keepers are dead or do not work: the janitor ends the tree */
	HELD_ENDED,     /* the same, but no process of the tree was found: its record is left */
	HELD_ELSEWHERE, /* in another pid namespace: its processes are not visible here */
};

struct held {
	struct record rec;
	enum held_state state;
	long long due_ms; /* HELD_ORPHANED: CLOCK_BOOTTIME by which the keepers must be done */
	pid_t *pids;      /* processes of the tree in `procs`, without zombies, by rising pid */
	size_t count;
	unsigned long long rss; /* bytes, of all processes */
	long long cpu_ms, age_ms;
};

struct trees {
	struct held *list; /* oldest first */
	size_t count;
	struct procs procs;
};
#define TREES_INIT                                                                                 \
	{                                                                                          \
		.list = NULL                                                                       \
	}

/* Returns 0, or -errno when /proc cannot be read. */
int trees_read(struct trees *ts);
void trees_done(struct trees *ts);

enum held_state held_state_at(const struct record *rec, enum janitor_view view, long long now_ms);
const char *held_state_name(enum held_state state);

/* Write the title of a tree: its name, or the first word of its command, or its id; cleaned. */
void held_title(const struct record *rec, char *out, size_t size);

/* Is `pid` a process or a keeper of any tree? */
bool trees_have(const struct trees *ts, pid_t pid);

/* Print why trees_read failed, and the next step. Returns the exit code. */
int trees_refused(const char *verb, int error);
