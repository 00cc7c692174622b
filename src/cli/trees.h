/* trees.h - the trees of this user: their records, joined with the processes that belong to them.
 *
 * Life: trees_read -> look -> trees_done.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "keeper/record.h"
#include "procs.h"

enum held_state {
	HELD_RUNNING,
	HELD_STOPPING,  /* its end has begun */
	HELD_OVERDUE,   /* its end should be over by now */
	HELD_ABANDONED, /* both keepers are dead: the janitor's */
};

struct held {
	struct record rec;
	enum held_state state;
	pid_t *pids; /* its processes that are in `procs` and no zombies, by rising pid */
	size_t count;
	unsigned long long rss; /* bytes, of all */
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

/* -errno when /proc cannot be read. */
int trees_read(struct trees *ts);
void trees_done(struct trees *ts);

enum held_state held_state_at(const struct record *rec, long long now_ms);
const char *held_state_name(enum held_state state);

/* What to call it: its name, or the first word of its command, or its id. Clean. */
void held_title(const struct record *rec, char *out, size_t size);

/* Is `pid` a process of any tree, or one of its keepers? */
bool trees_have(const struct trees *ts, pid_t pid);
