/* loop.c - see loop.h */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/loop_internal.h"
#include "base/mem.h"
#include "base/thread.h"

#define AWAKE_US 50  /* an eager loop waits so long without sleeping, */
#define SOON_US  200 /* if its last wait was shorter than this */
#define TICK_US                                                                                    \
	10000 /* how long the thread stands aside for one that waits, before it looks again */

int64_t loop_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
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
	pthread_mutex_lock(&l->lock);
}

void loop_unlock(struct loop *l)
{
	pthread_mutex_unlock(&l->lock);
}

pthread_mutex_t *loop_mutex(struct loop *l)
{
	return &l->lock;
}

bool loop_is_mine(const struct loop *l)
{
	return pthread_equal(pthread_self(), l->thread);
}

char *loop_scratch(struct loop *l, size_t *out_size)
{
	*out_size = sizeof(l->scratch);
	return l->scratch;
}

/* Get the driver out of epoll_wait. */
void loop_kick(struct loop *l)
{
	if (!bell_ring(&l->bell))
		loop_repair(l);
}

void loop_wake(struct loop *l)
{
	l->turn_due = true;
	pthread_cond_signal(&l->seat);
	if (l->driven && !l->guest)
		loop_kick(l);
}

void loop_attend(struct loop *l)
{
	if (l->driven || !l->seat_until)
		return;
	l->attend = true;
	pthread_cond_signal(&l->seat);
}

void loop_notify(struct loop *l)
{
	if (l->waiters)
		pthread_cond_broadcast(&l->news);
	if (l->guest && !l->lent && l->sleep_until)
		loop_kick(l);
}

void loop_call_back(struct loop *l)
{
	if (l->lent && l->sleep_until)
		loop_kick(l);
	else if (l->lend_asleep)
		pthread_cond_signal(&l->lend);
}

/* --- turning --- */

/* Milliseconds until then, rounded up: a timer is never early. */
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
	cpu_set_t cpus;

	/* with one CPU whoever is waited for could not run meanwhile */
	l->eager = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) > 1;
}

/* Without the lock: as epoll_wait. When the last wait was short this one may be, too, and then it
 * costs less than to fall asleep and be woken. */
static int wait_for_events(struct loop *l, int epoll_fd, int timeout, bool eager)
{
	int64_t began;
	int n = 0;

	if (!eager)
		return epoll_wait(epoll_fd, l->batch, BATCH, timeout);
	began = loop_now_us();
	while (n == 0 && timeout != 0 && l->soon && loop_now_us() - began < AWAKE_US)
		n = epoll_wait(epoll_fd, l->batch, BATCH, 0);
	if (n == 0)
		n = epoll_wait(epoll_fd, l->batch, BATCH, timeout);
	l->soon = n > 0 && loop_now_us() - began < SOON_US;
	return n;
}

static void sleep_on(struct loop *l, pthread_cond_t *cond, int64_t until)
{
	struct timespec ts = { .tv_sec = until / 1000000, .tv_nsec = until % 1000000 * 1000 };

	if (until == NEVER)
		pthread_cond_wait(cond, &l->lock);
	else
		pthread_cond_timedwait(cond, &l->lock, &ts);
}

/* There are no descriptors to wait with. Timers go on. */
static void loop_turn_without_descriptors(struct loop *l, int64_t until)
{
	int64_t soon = loop_now_us() + TICK_US;

	loop_repair(l);
	if (l->epoll_fd < 0)
		sleep_on(l, &l->news, until < soon ? until : soon);
	loop_run_timers(l);
	loop_run_tasks(l);
}

/* With the lock: wait for events, at most until `until`, and run their handlers. One thread at a
 * time. False: nothing could wake us for so long that another thread has taken our place. */
static bool turn(struct loop *l, int64_t until, bool guest)
{
	int n, epoll_fd = l->epoll_fd, timeout = time_left(until);
	uint64_t generation = l->generation;
	bool eager = l->eager, foreign = false;

	assert(!l->driven);
	if (epoll_fd < 0) {
		l->lent = false;
		loop_turn_without_descriptors(l, until);
		return true;
	}
	l->driven = true;
	l->guest = guest;
	l->sleep_until = until;
	loop_unlock(l);
	n = wait_for_events(l, epoll_fd, timeout, eager);
	foreign = n < 0 && errno != EINTR;
	loop_lock(l);
	if (l->generation != generation) {
		l->strays--;
		return false;
	}
	l->sleep_until = 0;
	for (int i = 0; i < n; i++)
		foreign |= !loop_run_watch(l, &l->batch[i]);
	if (foreign || (n == 0 && !guest))
		loop_check(l);
	loop_run_timers(l);
	loop_run_tasks(l);
	l->driven = l->guest = l->lent = false;
	if (l->waiters)
		pthread_cond_broadcast(&l->news);
	return true;
}

static void wait_for_driver(struct loop *l, int64_t until)
{
	if ((!l->guest || l->lent) && l->sleep_until)
		loop_kick(l); /* our own thread, or one that is lent to us: they make room */
	if (!l->driven)
		return;
	l->waiters++;
	sleep_on(l, &l->news, until);
	l->waiters--;
}

bool loop_wait(struct loop *l, bool (*done)(void *ctx), void *ctx, int64_t until_us)
{
	int cancel;
	bool is_done;

	assert(!loop_is_mine(l));
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	while (!(is_done = done(ctx)) && time_left(until_us) != 0) {
		l->visits++;
		if (l->driven)
			wait_for_driver(l, until_us);
		else
			turn(l, until_us, true);
	}
	if (l->waiters) /* one of them may have to drive now */
		pthread_cond_broadcast(&l->news);
	else if (l->away && !l->driven)
		pthread_cond_signal(&l->seat);
	pthread_setcancelstate(cancel, NULL);
	return is_done;
}

/* A guest (a thread in loop_wait) reads its own answers. While guests come and go, the lent thread
 * sleeps for a TICK and looks again. While one guest stays, the lent thread sleeps until it is
 * woken: the loop's own thread takes over when that guest leaves. */
static void loop_lend_aside(struct loop *l, bool stays)
{
	l->lend_asleep = true;
	sleep_on(l, &l->lend, stays ? NEVER : loop_now_us() + TICK_US);
	l->lend_asleep = false;
}

bool loop_lend(struct loop *l, const struct loop_lender *lender)
{
	uint64_t visits = l->visits;

	assert(!loop_is_mine(l));
	l->lender = lender;
	while (!lender->wanted(lender->ctx)) {
		bool same = l->visits == visits, guest = l->driven && l->guest;

		assert(!l->lent);
		visits = l->visits;
		l->lends++;
		if (guest || !same) {
			loop_lend_aside(l, guest && same);
		} else if (l->driven) {
			wait_for_driver(l, NEVER);
		} else {
			l->lent = true;
			if (!turn(l, NEVER, true))
				return false;
		}
	}
	if (l->waiters) /* one of them may have to drive now */
		pthread_cond_broadcast(&l->news);
	else if (l->away && !l->driven)
		pthread_cond_signal(&l->seat);
	return true;
}

/* --- the thread --- */

/* Another thread drives, or did so a moment ago and may come again. It waits without a clock,
 * because setting one costs it more than the rest of its wait: timers are our business meanwhile.
 * As long as it comes and goes we look every TICK whether it still does; when it stays, we leave it
 * alone. */
static void stand_aside(struct loop *l, bool stays)
{
	l->away = stays;
	l->seat_until = loop_first_timer(l);
	if (!stays && l->seat_until > loop_now_us() + TICK_US)
		l->seat_until = loop_now_us() + TICK_US;
	sleep_on(l, &l->seat, l->seat_until);
	l->seat_until = 0;
	l->away = false;
	if (loop_run_timers(l)) {
		loop_run_tasks(l);
		l->turn_due = true;
		loop_notify(l);
	}
}

void *loop_thread(void *arg)
{
	struct loop *l = arg;
	uint64_t visits = 0;
	bool replaced = false;

	loop_lock(l);
	while (!l->stop && !replaced) {
		bool same = l->visits + l->lends == visits || l->attend;

		visits = l->visits + l->lends;
		l->attend = false;
		if (l->turn_due && l->on_turn) {
			l->turn_due = false;
			loop_unlock(l);
			l->on_turn(l->ctx);
			loop_lock(l);
			loop_run_tasks(l);
		} else if (l->driven || !same) {
			stand_aside(l, l->driven && same);
		} else {
			replaced = !turn(l, loop_first_timer(l), false);
			l->turn_due = true;
		}
	}
	loop_unlock(l);
	return NULL;
}

static void destroy(struct loop *l)
{
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	bell_done(&l->bell);
	if (l->strays) /* a stray thread that wakes up still reads this memory: leak it */
		return;
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->news);
	pthread_cond_destroy(&l->seat);
	pthread_cond_destroy(&l->lend);
	free(l->slots);
	free(l->heap);
	free(l);
}

int loop_open(struct loop **out, void (*on_turn)(void *ctx), void *ctx, struct err *e)
{
	struct loop *l = mem_grow(NULL, 1, sizeof(*l));
	pthread_condattr_t attr;
	int r;

	*l = (struct loop){ .on_turn = on_turn, .ctx = ctx, .cookie = (uint32_t)loop_now_us() };
	l->wake.fd = l->epoll_fd = -1;
	ring_init(&l->tasks);
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->news, &attr);
	pthread_cond_init(&l->seat, &attr);
	pthread_cond_init(&l->lend, &attr);
	pthread_condattr_destroy(&attr);
	r = loop_make_descriptors(l);
	if (r < 0)
		err_set(e, r, "cannot make descriptors to wait for events: %s%s", strerror(-r),
			err_next(r));
	loop_lock(l); /* the thread must find its own name in l->thread */
	if (r == 0) {
		r = thread_start(&l->thread, THREAD_OURS, "killick", loop_thread, l);
		if (r < 0)
			err_set(e, r, "cannot start a thread");
	}
	loop_unlock(l);
	if (r < 0) {
		destroy(l);
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
		pthread_join(l->thread, NULL);
	loop_lock(l);
	loop_watch_stop(l, &l->wake);
	loop_timer_stop(l, &l->late);
	loop_timer_stop(l, &l->lost);
	assert(l->heap_count == 0 && ring_is_empty(&l->tasks) && !l->driven);
	loop_unlock(l);
	destroy(l);
}
