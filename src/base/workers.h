/* workers.h - threads for slow work: a file system that hangs, a long message.
 *
 * Work is run by a thread and comes back to the loop. Threads are started when there is work for
 * them and end when there was none for a while; a thread that hangs is left behind. Work of one
 * owner keeps at most WORKERS_PER_OWNER threads, so that an owner whose files hang does not stop
 * the work of others: its further work waits. On Linux each thread has a descriptor table of its
 * own (os/threadfiles.h): a descriptor that `run` opens is closed by `run`, and a thread that hangs
 * keeps no descriptor of the process open.
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
	void (*drop)(struct work *w); /* the work is not wanted any more: free it; by any thread */
	/* Only for workers_try: */
	void (*late)(struct work *w); /* from the loop, in place of `done` */
	const char *about;            /* the file that the work is about; valid until drop */
	long owner;                   /* any number that names the owner; 0: not limited */
	/* set by workers */
	struct work *next;
	struct ring in_hung;
	struct loop_timer timer;
	int64_t began_us;
	struct workers *workers;
	bool given_up;
};

#define WORKERS_PER_OWNER 8u
/* threads: the largest number of threads. */
int workers_new(struct loop *loop, unsigned threads, struct workers **out, struct err *e);
void workers_free(struct workers *w); /* nothing of workers_try may be under way */
void workers_add(struct workers *workers, struct work *w);
/* Take back work that no thread has begun. False: a thread has begun; `done` will be called. */
bool workers_cancel(struct workers *workers, struct work *w);

/* Add work that uses a file, which may hang. If the work is not done within WORKERS_TRY_MS, `late`
 * is called, and then the work belongs to the workers: they drop it when its thread returns. NULL;
 * or, while a thread hangs, the earlier work of this kind (`run`) about the same file: then w is
 * not tried and is still the caller's. So a file that is tried again and again costs one thread.
 * The earlier work is valid as long as the loop's lock is held. */
#define WORKERS_TRY_MS 5000
struct work *workers_try(struct workers *workers, struct work *w);
/* The result of workers_try is not wanted any more: neither `done` nor `late` is called. */
void workers_abandon(struct work *w);
/* The sentence about a file for which workers_try failed. */
#define WORKERS_LATE_TEXT                                                                          \
	"'%.160s' did not answer within %d s; is its file system mounted and reachable?"
