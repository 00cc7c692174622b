/* outbox.h - callbacks of the host that wait to be called, in order, outside of the lock.
 *
 * Code that holds the lock puts items into the outbox. The callback thread, which the runtime
 * starts when the host first passes a callback, or killick_dispatch runs the items. The loop's
 * thread runs no item, because host code may block and the loop's thread runs the timers. One
 * thread at a time runs items, so callbacks of one runtime never run at the same time. An item is
 * embedded in the object that it reports (a call, an event): nothing is allocated for the result of
 * a call.
 *
 * Life: outbox_init -> outbox_want, outbox_put ... -> outbox_stop -> outbox_done.
 * Threads: any.  Blocking: outbox_run, and outbox_stop until the thread has ended.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "os/bell.h"
#include "os/origin.h"
#include "os/thread.h"

struct outbox_item;
struct outbox_kind {
	/* With the lock: is the item still wanted? NULL: always. Items that can become unwanted
	 * have a subject. */
	bool (*is_wanted)(struct outbox_item *i);
	void (*run)(struct outbox_item *i);  /* without the lock: call the host */
	void (*done)(struct outbox_item *i); /* with the lock, wanted or not: release the item */
};
struct outbox_item {
	struct outbox_item *next;
	const struct outbox_kind *kind;
	const void *subject;
};

struct outbox {
	struct loop *loop;
	const struct origin *origin;
	int fd;           /* readable when items wait for killick_dispatch; -1: there is a thread */
	struct bell bell; /* makes fd readable */
	bool rung;        /* the bell was rung and not hushed yet */
	bool visiting;    /* outbox_run reads answers, and runs the items that are put meanwhile */
	struct outbox_item *first, **last;
	bool busy;           /* a callback runs, */
	struct thread who;   /* on this thread, */
	const void *subject; /* about this subject; NULL: a callback that is always wanted */
	uint64_t put;        /* items that were put so far, */
	uint64_t ran;        /* and items that were run or dropped */
	unsigned watchers;   /* threads that wait for a change of the fields above */

	bool started; /* the callback thread runs */
	bool stop;    /* the callback thread is to end */
	struct thread thread;
	struct loop_lender lender; /* how the callback thread waits */

	void (*on_abandoned)(void *ctx); /* NULL: not abandoned */
	void *ctx;
};

/* for_host: items wait for killick_dispatch. The caller sets loop and origin afterwards.
 * 0 or -errno with a sentence. */
int outbox_init(struct outbox *o, bool for_host, struct err *e);
/* The outbox must be empty, and its thread must have ended. */
void outbox_done(struct outbox *o);

/* With the lock: the host has passed a callback. Starts the callback thread. 0 or -errno. */
int outbox_want(struct outbox *o);
/* With the lock; after outbox_want. */
void outbox_put(struct outbox *o, struct outbox_item *i);
/* With the lock: is the calling thread inside a callback? */
bool outbox_is_mine(const struct outbox *o);
/* With the lock: no callback about subject runs. runtime_quiet waits for this. */
bool outbox_is_quiet(const struct outbox *o, const void *subject);
/* With the lock: no callback runs, and none waits for the callback thread. */
bool outbox_is_idle(const struct outbox *o);

/* Without the lock: run the first item, or drop the item if it is not wanted any more. 1; 0: no
 * item waits, or another thread runs one. */
int outbox_run_one(struct outbox *o);
/* With the lock: could outbox_run_one run something? */
bool outbox_is_waiting(const struct outbox *o);
/* Without the lock: run the items that wait now. Returns the number of items, 0 also when another
 * thread runs them. Negative: this process is a child that a callback forked. */
int outbox_run(struct outbox *o);

/* With the lock, while a callback runs: do not wait for the callback any more. The thread of this
 * callback runs the remaining items, then calls fn, which may free the outbox. */
void outbox_abandon(struct outbox *o, void (*fn)(void *ctx), void *ctx);
/* Without the lock, when the outbox is idle: end the callback thread. Also allowed inside
 * on_abandoned. */
void outbox_stop(struct outbox *o);
