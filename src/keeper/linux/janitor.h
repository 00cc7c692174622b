/* janitor.h - ends trees whose keepers are gone or do not work.
 *
 * When watch and hold are SIGKILLed together the main process dies with them (PDEATHSIG); the
 * janitor finds its other processes (hunt.h, lostgroup.h). `killick reap` sweeps. Each start of
 * `killick run` is followed by a sweep, in a separate process: its own sweep, or that of another
 * `killick run` which started later. When a hundred start together only a few sweep.
 *
 * A tree is lost in three cases: neither of the recorded keepers exists; the lock of its record is
 * free, and the record has no start times of the keepers; or keepers exist and do not work (frozen,
 * traced, stopped): the owner or a keeper has been gone for JANITOR_PATIENCE_MS, or the tree's end
 * is late by JANITOR_SLACK_MS. JANITOR_PATIENCE_MS is counted from the first janitor that noticed,
 * which writes the time into the record. Keepers that do not work are killed before their tree.
 *
 * The container of a lost tree (container.h) is removed after all processes of all lost trees,
 * because an engine may take seconds. The record stays until the engine says that the container is
 * gone.
 *
 * The janitor ignores records of other pid namespaces, whose processes are not visible here, and
 * does nothing when /proc belongs to another pid namespace.
 * Threads: one.  Blocking: for the budget.  Allocates: never.
 */
#pragma once

#include <stdbool.h>

#include "container.h"
#include "record.h"

#define JANITOR_BUDGET_MS 5000

/* Keepers need 500 ms of grace and 5 s of killing to end a tree whose owner is gone. The slack is
 * the additional time that they get on a busy machine. */
#define JANITOR_SLACK_MS    2500
#define JANITOR_PATIENCE_MS (5500 + JANITOR_SLACK_MS)

enum janitor_view {
	JANITOR_KEPT,      /* the keepers work */
	JANITOR_ORPHANED,  /* the owner or a keeper is gone; the keepers have time until due_ms */
	JANITOR_LOST,      /* the keepers are gone or do not work */
	JANITOR_OTHER,     /* the tree belongs to another pid namespace */
	JANITOR_LAST_BOOT, /* the record is of another boot, so the tree has no processes */
};

/* Classify a record. *out_due_ms (CLOCK_BOOTTIME) is set with JANITOR_ORPHANED. */
enum janitor_view janitor_look(const struct record *rec, long long *out_due_ms);

/* Called for every lost tree before it is swept, with the number of its processes, and again with
 * done = true and the number that is left; -1: not known, because the sweep timed out. */
typedef void (*janitor_fn)(void *ctx, const struct record *rec, int processes, bool done);

/* Called for every container of a lost tree that is not removed. */
typedef void (*janitor_left_fn)(void *ctx, const struct record *rec, enum container_fate fate);

struct janitor {
	/* given */
	int budget_ms;     /* for the whole sweep */
	bool dry_run;      /* only count and call fn; kill nothing and write nothing */
	int containers_ms; /* for the containers, after that; 0: leave them */
	bool is_child; /* this process was forked from a watch: it must leave no process behind, and
			  SIGTERM, which must be blocked, makes it give up containers */
	const char *forget;      /* the id of a lost tree whose container is forgotten: no engine is
				    asked, and the record is removed; NULL: none */
	janitor_left_fn left_fn; /* may be NULL */
	janitor_fn fn;           /* may be NULL */
	void *ctx;
	/* results */
	int trees;           /* lost trees found */
	int ended;           /* processes that had to be killed */
	int survivors;       /* processes still there after the budget; their record stays */
	int unfinished;      /* records that stay, because the sweep timed out or a cgroup stays */
	int orphaned;        /* trees whose keepers still have time to end them */
	long long due_ms;    /* CLOCK_BOOTTIME: the first of those times; 0: none */
	int others;          /* records of other pid namespaces */
	int containers;      /* containers that the engine says are gone */
	int containers_left; /* containers that are not removed; their records stay */
	int forgotten;       /* 1: the tree `forget` was found */
};

/* Has another janitor started a sweep after since_us (clock_us)? Each janitor writes its start time
 * into the records' directory dirfd. False when dirfd is -1: no directory. */
bool janitor_swept_since(int dirfd, long long since_us);

/* Sweep all lost trees. -EXDEV when /proc belongs to another pid namespace: nothing was done.
 * -EMFILE, -ENFILE, -ENOMEM: not all records could be read. */
int janitor_sweep(struct janitor *j);
