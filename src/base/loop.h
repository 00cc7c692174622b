/* loop.h - one thread that waits for descriptors and timers, and the lock that protects all state
 * of a runtime.
 *
 * The loop's thread holds the lock while it runs handlers and releases the lock while it waits. Any
 * other thread that takes the lock may do everything that a handler may do: start watches, set
 * timers, write to pipes. So a thread of the host writes its own calls, without a switch to another
 * thread and without a queue. Code that blocks runs neither under the lock nor on the loop's
 * thread: code of a host has a thread of its own (session/outbox.h).
 *
 * A thread that waits for a result (loop_wait) does not sleep while another thread works for it:
 * the waiting thread drives the loop itself until the result is there. So the thread that wants an
 * answer reads the answer, and one request at a time costs no switch between threads of the
 * library. Meanwhile the loop's own thread stands aside and only runs the timers. The rules in
 * loop_internal.h decide which thread drives the loop.
 *
 * A host may close descriptors that are ours (own.h). The loop notices the loss of its own
 * descriptors when it next uses them, and makes new ones. Then on_ready of each watch whose
 * descriptor is gone is called once, with POLLER_ERR | POLLER_HUP; the owner of the watch asks
 * loop_watch_is_ours before it uses the number. A thread that waits in the old poller cannot be
 * woken: the thread is left there, and a new thread replaces it.
 *
 * Life: loop_open -> loop_lock ... loop_unlock from anywhere -> loop_close (not from the loop's
 * thread). An idle loop does not wake up.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/ring.h"
#include "os/bell.h"
#include "os/own.h"
#include "os/poller.h"
#include "os/thread.h"

struct loop;

struct loop_watch {      /* a descriptor that is waited for; embedded in its owner */
	int fd;          /* -1: none */
	uint32_t events; /* POLLER_IN, ... as registered */
	uint32_t slot;   /* place in the loop's table */
	struct own id;   /* what fd was when it was given to us */
	bool lost;       /* the host has closed fd; on_ready was not called for that yet */
	void (*on_ready)(struct loop_watch *w, uint32_t events);
	/* Set by the owner after loop_watch; may be NULL. Try to read without knowing whether the
	 * descriptor is ready. False: it was not ready. See loop_guess. */
	bool (*on_guess)(struct loop_watch *w);
};

struct loop_timer { /* embedded in its owner; zero: not set */
	void (*on_time)(struct loop_timer *t);
	int64_t due_us;
	size_t slot; /* place in the heap, from 1; 0: not set */
};

/* Start the thread. on_turn, which may be NULL, is called by the loop's thread, without the lock,
 * after handlers ran and when loop_wake was called. on_turn must not block: no timer runs
 * meanwhile. */
int loop_open(struct loop **out, void (*on_turn)(void *ctx), void *ctx, struct err *e);
/* Stop the thread and free the loop; no watch or timer may be left. */
void loop_close(struct loop *l);

/* With the lock: after a short wait the loop busy-polls for 50 us, because a peer may send the next
 * request at once. Does nothing with one CPU. For programs of killick, not for hosts. */
void loop_eager(struct loop *l);

/* With the lock: this process runs no code of a host that could close descriptors of ours, so they
 * need not be checked before each use. For programs of killick. */
void loop_own_process(struct loop *l);
bool loop_has_process(const struct loop *l);

void loop_lock(struct loop *l);
void loop_unlock(struct loop *l);
struct mutex *loop_mutex(struct loop *l); /* for condition variables */
bool loop_is_mine(const struct loop *l);  /* is the caller the loop's thread? */
void loop_wake(struct loop *l);           /* with the lock: have on_turn called */
int64_t loop_now_us(void);                /* time_now_us, which tests replace */
/* With the lock: read the clock and store the reading, for callers to which an older reading is
 * good enough (loop_last_reading). */
int64_t loop_read_clock(struct loop *l);
int64_t loop_last_reading(const struct loop *l);

/* With the lock, which is released while the thread waits: wait until done(ctx) is true, or until
 * until_us (INT64_MAX: no limit). done is called with the lock. Returns the last result of done.
 * Not on the loop's thread. */
bool loop_wait(struct loop *l, bool (*done)(void *ctx), void *ctx, int64_t until_us);
/* With the lock, which is released while the thread waits: lend the calling thread to the loop. The
 * thread drives the loop until wanted(ctx) is true, and steps aside for threads in loop_wait, as
 * the loop's own thread does. Only one thread may be lent at a time. Code that makes wanted(ctx)
 * true calls loop_call_back. */
struct loop_lender {
	bool (*wanted)(void *ctx);
	/* With the lock: the thread waits in a poller that was closed, and nothing can wake it.
	 * Start another thread. */
	void (*on_lost)(void *ctx);
	void *ctx;
};
/* False: on_lost was called for this thread. It must return at once and use no state, because
 * another thread uses that state now. */
bool loop_lend(struct loop *l, const struct loop_lender *lender);
void loop_call_back(struct loop *l);
/* For a host with an event loop of its own. loop_host_fd is readable when `bell` is readable and,
 * while the host calls loop_visit, when a descriptor of the loop is ready. `bell` must outlive the
 * loop. 0 or -errno. */
int loop_host_open(struct loop *l, const struct bell *bell);
int loop_host_fd(const struct loop *l); /* -1: not opened */
/* With the lock, without waiting: run the handlers of descriptors that are ready, unless another
 * thread runs them. After a TICK (10 ms) without a visit the loop's own thread drives the loop. */
void loop_visit(struct loop *l);
/* With the lock: code outside of a handler has changed state that a thread in loop_wait may wait
 * for. */
void loop_notify(struct loop *l);
/* With the lock: the next results are reported by callbacks, and no thread waits for them. Without
 * this call the loop's thread may stand aside for a moment, for a thread that has waited and may
 * wait again. */
void loop_attend(struct loop *l);
/* With the lock: run fn before the loop's thread next waits, when the handlers of the current turn
 * of another thread have run, or when the batch of the calling thread ends. A task that is
 * requested several times runs once; tasks run in the order of the requests. So the bytes that a
 * batch of callbacks writes are sent in one piece. False: the caller is not the loop's thread, no
 * handler, and has no batch; the caller must do the work now. */
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
/* With the lock: a buffer for bytes that are used before the lock is released. */
char *loop_scratch(struct loop *l, size_t *out_size);

/* All of the following: with the lock. At least one event must be requested; a hang-up is
 * reported to every watch. A handler may stop or free any watch or timer, its own as well: events
 * that were collected for a stopped watch are dropped. */
int loop_watch(struct loop *l, struct loop_watch *w, int fd, uint32_t events,
	       void (*on_ready)(struct loop_watch *w, uint32_t events)); /* 0 or -errno */
int loop_watch_change(struct loop *l, struct loop_watch *w, uint32_t events);
void loop_watch_stop(struct loop *l,
		     struct loop_watch *w); /* does not close fd; w->fd is -1 then */
/* A message was written, and the next event is probably its answer, which is read from w; NULL: not
 * known. The loop may then read w without asking the poller first. */
void loop_expect(struct loop *l, struct loop_watch *w);
/* Is the descriptor still the one that was given to loop_watch? */
static inline bool loop_watch_is_ours(const struct loop_watch *w)
{
	return w->fd >= 0 && own_is(&w->id, w->fd);
}
/* With the lock: the host has closed some descriptor of ours; check those of the loop as well, and
 * make new ones if they are gone. */
void loop_check(struct loop *l);
/* With the lock: how many threads wait in a poller that was closed, where nothing can wake them. A
 * loop_wait of such a thread never returns. */
unsigned loop_strays(const struct loop *l);
void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t delay_ms,
		    void (*on_time)(struct loop_timer *t));
void loop_timer_stop(struct loop *l, struct loop_timer *t);
