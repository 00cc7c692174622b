/* loop.c - see loop.h */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop_internal.h"
#include "base/mem.h"
#include "base/trace.h"
#include "os/bell.h"
#include "os/thread.h"
#include "os/time.h"

#define AWAKE_US 50  /* an eager loop busy-polls this long, */
#define SOON_US  200 /* if its last wait was shorter than this */
#define GUESSES  15  /* see loop_guess */
#define SHY_MAX  63
#define TICK_US  10000 /* how long a thread stands aside before it looks at the seat again */

int64_t loop_now_us(void)
{
	return time_now_us();
}

int64_t loop_read_clock(struct loop *l)
{
	l->reading_us = loop_now_us();
	return l->reading_us;
}

int64_t loop_last_reading(const struct loop *l)
{
	return l->reading_us;
}

void loop_lock(struct loop *l)
{
	mutex_lock(&l->lock);
}

void loop_unlock(struct loop *l)
{
	mutex_unlock(&l->lock);
}

struct mutex *loop_mutex(struct loop *l)
{
	return &l->lock;
}

bool loop_is_mine(const struct loop *l)
{
	return thread_is_self(&l->thread);
}

char *loop_scratch(struct loop *l, size_t *out_size)
{
	*out_size = sizeof(l->scratch);
	return l->scratch;
}

/* --- the seat: see loop_internal.h for the rules --- */

void loop_kick(struct loop *l)
{
	if (!bell_ring(&l->bell))
		loop_repair(l);
}

void loop_tell_waiters(struct loop *l)
{
	if (l->waiters)
		cond_broadcast(&l->news);
}

/* The calling thread stops driving. A waiting thread drives now. If no thread waits, our own thread
 * begins to look at the seat every TICK. */
static void loop_leave(struct loop *l)
{
	loop_tell_waiters(l);
	if (!l->waiters && l->seat == SEAT_FREE && l->own.until_us && !l->own.ticks)
		cond_signal(&l->own.woken);
}

void loop_wake(struct loop *l)
{
	l->turn_due = true;
	cond_signal(&l->own.woken);
	if (l->seat == SEAT_OWN)
		loop_kick(l);
}

void loop_attend(struct loop *l)
{
	if (l->seat != SEAT_FREE || !l->own.until_us || l->host_joined)
		return;
	l->own.seen = l->visits + l->lends; /* as if no other thread had driven lately */
	cond_signal(&l->own.woken);
}

void loop_notify(struct loop *l)
{
	loop_tell_waiters(l);
	if (l->seat == SEAT_GUEST)
		loop_kick(l);
}

void loop_call_back(struct loop *l)
{
	if (l->seat == SEAT_LENT)
		loop_kick(l);
	else if (l->lent.until_us)
		cond_signal(&l->lent.woken);
}

/* --- turning --- */

/* Milliseconds until `until`, rounded up, so that no timer is early. */
static int time_left(int64_t until)
{
	int64_t left;

	if (until == NEVER)
		return -1;
	left = until - loop_now_us();
	if (left <= 0)
		return 0;
	return left > (int64_t)INT_MAX * 1000 ? INT_MAX : (int)((left + 999) / 1000);
}

void loop_eager(struct loop *l)
{
	/* on a single CPU busy-polling would keep the awaited process from running */
	l->eager = thread_cpus() > 1;
}

void loop_own_process(struct loop *l)
{
	l->alone = true;
}

bool loop_has_process(const struct loop *l)
{
	return l->alone;
}

/* Like poller_wait; called without the lock. If the last wait was short, this wait is likely to be
 * short, too, and busy-polling costs less than sleeping and being woken. */
static int wait_for_events(struct loop *l, int poller, int timeout, bool eager)
{
	int64_t began;
	int n = 0;

	if (!eager)
		return poller_wait(poller, l->batch, BATCH, timeout);
	began = loop_now_us();
	while (n == 0 && timeout != 0 && l->soon && loop_now_us() - began < AWAKE_US)
		n = poller_wait(poller, l->batch, BATCH, 0);
	if (n == 0)
		n = poller_wait(poller, l->batch, BATCH, timeout);
	l->soon = n > 0 && loop_now_us() - began < SOON_US;
	return n;
}

static void sleep_on(struct loop *l, struct cond *cond, int64_t until)
{
	if (until == NEVER)
		cond_wait(cond, &l->lock);
	else
		cond_wait_until(cond, &l->lock, until);
}

/* The loop has no descriptors to wait with. Timers still run. */
static void loop_turn_without_descriptors(struct loop *l, int64_t until)
{
	int64_t soon = loop_now_us() + TICK_US;

	loop_repair(l);
	if (l->poller < 0)
		sleep_on(l, &l->news, until < soon ? until : soon);
	loop_run_timers(l);
	loop_run_tasks(l);
}

bool loop_run_events(struct loop *l, int count)
{
	bool foreign = count < 0;

	for (int i = 0; i < count; i++)
		foreign |= !loop_run_watch(l, &l->batch[i]);
	return !foreign;
}

bool loop_guess(struct loop *l)
{
	bool right;

	if (!l->hot || !l->guesses)
		return false;
	l->guesses--;
	l->turning = true;
	right = l->hot->on_guess(l->hot);
	l->turning = false;
	loop_run_tasks(l);
	if (right) {
		l->mistrust = 0;
		loop_tell_waiters(l);
		return true;
	}
	l->guesses = 0;
	l->mistrust = 2 * l->mistrust + 1 < SHY_MAX ? 2 * l->mistrust + 1 : SHY_MAX;
	l->shy = l->mistrust;
	return false;
}

void loop_guess_anew(struct loop *l)
{
	if (l->shy)
		l->shy--;
	else
		l->guesses = GUESSES;
}

void loop_seat_go(struct loop *l, enum loop_seat to)
{
	static const char *const names[] = {
		[SEAT_FREE] = "free",
		[SEAT_OWN] = "own",
		[SEAT_LENT] = "lent",
		[SEAT_GUEST] = "guest",
	};

	TRACE(TRACE_LOOP, "seat: %s -> %s (thread %d)", names[l->seat], names[to], thread_id());
	l->seat = to;
}

/* Called with the lock. Take the seat as `who`, wait for events until `until` at the latest, free
 * the seat, and run the handlers. Returns false if loop_repair has replaced this thread
 * meanwhile. */
static bool loop_turn(struct loop *l, enum loop_seat who, int64_t until)
{
	int n, poller = l->poller, timeout = time_left(until);
	uint64_t generation = l->generation;
	bool eager = l->eager;

	assert(l->seat == SEAT_FREE && who != SEAT_FREE);
	if (poller < 0) {
		loop_turn_without_descriptors(l, until);
		return true;
	}
	loop_seat_go(l, who);
	l->seat_until_us = until;
	loop_unlock(l);
	n = wait_for_events(l, poller, timeout, eager);
	if (n == -EINTR)
		n = 0;
	loop_lock(l);
	if (l->generation != generation) {
		l->strays--;
		return false;
	}
	assert(l->seat == who);
	loop_seat_go(l, SEAT_FREE);
	loop_guess_anew(l);
	l->turning = true;
	if (!loop_run_events(l, n) || (n == 0 && who == SEAT_OWN))
		loop_check(l);
	loop_run_timers(l);
	l->turning = false;
	loop_run_tasks(l);
	loop_tell_waiters(l);
	return true;
}

/* The seat is taken. Our own thread and the lent thread are kicked out of the seat; a guest is not,
 * because it reads the events of all threads. */
static void loop_wait_for_seat(struct loop *l, int64_t until)
{
	if (l->seat == SEAT_OWN || l->seat == SEAT_LENT)
		loop_kick(l);
	if (l->seat == SEAT_FREE) /* loop_kick made the thread in the seat a stray */
		return;
	l->waiters++;
	sleep_on(l, &l->news, until);
	l->waiters--;
}

bool loop_wait(struct loop *l, bool (*done)(void *ctx), void *ctx, int64_t until_us)
{
	int cancel = thread_forbid_cancel();
	bool is_done;

	assert(!loop_is_mine(l));
	while (!(is_done = done(ctx)) && time_left(until_us) != 0) {
		l->visits++;
		if (l->seat != SEAT_FREE)
			loop_wait_for_seat(l, until_us);
		else if (!loop_guess(l))
			loop_turn(l, SEAT_GUEST, until_us);
	}
	loop_leave(l);
	thread_allow_cancel(cancel);
	return is_done;
}

/* Sleep until until_us at the latest; with `ticks`, for one TICK at most. */
static void loop_stand_aside(struct loop *l, struct loop_aside *a, bool ticks, int64_t until_us)
{
	int64_t tick_us = ticks ? loop_now_us() + TICK_US : NEVER;

	a->ticks = ticks;
	a->until_us = tick_us < until_us ? tick_us : until_us;
	sleep_on(l, &a->woken, a->until_us);
	a->until_us = 0;
}

bool loop_lend(struct loop *l, const struct loop_lender *lender)
{
	assert(!loop_is_mine(l));
	l->lender = lender;
	l->lent.seen = l->visits;
	while (!lender->wanted(lender->ctx)) {
		bool same = l->lent.seen == l->visits;

		assert(l->seat != SEAT_LENT);
		l->lent.seen = l->visits;
		l->lends++;
		if (l->seat == SEAT_GUEST || !same)
			loop_stand_aside(l, &l->lent, l->seat != SEAT_GUEST || !same, NEVER);
		else if (l->seat == SEAT_OWN)
			loop_wait_for_seat(l, NEVER);
		else if (!loop_guess(l) && !loop_turn(l, SEAT_LENT, NEVER))
			return false;
	}
	loop_leave(l);
	return true;
}

/* --- our own thread --- */

/* Other threads drive. They wait without a timeout, because setting a timer costs them more than
 * the rest of their wait. So our own thread runs the timers meanwhile. */
static void loop_keep_time(struct loop *l, bool ticks)
{
	if (!ticks)
		loop_host_part(l);
	loop_stand_aside(l, &l->own, ticks, loop_first_timer(l));
	if (loop_run_timers(l)) {
		loop_run_tasks(l);
		l->turn_due = true;
		loop_notify(l);
	}
}

void *loop_thread(void *arg)
{
	struct loop *l = arg;
	bool replaced = false;

	loop_lock(l);
	l->own.seen = 0;
	while (!l->stop && !replaced) {
		bool same = l->own.seen == l->visits + l->lends;

		l->own.seen = l->visits + l->lends;
		if (l->turn_due && l->on_turn) {
			l->turn_due = false;
			loop_unlock(l);
			l->on_turn(l->ctx);
			loop_lock(l);
			loop_run_tasks(l);
		} else if (l->seat != SEAT_FREE || !same) {
			loop_keep_time(l, l->seat == SEAT_FREE || !same);
		} else {
			loop_host_part(l);
			replaced = !loop_turn(l, SEAT_OWN, loop_first_timer(l));
			l->turn_due = true;
		}
	}
	loop_unlock(l);
	return NULL;
}

static void loop_destroy(struct loop *l)
{
	loop_host_close(l);
	fd_drop(&l->poller);
	bell_done(&l->bell);
	if (l->strays) /* a stray thread that wakes up still reads this memory: leak it */
		return;
	mutex_done(&l->lock);
	cond_done(&l->news);
	cond_done(&l->own.woken);
	cond_done(&l->lent.woken);
	free(l->slots);
	free(l->heap);
	free(l);
}

int loop_open(struct loop **out, void (*on_turn)(void *ctx), void *ctx, struct err *e)
{
	struct loop *l = mem_grow(NULL, 1, sizeof(*l));
	int r;

	*l = (struct loop){ .on_turn = on_turn, .ctx = ctx, .cookie = (uint32_t)loop_now_us() };
	l->wake.fd = l->poller = l->host_fd = -1;
	ring_init(&l->tasks);
	mutex_init(&l->lock);
	cond_init(&l->news);
	cond_init(&l->own.woken);
	cond_init(&l->lent.woken);
	r = loop_make_descriptors(l);
	if (r < 0)
		err_set(e, r, "cannot make descriptors to wait for events: %s%s", strerror(-r),
			err_next(r));
	loop_lock(l); /* the new thread reads l->thread, so l->thread must be set first */
	if (r == 0) {
		r = thread_start(&l->thread, THREAD_OURS, "killick", loop_thread, l);
		if (r < 0)
			err_set(e, r, "cannot start a thread");
	}
	loop_unlock(l);
	if (r < 0) {
		loop_destroy(l);
		return r;
	}
	*out = l;
	return 0;
}

void loop_close(struct loop *l)
{
	bool manned;

	assert(!loop_is_mine(l));
	loop_lock(l);
	loop_check(l);
	l->stop = true;
	loop_wake(l);
	manned = !l->unmanned;
	loop_unlock(l);
	if (manned)
		thread_join(&l->thread);
	loop_lock(l);
	loop_watch_stop(l, &l->wake);
	loop_timer_stop(l, &l->late);
	loop_timer_stop(l, &l->lost);
	assert(l->heap_count == 0 && ring_is_empty(&l->tasks) && l->seat == SEAT_FREE);
	loop_unlock(l);
	loop_destroy(l);
}
