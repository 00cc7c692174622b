/* janitor.h - ends trees that nobody keeps any more.
 *
 * When watch and hold are SIGKILLed together the main process dies with them (PDEATHSIG); whatever else it had started
 * is found here: by its cgroup, by its session, by KILLICK_TREE in its environment, and by descent from any of these.
 * Every `killick` start runs it. It touches only trees whose record is free (record.h), by pidfd, never by bare pid.
 * Threads: one.  Blocking: for JANITOR_BUDGET_MS at most per tree.
 */
#pragma once

#include <stdbool.h>

#include "record.h"

#define JANITOR_BUDGET_MS 5000

struct janitor_result {
	int trees;		/* free records found */
	int ended;		/* processes that had to be killed */
	int survivors;		/* still there after the budget; their record stays */
};

/* Called for every free record before it is swept and again, with done = true, after. May be NULL. */
typedef void (*janitor_fn)(void *ctx, const struct record *rec, int processes, bool done);

/* Sweep all free records. dry_run: count and call fn only, kill nothing. */
int janitor_sweep(bool dry_run, janitor_fn fn, void *ctx, struct janitor_result *out);

/* List the pids of a record's tree, as seen from outside: at most max are stored, the number found is returned. */
int janitor_members(const struct record *rec, pid_t *pids, int max);
