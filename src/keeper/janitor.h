/* janitor.h - ends trees that nobody keeps any more.
 *
 * When watch and hold are SIGKILLed together the main process dies with them (PDEATHSIG); whatever
 * else it had started is found here: by its cgroup, by KILLICK_TREE in its environment, and by
 * descent from any of these. Every `killick run` sweeps once its own server is up. Only trees whose
 * record is free (record.h) are touched, by pidfd, never by bare pid.
 * Threads: one.  Blocking: for the budget.  Allocates: never.
 */
#pragma once

#include <stdbool.h>

#include "record.h"

#define JANITOR_BUDGET_MS 5000

/* Called for every free record before it is swept and again, with done = true, after. */
typedef void (*janitor_fn)(void *ctx, const struct record *rec, int processes, bool done);

struct janitor {
	/* given */
	int budget_ms; /* for the whole sweep */
	bool dry_run;  /* count and call fn only, kill nothing */
	janitor_fn fn; /* may be NULL */
	void *ctx;
	/* answered */
	int trees;     /* free records found */
	int ended;     /* processes that had to be killed */
	int survivors; /* still there after the budget; their record stays */
};

/* Sweep all free records. */
int janitor_sweep(struct janitor *j);

/* List the pids of a record's tree, as seen from outside: at most max are stored, the number found
 * is returned. */
int janitor_members(const struct record *rec, pid_t *pids, int max);
