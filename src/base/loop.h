/* loop.h - one thread that waits for descriptors and timers, and the lock under which all state of
 * a runtime is.
 *
 * The loop's thread holds the lock while it runs handlers and lets go of it while it waits. Any
 * other thread that takes the lock may do whatever a handler may: start watches, set timers, write
 * to pipes. So a call made from a host's thread is written by that thread, without a switch, and
 * there is nothing to post. Nothing that blocks is done under the lock, nor on the loop's thread:
 * code of a host has a thread of its own (session/outbox.h).
 *
 * A thread that waits for something the loop will bring (loop_wait) does not sleep while another
 * thread works for it: it drives the loop itself until it has what it waits for. So an answer is
 * read by the thread that wants it, and one request at a time costs no switch between our threads.
 * The loop's own thread stands aside meanwhile and keeps the time. Which thread drives when is
 * decided by the rules in loop_internal.h.
 *
 * A host may close descriptors that are ours (own.h). The loop notices when it next uses its own,
 * and makes new ones. Each watch whose descriptor is gone is then told EPOLLERR | EPOLLHUP, once;
 * its owner asks loop_watch_is_ours before it touches the number. A thread that waits in the old
 * epoll cannot be woken: it is left there, and another takes its place.
 *
 * Life: loop_open -> loop_lock ... loop_unlock from anywhere -> loop_close (not from the loop's
 * thread). An idle loop does not wake up.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bell.h"
#include "base/err.h"
#include "base/own.h"
#include "base/ring.h"

struct loop;

struct loop_watch {      /* a descriptor that is waited for; embedded in its owner */
	int fd;          /* -1: none */
	uint32_t events; /* EPOLLIN, ... as registered */
	uint32_t slot;   /* place in the loop's table */
	struct own id;   /* what fd was when it was given to us */
	bool lost;       /* the host has closed it, which is to be told */
	void (*on_ready)(struct loop_watch *w, uint32_t events);
	/* Set by the owner after loop_watch; may be NULL. Try to read, although nothing says that
	 * the descriptor is ready. False: it was not. See loop_guess. */
	bool (*on_guess)(struct loop_watch *w);
};

struct loop_timer { /* embedded in its owner; zero: not set */
	void (*on_time)(struct loop_timer *t);
	int64_t due_us;
	size_t slot; /* place in the heap, from 1; 0: not set */
};

/* Start the thread. on_turn, which may be NULL, is called by the loop's thread, without the lock,
 * after handlers ran and when loop_wake was called. It must not block: nobody keeps the time
 * meanwhile. */
int loop_open(struct loop **out, void (*on_turn)(void *ctx), void *ctx, struct err *e);
/* Stop the thread and free the loop; no watch or timer may be left. */
void loop_close(struct loop *l);

/* With the lock: this loop answers others, who may ask again at once. For a
 * moment after it had something to do it waits awake. For programs of ours, not for a host's. */
void loop_eager(struct loop *l);

void loop_lock(struct loop *l);
void loop_unlock(struct loop *l);
pthread_mutex_t *loop_mutex(struct loop *l); /* for condition variables */
bool loop_is_mine(const struct loop *l);     /* are we the loop's thread? */
void loop_wake(struct loop *l);              /* with the lock: have on_turn called */
int64_t loop_now_us(void);                   /* CLOCK_MONOTONIC */
/* With the lock: read the clock and store the reading, for callers to which an older reading is
 * good enough (loop_last_reading). */
int64_t loop_read_clock(struct loop *l);
int64_t loop_last_reading(const struct loop *l);

/* With the lock, which is let go meanwhile: wait until done(ctx), which is asked with the lock, or
 * until until_us (INT64_MAX: no limit). The last answer of done. Not on the loop's thread. */
bool loop_wait(struct loop *l, bool (*done)(void *ctx), void *ctx, int64_t until_us);
/* With the lock, which is released while the thread waits: lend the calling thread to the loop. The
 * thread drives the loop until wanted(ctx) is true, and steps aside for threads in loop_wait, as
 * the loop's own thread does. Only one thread may be lent at a time. Code that makes wanted(ctx)
 * true calls loop_call_back. */
struct loop_lender {
	bool (*wanted)(void *ctx);
	/* With the lock: the thread waits in an epoll that was closed, and nothing can wake it.
	 * Start another thread. */
	void (*on_lost)(void *ctx);
	void *ctx;
};
/* False: on_lost was called for this thread. It must return at once and use no state, because
 * another thread uses that state now. */
bool loop_lend(struct loop *l, const struct loop_lender *lender);
void loop_call_back(struct loop *l);
/* For a host with an event loop of its own. loop_host_fd is readable when `bell` is, which must
 * outlive the loop; and, while the host calls loop_visit, when a descriptor of the loop is ready.
 * 0 or -errno. */
int loop_host_open(struct loop *l, const struct bell *bell);
int loop_host_fd(const struct loop *l); /* -1: not opened */
/* With the lock, without waiting: run the handlers of descriptors that are ready, unless another
 * thread does. A host that does not come for a TICK (10 ms) is not waited for. */
void loop_visit(struct loop *l);
/* With the lock: something changed outside of a handler that a waiter may wait for. */
void loop_notify(struct loop *l);
/* With the lock: what is to come will be told by callbacks, and no thread waits for it. Without
 * this the loop's thread may stand aside for a moment yet, for a thread that has waited and may do
 * so again. */
void loop_attend(struct loop *l);
/* With the lock: run fn before the loop's thread next waits, or when the batch of the calling
 * thread ends; once, however often it is asked for; in the order in which they were asked for.
 * False: we are not that thread and have no batch; do it now. So what a batch of callbacks writes
 * goes out in one piece. */
struct loop_task { /* embedded in its owner; zero: not due */
	void (*fn)(struct loop_task *t);
	struct ring in_loop;
};
bool loop_later(struct loop *l, struct loop_task *t, void (*fn)(struct loop_task *t));
void loop_task_stop(struct loop_task *t);
/* With the lock: the calling thread is about to run several callbacks. A batch that is not over
 * after about LOOP_BATCH_MS (one of them blocks) ends by itself. */
#define LOOP_BATCH_MS 1
void loop_batch_begin(struct loop *l);
void loop_batch_end(struct loop *l);
/* With the lock: room for bytes that are used before the lock is let go. */
char *loop_scratch(struct loop *l, size_t *out_size);

/* All of these: with the lock. At least one event must be asked for: a hang-up is told to whoever
 * watches at all.  A handler may stop or free any watch or timer, its own as well: events
 * that were collected for a stopped one are dropped. */
int loop_watch(struct loop *l, struct loop_watch *w, int fd, uint32_t events,
	       void (*on_ready)(struct loop_watch *w, uint32_t events)); /* 0 or -errno */
int loop_watch_change(struct loop *l, struct loop_watch *w, uint32_t events);
void loop_watch_stop(struct loop *l,
		     struct loop_watch *w); /* does not close fd; w->fd is -1 then */
/* Is its descriptor still the one that was given to us? */
static inline bool loop_watch_is_ours(const struct loop_watch *w)
{
	return w->fd >= 0 && own_is(&w->id, w->fd);
}
/* With the lock: the host has closed some descriptor of ours; check those of the loop as well, and
 * make new ones if they are gone. */
void loop_check(struct loop *l);
/* With the lock: how many threads wait in an epoll that was closed, where nothing can wake them. A
 * loop_wait of such a thread never returns. */
unsigned loop_strays(const struct loop *l);
void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t delay_ms,
		    void (*on_time)(struct loop_timer *t));
void loop_timer_stop(struct loop *l, struct loop_timer *t);
