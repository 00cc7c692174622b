/* outbox.h - what is to be told to the host, in order, outside of the lock.
 *
 * Whatever happens under the lock puts an item; the loop's thread runs them at the end of its turn,
 * or killick_dispatch does. One thread at a time runs them, so those of one session are in order.
 * An item is embedded in what it tells of: nothing is allocated for the result of a call.
 * Life: outbox_init -> outbox_put ... outbox_run -> outbox_done.
 * Threads: any.  Blocking: outbox_quiet alone.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"

struct outbox_item;
struct outbox_kind {
	/* With the lock: is it still wanted? NULL: it always is. Items that can become unwanted
	 * have a subject, and outbox_quiet waits for the one that runs. */
	bool (*is_wanted)(struct outbox_item *i);
	void (*run)(struct outbox_item *i);  /* without the lock: call the host */
	void (*done)(struct outbox_item *i); /* with the lock, wanted or not: let go of it */
};
struct outbox_item {
	struct outbox_item *next;
	const struct outbox_kind *kind;
	const void *subject;
};

struct outbox {
	struct loop *loop;
	int fd; /* readable when something waits; -1: the loop's thread runs the items */
	struct outbox_item *first, **last;
	bool any;            /* may be looked at without the lock */
	bool busy;           /* a thread runs items, */
	pthread_t who;       /* this one, */
	const void *subject; /* and the callback that it is in is about this */
};

/* for_host: items wait for killick_dispatch. 0 or -errno with a sentence. */
int outbox_init(struct outbox *o, bool for_host, struct err *e);
/* It must be empty. */
void outbox_done(struct outbox *o);

/* With the lock. */
void outbox_put(struct outbox *o, struct outbox_item *i);
/* Are we inside a callback? With the lock. */
bool outbox_is_mine(const struct outbox *o);
/* Wait until no callback about subject runs, unless we are in one ourselves. With the lock, which
 * is let go of meanwhile. */
void outbox_quiet(struct outbox *o, const void *subject);
/* Wait until it is empty and nobody runs items: only where the loop's thread does it. With the
 * lock. */
void outbox_flush(struct outbox *o);

/* Run what waits; how many. Without the lock. None when another thread does it. */
int outbox_run(struct outbox *o);
