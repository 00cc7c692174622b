/* outbox.c - see outbox.h */
#include "session/outbox.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/thread.h"

#define CHILD_STATUS 70 /* exit status of a forked child that returns from a callback */

int outbox_init(struct outbox *o, bool for_host, struct err *e)
{
	int r;

	*o = (struct outbox){ .fd = -1, .bell = { .out = -1, .in = -1 } };
	o->last = &o->first;
	if (!for_host)
		return 0;
	r = bell_init(&o->bell);
	if (r < 0)
		return err_set(e, r, "cannot make a pipe: %s%s", strerror(-r), err_next(r));
	o->fd = o->bell.out;
	return 0;
}

void outbox_done(struct outbox *o)
{
	assert(!o->first && !o->busy && !o->started);
	bell_done(&o->bell);
}

bool outbox_is_mine(const struct outbox *o)
{
	return o->busy && thread_is_self(&o->who);
}

bool outbox_is_quiet(const struct outbox *o, const void *subject)
{
	return !o->busy || o->subject != subject || outbox_is_mine(o);
}

bool outbox_is_idle(const struct outbox *o)
{
	return !o->busy && (!o->first || o->fd >= 0);
}

/* --- to put items --- */

static void outbox_ring(struct outbox *o)
{
	if (!o->rung)
		o->rung = bell_ring(&o->bell);
}

static void outbox_hush(struct outbox *o)
{
	if (o->rung)
		bell_hush(&o->bell);
	o->rung = false;
}

void outbox_put(struct outbox *o, struct outbox_item *i)
{
	bool was_empty = !o->first;

	assert(i->kind && !i->next && o->last != &i->next);
	assert(!i->kind->is_wanted == !i->subject);
	*o->last = i;
	o->last = &i->next;
	o->put++;
	if (o->fd >= 0 && o->watchers)
		loop_notify(o->loop);
	if (!was_empty || o->visiting)
		return;
	if (o->fd >= 0)
		outbox_ring(o);
	else
		loop_call_back(o->loop);
}

/* --- to run items --- */

/* With the lock, which is released while the callback runs: run the first item. False: the callback
 * has forked, and this process is the child. The child does not take the lock, because a thread
 * that exists only in the parent may hold the lock. */
static bool outbox_run_first(struct outbox *o)
{
	struct outbox_item *i = o->first;

	assert(!o->busy);
	o->first = i->next;
	if (!o->first)
		o->last = &o->first;
	i->next = NULL;
	if (!i->kind->is_wanted || i->kind->is_wanted(i)) {
		o->busy = true;
		o->who = thread_self();
		o->subject = i->subject;
		loop_unlock(o->loop);
		i->kind->run(i);
		if (!origin_is_here(o->origin))
			return false;
		loop_lock(o->loop);
		o->busy = false;
		o->subject = NULL;
	}
	o->ran++;
	i->kind->done(i);
	if (o->watchers)
		loop_notify(o->loop);
	return true;
}

/* With the lock: was the outbox abandoned? If so, release the lock and call on_abandoned, which may
 * free the outbox. */
static bool outbox_is_left_to_us(struct outbox *o)
{
	void (*fn)(void *ctx) = o->on_abandoned;
	void *ctx = o->ctx;

	if (!fn)
		return false;
	loop_unlock(o->loop);
	fn(ctx);
	return true;
}

bool outbox_is_waiting(const struct outbox *o)
{
	return o->first && !o->busy;
}

int outbox_run_one(struct outbox *o)
{
	bool waiting;

	loop_lock(o->loop);
	waiting = outbox_is_waiting(o);
	if (waiting && !o->first->next)
		outbox_hush(o);
	if (waiting)
		outbox_run_first(o);
	loop_unlock(o->loop);
	return waiting;
}

/* With the lock: run the items that wait now. Items that are put meanwhile wait for the next batch,
 * so that callbacks that cause further callbacks do not block the host's loop. Requests that the
 * callbacks of one batch make are written together. False: see outbox_run_first. */
static bool outbox_run_batch(struct outbox *o)
{
	uint64_t end = o->put;
	bool several = end - o->ran > 1;

	if (several)
		loop_batch_begin(o->loop);
	while (o->ran < end)
		if (!outbox_run_first(o))
			return false;
	if (several)
		loop_batch_end(o->loop);
	return true;
}

/* Read answers first, so that outbox_run runs their callbacks as well. These callbacks need no
 * bell. */
static void outbox_visit_loop(struct outbox *o)
{
	o->visiting = true;
	loop_visit(o->loop);
	o->visiting = false;
}

int outbox_run(struct outbox *o)
{
	uint64_t before;
	int ran;

	loop_lock(o->loop);
	if (o->busy) {
		loop_unlock(o->loop);
		return 0;
	}
	before = o->ran;
	outbox_visit_loop(o);
	outbox_hush(o);
	if (o->first && !outbox_run_batch(o))
		return -1;
	if (o->first)
		outbox_ring(o);
	ran = (int)(o->ran - before);
	if (!ran || !outbox_is_left_to_us(o))
		loop_unlock(o->loop);
	return ran;
}

static bool outbox_is_wanted(void *ctx)
{
	const struct outbox *o = ctx;

	return o->first || o->stop;
}

/* Between callbacks this thread drives the loop, so that the thread that reads a result also passes
 * the result to the host. While a callback runs, the loop's own thread drives the loop. */
static void *outbox_thread(void *arg)
{
	struct outbox *o = arg;
	struct loop *loop = o->loop;

	loop_lock(loop);
	for (;;) {
		while (o->first)
			if (!outbox_run_batch(o))
				_Exit(CHILD_STATUS);
		if (o->on_abandoned || o->stop)
			break;
		if (!loop_lend(loop, &o->lender)) { /* another thread replaced this one */
			loop_unlock(loop);
			return NULL;
		}
	}
	if (!outbox_is_left_to_us(o))
		loop_unlock(o->loop);
	return NULL;
}

/* The host has closed the descriptors that the callback thread waits for, so the thread never
 * returns: replace it by a new thread. */
static void outbox_replace_thread(void *ctx)
{
	struct outbox *o = ctx;

	thread_detach(&o->thread);
	o->started = false;
	outbox_want(o); /* if this fails, the next call that passes a callback tries again */
}

int outbox_want(struct outbox *o)
{
	int r;

	if (o->fd >= 0 || o->started)
		return 0;
	o->lender = (struct loop_lender){ outbox_is_wanted, outbox_replace_thread, o };
	r = thread_start(&o->thread, THREAD_HOST, "killick-host", outbox_thread, o);
	o->started = r == 0;
	return r;
}

/* --- the end --- */

void outbox_abandon(struct outbox *o, void (*fn)(void *ctx), void *ctx)
{
	assert(o->busy && !o->on_abandoned);
	o->on_abandoned = fn;
	o->ctx = ctx;
}

void outbox_stop(struct outbox *o)
{
	bool mine;

	loop_lock(o->loop);
	assert(outbox_is_idle(o) && !o->stop);
	o->stop = true;
	mine = o->started && thread_is_self(&o->thread);
	loop_call_back(o->loop);
	loop_unlock(o->loop);
	if (o->started && mine)
		thread_detach(&o->thread);
	else if (o->started)
		thread_join(&o->thread);
	o->started = false;
}
