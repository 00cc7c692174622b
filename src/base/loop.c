/* loop.c - see loop.h */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/mem.h"
#include "base/thread.h"

#define AWAKE_US 50  /* an eager loop waits so long without sleeping, */
#define SOON_US  200 /* if its last wait was shorter than this */
#define BATCH    64
#define NEVER    INT64_MAX
#define TICK_US                                                                                    \
	10000 /* how long the thread stands aside for one that waits, before it looks again */
#define SCRATCH (256 << 10)

/* epoll gives back what was registered, perhaps after another thread has stopped and freed the
 * watch. So what is registered is no pointer but a place in a table and how often the place was
 * used. */
struct slot {
	struct loop_watch *watch; /* NULL: free */
	uint32_t uses;
};

struct loop {
	pthread_mutex_t lock;
	pthread_t thread;
	int epoll_fd; /* -1: it was closed by the host, and there are no descriptors for another */
	struct bell bell; /* gets the driver out of epoll_wait */
	struct loop_watch wake;
	uint64_t generation; /* of these descriptors */
	uint32_t cookie;     /* in the events of our epoll, not in those of the host's */
	unsigned strays;     /* threads that wait in an epoll that is no more */
	bool repairing;
	bool unmanned;          /* our own thread was one, and could not be replaced yet */
	struct loop_timer lost; /* watches are to be told of it */
	bool stop;
	bool driven;         /* a thread is in turn() */
	bool guest;          /* with driven: it is not our own, */
	bool lent;           /* but one that makes room for others: see loop_lend */
	bool turn_due;       /* our thread is to call on_turn */
	unsigned waiters;    /* threads in loop_wait that do not drive */
	uint64_t visits;     /* turns by guests in loop_wait */
	uint64_t lends;      /* and by the one in loop_lend */
	pthread_cond_t news; /* for waiters: somebody turned, or left the seat */
	pthread_cond_t seat; /* for our thread while it stands aside */
	pthread_cond_t lend; /* for the one in loop_lend while it does */
	bool lend_asleep;    /* it waits there */
	const struct loop_lender *lender;
	int64_t sleep_until; /* while the driver waits: when it wakes by itself; else 0 */
	int64_t seat_until;  /* while our thread stands aside: the same; else 0 */
	bool away;           /* and it comes back only when it is told to */
	bool attend;         /* somebody expects it back */
	struct slot *slots;
	uint32_t slot_count;
	uint32_t free_hint;              /* no free slot below it */
	struct epoll_event batch[BATCH]; /* the driver's */
	struct ring tasks;
	bool batching; /* the tasks of this thread wait for the end of its batch, */
	pthread_t batcher;
	int64_t batch_us;         /* which began then, */
	struct loop_timer late;   /* or for this */
	bool eager;               /* see loop_eager */
	bool soon;                /* what it last waited for came soon */
	int64_t reading_us;       /* see loop_read_clock */
	struct loop_timer **heap; /* [1] is due first */
	size_t heap_count, heap_room;
	void (*on_turn)(void *ctx);
	void *ctx;
	char scratch[SCRATCH];
};

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

static void loop_repair(struct loop *l);

/* Get the driver out of epoll_wait. */
static void kick(struct loop *l)
{
	if (!bell_ring(&l->bell))
		loop_repair(l);
}

void loop_wake(struct loop *l)
{
	l->turn_due = true;
	pthread_cond_signal(&l->seat);
	if (l->driven && !l->guest)
		kick(l);
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
		kick(l);
}

void loop_call_back(struct loop *l)
{
	if (l->lent && l->sleep_until)
		kick(l);
	else if (l->lend_asleep)
		pthread_cond_signal(&l->lend);
}

/* --- timers: a binary heap whose members know their place --- */

static void heap_put(struct loop *l, size_t slot, struct loop_timer *t)
{
	l->heap[slot] = t;
	t->slot = slot;
}

static void heap_up(struct loop *l, size_t slot, struct loop_timer *t)
{
	for (; slot > 1 && l->heap[slot / 2]->due_us > t->due_us; slot /= 2)
		heap_put(l, slot, l->heap[slot / 2]);
	heap_put(l, slot, t);
}

static void heap_down(struct loop *l, size_t slot, struct loop_timer *t)
{
	size_t child;

	while ((child = 2 * slot) <= l->heap_count) {
		if (child < l->heap_count && l->heap[child + 1]->due_us < l->heap[child]->due_us)
			child++;
		if (l->heap[child]->due_us >= t->due_us)
			break;
		heap_put(l, slot, l->heap[child]);
		slot = child;
	}
	heap_put(l, slot, t);
}

void loop_timer_stop(struct loop *l, struct loop_timer *t)
{
	struct loop_timer *last;
	size_t slot = t->slot;

	if (!slot)
		return;
	assert(l->heap[slot] == t);
	last = l->heap[l->heap_count--];
	t->slot = 0;
	if (last == t)
		return;
	if (slot > 1 && l->heap[slot / 2]->due_us > last->due_us)
		heap_up(l, slot, last);
	else
		heap_down(l, slot, last);
}

void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t delay_ms,
		    void (*on_time)(struct loop_timer *t))
{
	assert(delay_ms >= 0);
	loop_timer_stop(l, t);
	if (l->heap_count + 2 > l->heap_room) {
		l->heap_room = l->heap_room ? 2 * l->heap_room : 16;
		l->heap = mem_grow(l->heap, l->heap_room, sizeof(*l->heap));
	}
	t->on_time = on_time;
	t->due_us = loop_now_us() + delay_ms * 1000;
	heap_up(l, ++l->heap_count, t);
	if (!l->guest && t->due_us < l->sleep_until)
		kick(l);
	else if (t->due_us < l->seat_until)
		pthread_cond_signal(&l->seat);
}

/* True: one was due. */
static bool run_timers(struct loop *l)
{
	int64_t now;
	bool any = false;

	if (!l->heap_count)
		return false;
	now = loop_now_us();
	while (l->heap_count && l->heap[1]->due_us <= now) {
		struct loop_timer *t = l->heap[1];

		loop_timer_stop(l, t);
		t->on_time(t);
		any = true;
	}
	return any;
}

/* --- tasks --- */

bool loop_later(struct loop *l, struct loop_task *t, void (*fn)(struct loop_task *t))
{
	if (!loop_is_mine(l) && !(l->batching && pthread_equal(l->batcher, pthread_self())))
		return false;
	if (ring_is_in(&t->in_loop))
		return true;
	t->fn = fn;
	ring_add(&l->tasks, &t->in_loop);
	return true;
}

void loop_task_stop(struct loop_task *t)
{
	ring_remove(&t->in_loop);
}

static void run_tasks(struct loop *l)
{
	struct ring *first;

	while ((first = ring_first(&l->tasks)) != NULL) {
		struct loop_task *t = RING_OF(first, struct loop_task, in_loop);

		loop_task_stop(t);
		t->fn(t);
	}
}

/* The timer is left alone when a batch ends in time: to set it anew for each batch would wake our
 * thread each time. Tasks are run after timers. */
static void on_batch_late(struct loop_timer *t)
{
	struct loop *l = RING_OF(t, struct loop, late);

	if (l->batching && l->batch_us + LOOP_BATCH_MS * 1000 > loop_now_us())
		loop_timer_set(l, t, LOOP_BATCH_MS, on_batch_late);
	else
		l->batching = false;
}

void loop_batch_begin(struct loop *l)
{
	assert(!l->batching);
	l->batching = true;
	l->batcher = pthread_self();
	l->batch_us = loop_now_us();
	if (!l->late.slot)
		loop_timer_set(l, &l->late, LOOP_BATCH_MS, on_batch_late);
}

void loop_batch_end(struct loop *l)
{
	l->batching = false;
	run_tasks(l);
}

/* --- watches --- */

static uint32_t find_slot(struct loop *l)
{
	uint32_t i = l->free_hint;

	while (i < l->slot_count && l->slots[i].watch)
		i++;
	if (i == l->slot_count) {
		l->slot_count = l->slot_count ? 2 * l->slot_count : 16;
		l->slots = mem_grow(l->slots, l->slot_count, sizeof(*l->slots));
		for (uint32_t k = i; k < l->slot_count; k++)
			l->slots[k] = (struct slot){ .uses = l->cookie };
	}
	l->free_hint = i + 1;
	return i;
}

static int control(struct loop *l, int op, struct loop_watch *w)
{
	struct epoll_event ev = { .events = w->events };

	ev.data.u64 = (uint64_t)l->slots[w->slot].uses << 32 | w->slot;
	return epoll_ctl(l->epoll_fd, op, w->fd, &ev) < 0 ? -errno : 0;
}

static void release_slot(struct loop *l, uint32_t slot)
{
	l->slots[slot].watch = NULL;
	l->slots[slot].uses++;
	if (slot < l->free_hint)
		l->free_hint = slot;
}

int loop_watch(struct loop *l, struct loop_watch *w, int fd, uint32_t events,
	       void (*on_ready)(struct loop_watch *w, uint32_t events))
{
	int r;

	assert(fd >= 0 && events);
	*w = (struct loop_watch){ .fd = fd,
				  .events = events,
				  .slot = find_slot(l),
				  .on_ready = on_ready,
				  .id = own_of(fd) };
	l->slots[w->slot].watch = w;
	r = control(l, EPOLL_CTL_ADD, w);
	if (r < 0) {
		release_slot(l, w->slot);
		w->fd = -1;
	}
	return r;
}

int loop_watch_change(struct loop *l, struct loop_watch *w, uint32_t events)
{
	assert(w->fd >= 0 && events && l->slots[w->slot].watch == w);
	if (w->events == events)
		return 0;
	w->events = events;
	return control(l, EPOLL_CTL_MOD, w);
}

void loop_watch_stop(struct loop *l, struct loop_watch *w)
{
	if (w->fd < 0)
		return;
	assert(l->slots[w->slot].watch == w);
	control(l, EPOLL_CTL_DEL, w);
	release_slot(l, w->slot);
	w->fd = -1;
}

/* False: it is of a watch that was stopped, or not from our epoll. */
static bool run_watch(struct loop *l, const struct epoll_event *ev)
{
	uint32_t slot = (uint32_t)ev->data.u64, uses = (uint32_t)(ev->data.u64 >> 32);
	struct loop_watch *w = slot < l->slot_count ? l->slots[slot].watch : NULL;

	if (!w || l->slots[slot].uses != uses)
		return false;
	w->on_ready(w, ev->events);
	return true;
}

static void on_woken(struct loop_watch *w, uint32_t events)
{
	(void)events;
	bell_hush(&RING_OF(w, struct loop, wake)->bell);
}

/* --- descriptors that the host has closed --- */

static void on_lost(struct loop_timer *t)
{
	struct loop *l = RING_OF(t, struct loop, lost);

	for (uint32_t i = 0; i < l->slot_count; i++) {
		struct loop_watch *w = l->slots[i].watch;

		if (!w || !w->lost)
			continue;
		w->lost = false;
		w->on_ready(w, EPOLLERR | EPOLLHUP);
	}
}

static void watch_anew(struct loop *l, struct loop_watch *w)
{
	w->lost = !loop_watch_is_ours(w) || control(l, EPOLL_CTL_ADD, w) < 0;
	if (w->lost && !l->lost.slot)
		loop_timer_set(l, &l->lost, 0, on_lost);
}

/* Make the loop's own descriptors. 0 or -errno. */
static int make_descriptors(struct loop *l)
{
	int r = bell_init(&l->bell);

	if (r < 0)
		return r;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	r = l->epoll_fd < 0 ? -errno : 0;
	if (r == 0)
		r = loop_watch(l, &l->wake, l->bell.out, EPOLLIN, on_woken);
	if (r == 0)
		return 0;
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	l->epoll_fd = -1;
	bell_done(&l->bell);
	return r;
}

static void *run(void *arg);

static void man(struct loop *l)
{
	if (l->unmanned)
		l->unmanned = thread_start(&l->thread, THREAD_OURS, "killick", run, l) < 0;
}

/* The driver waits in an epoll that we cannot reach any more. */
static void leave_driver(struct loop *l)
{
	bool own = !l->guest, lent = l->lent;

	l->driven = l->guest = l->lent = false;
	l->sleep_until = 0;
	l->strays++;
	if (own) {
		pthread_detach(l->thread);
		l->unmanned = true;
	} else if (lent) {
		l->lender->on_lost(l->lender->ctx);
	}
}

static bool is_whole(struct loop *l)
{
	/* whoever watches our bell is our epoll */
	return l->epoll_fd >= 0 && bell_is_ours(&l->bell) &&
	       control(l, EPOLL_CTL_MOD, &l->wake) == 0;
}

/* The old epoll is not closed: whether its number is still ours cannot be told. */
static void loop_repair(struct loop *l)
{
	if (l->repairing)
		return;
	l->repairing = true;
	l->generation++;
	if (l->wake.fd >= 0)
		release_slot(l, l->wake.slot);
	l->wake.fd = -1;
	bell_done(&l->bell);
	l->epoll_fd = -1;
	if (l->driven && l->sleep_until)
		leave_driver(l);
	if (make_descriptors(l) == 0)
		for (uint32_t i = 0; i < l->slot_count; i++)
			if (l->slots[i].watch && l->slots[i].watch != &l->wake)
				watch_anew(l, l->slots[i].watch);
	man(l);
	pthread_cond_broadcast(&l->news);
	l->repairing = false;
}

void loop_check(struct loop *l)
{
	if (!is_whole(l))
		loop_repair(l);
}

unsigned loop_strays(const struct loop *l)
{
	return l->strays;
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

static int64_t first_timer(const struct loop *l)
{
	return l->heap_count ? l->heap[1]->due_us : NEVER;
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
static void turn_without_descriptors(struct loop *l, int64_t until)
{
	int64_t soon = loop_now_us() + TICK_US;

	loop_repair(l);
	if (l->epoll_fd < 0)
		sleep_on(l, &l->news, until < soon ? until : soon);
	run_timers(l);
	run_tasks(l);
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
		turn_without_descriptors(l, until);
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
		foreign |= !run_watch(l, &l->batch[i]);
	if (foreign || (n == 0 && !guest))
		loop_check(l);
	run_timers(l);
	run_tasks(l);
	l->driven = l->guest = l->lent = false;
	if (l->waiters)
		pthread_cond_broadcast(&l->news);
	return true;
}

static void wait_for_driver(struct loop *l, int64_t until)
{
	if ((!l->guest || l->lent) && l->sleep_until)
		kick(l); /* our own thread, or one that is lent to us: they make room */
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

/* Guests read their own answers. As long as they come and go we look every TICK whether they still
 * do; when one stays, we leave it alone: our own thread takes over from it. */
static void lend_aside(struct loop *l, bool stays)
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
			lend_aside(l, guest && same);
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
	l->seat_until = first_timer(l);
	if (!stays && l->seat_until > loop_now_us() + TICK_US)
		l->seat_until = loop_now_us() + TICK_US;
	sleep_on(l, &l->seat, l->seat_until);
	l->seat_until = 0;
	l->away = false;
	if (run_timers(l)) {
		run_tasks(l);
		l->turn_due = true;
		loop_notify(l);
	}
}

static void *run(void *arg)
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
			run_tasks(l);
		} else if (l->driven || !same) {
			stand_aside(l, l->driven && same);
		} else {
			replaced = !turn(l, first_timer(l), false);
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
	if (l->strays) /* should one of them ever wake, it looks here */
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
	r = make_descriptors(l);
	if (r < 0)
		err_set(e, r, "cannot wait for events (epoll, pipe)");
	loop_lock(l); /* the thread must find its own name in l->thread */
	if (r == 0) {
		r = thread_start(&l->thread, THREAD_OURS, "killick", run, l);
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
