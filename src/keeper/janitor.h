/* janitor.h - ends trees that nobody keeps any more.
 *
 * When watch and hold are SIGKILLed together the main process dies with them (PDEATHSIG); whatever
 * else it had started is found here (hunt.h, lostgroup.h). `killick reap` sweeps when asked. Each
 * start of a `killick run` is followed by a sweep, in a process of its own: its own sweep, or that
 * of another `killick run` which began later. Of a hundred that start together a few sweep.
 *
 * A tree is lost when neither of the recorded keepers exists; or when the lock of its record is
 * free, and the record does not say when its keepers began; or when keepers exist and do not work
 * (frozen, traced, stopped): the owner or a keeper has been gone for JANITOR_PATIENCE_MS, or the
 * tree's end is late by JANITOR_SLACK_MS. The first is counted from the janitor that noticed, which
 * notes it in the record. Keepers that do not work are killed before their tree is.
 *
 * Nothing is done about a record of another pid namespace, whose processes cannot be seen from
 * here, nor when /proc is not that of our own. Threads: one.  Blocking: for the budget.  Allocates:
 * never.
 */
#pragma once

#include <stdbool.h>

#include "record.h"

#define JANITOR_BUDGET_MS 5000

/* Keepers need 500 ms of grace and 5 s of killing to end a tree whose owner is gone. The slack is
 * the additional time that they get on a busy machine. */
#define JANITOR_SLACK_MS    2500
#define JANITOR_PATIENCE_MS (5500 + JANITOR_SLACK_MS)

enum janitor_view {
	JANITOR_KEPT,      /* its keepers work */
	JANITOR_ORPHANED,  /* the owner or a keeper is gone, and its keepers have time until due_ms
			    */
	JANITOR_LOST,      /* nobody keeps it; keepers that exist do not work */
	JANITOR_OTHER,     /* it belongs to another pid namespace */
	JANITOR_LAST_BOOT, /* of another boot: it has no processes */
};

/* What is to be done about a record. *out_due_ms (CLOCK_BOOTTIME) is set with JANITOR_ORPHANED. */
enum janitor_view janitor_look(const struct record *rec, long long *out_due_ms);

/* Called for every lost tree before it is swept, with the number of its processes, and again with
 * done = true and the number that is left; -1: not known, because the time was too short. */
typedef void (*janitor_fn)(void *ctx, const struct record *rec, int processes, bool done);

struct janitor {
	/* given */
	int budget_ms; /* for the whole sweep */
	bool dry_run;  /* count and call fn only, kill nothing, note nothing */
	janitor_fn fn; /* may be NULL */
	void *ctx;
	/* answered */
	int trees;        /* lost trees found */
	int ended;        /* processes that had to be killed */
	int survivors;    /* processes still there after the budget; their record stays */
	int unfinished;   /* records that stay, because there was no time or a cgroup stays */
	int orphaned;     /* trees whose keepers still have time to end them */
	long long due_ms; /* CLOCK_BOOTTIME: the first of those times; 0: none */
	int others;       /* records of other pid namespaces */
};

/* Has another janitor begun a sweep after since_us (clock_us)? Each janitor writes the time when it
 * begins into the records' directory dirfd. False when there is no such directory (-1). */
bool janitor_swept_since(int dirfd, long long since_us);

/* Sweep all lost trees. -EXDEV when /proc is not that of our own pid namespace: nothing was done.
 * -EMFILE, -ENFILE, -ENOMEM: not all records could be read. */
int janitor_sweep(struct janitor *j);
