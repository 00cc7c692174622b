/* workers.h - threads for slow work: a file system that hangs, a long message.
 *
 * Work is run by a thread and comes back to the loop. Threads are started when there is work for
 * them and end when there was none for a while; a thread that hangs is left behind.
 *
 * Life: workers_new -> workers_add, workers_cancel ... -> workers_free, which does not wait.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"

struct workers;

struct work {                         /* embedded in its owner, which must not use it until done */
	void (*run)(struct work *w);  /* by a thread, without the lock */
	void (*done)(struct work *w); /* from the loop; the work is its owner's again */
	void (*drop)(struct work *w); /* the workers are gone: free it; by any thread */
	struct work *next;
};

/* threads: the largest number of threads. */
int workers_new(struct loop *loop, unsigned threads, struct workers **out, struct err *e);
void workers_free(struct workers *w);
void workers_add(struct workers *workers, struct work *w);
/* Take back work that no thread has begun. False: a thread has begun; `done` will be called. */
bool workers_cancel(struct workers *workers, struct work *w);
