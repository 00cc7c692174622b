/* workers.c - see workers.h */
#include "base/workers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "os/event.h"
#include "os/own.h"
#include "os/thread.h"
#include "os/threadfiles.h"
#include "os/time.h"

#define LINGER_US 2000000 /* how long an idle thread waits for work */

/* Shared by the threads and the loop. Freed when both are done, because a thread that hangs may
 * return at any time. */
struct pool {
	struct mutex lock;
	struct cond work;
	struct work *first, **last; /* work that was not begun */
	struct work *running, *done;
	int event;   /* -1: there is none, because the host has closed it */
	bool closed; /* workers_free was called */
	unsigned threads, idle, max;
	unsigned queued; /* works in `first` */
};

struct workers {
	struct loop *loop;
	struct pool *pool;
	struct loop_watch watch;
	unsigned tried;   /* work of workers_try that is under way */
	struct ring hung; /* work that was given up while a thread runs it */
};

/* --- threads --- */

static void pool_free(struct pool *p)
{
	mutex_done(&p->lock);
	cond_done(&p->work);
	free(p);
}

/* Called with the pool's lock. Remove the work from the list, if it is there. */
static bool pool_remove(struct work **list, const struct work *w)
{
	while (*list && *list != w)
		list = &(*list)->next;
	if (*list != w)
		return false;
	*list = w->next;
	return true;
}

/* Called with the pool's lock. Take back work that no thread has begun. */
static bool pool_dequeue(struct pool *p, const struct work *w)
{
	if (!pool_remove(&p->first, w))
		return false;
	p->queued--;
	for (p->last = &p->first; *p->last;)
		p->last = &(*p->last)->next;
	return true;
}

/* Called with the pool's lock. The first work whose owner may have one more thread. */
static struct work *pool_begin(struct pool *p)
{
	for (struct work *w = p->first; w; w = w->next) {
		unsigned busy = 0;

		for (const struct work *r = p->running; r && w->owner; r = r->next)
			busy += r->owner == w->owner;
		if (busy < WORKERS_PER_OWNER) {
			pool_dequeue(p, w);
			w->next = p->running;
			p->running = w;
			return w;
		}
	}
	return NULL;
}

/* Called with the pool's lock. Returns the next work, or NULL when there was none for LINGER_US. */
static struct work *pool_next(struct pool *p)
{
	int64_t until_us = time_now_us() + LINGER_US;
	struct work *w;
	bool in_time = true;

	p->idle++;
	while ((w = pool_begin(p)) == NULL && !p->closed && in_time)
		in_time = cond_wait_until(&p->work, &p->lock, until_us);
	p->idle--;
	return w;
}

/* Called with the pool's lock. `event` is the descriptor that this thread has kept; the host may
 * have closed that of the process. */
static void pool_hand_back(struct pool *p, struct work *w, int event)
{
	bool found = pool_remove(&p->running, w);

	assert(found);
	if (p->closed) {
		w->drop(w);
		return;
	}
	w->next = p->done;
	p->done = w;
	event_set(event);
}

static void *pool_run(void *arg)
{
	struct pool *p = arg;
	struct work *w;
	bool last;
	int keep;

	mutex_lock(&p->lock);
	keep = p->event;
	if (!p->closed && keep >= 0) /* with the lock, so that the number stays valid */
		threadfiles_keep_only(keep);
	while ((w = pool_next(p)) != NULL) {
		mutex_unlock(&p->lock);
		w->run(w);
		mutex_lock(&p->lock);
		pool_hand_back(p, w, keep);
	}
	assert(p->threads > 0 && p->idle < p->threads);
	p->threads--;
	last = p->closed && p->threads == 0;
	mutex_unlock(&p->lock);
	if (last)
		pool_free(p);
	return NULL;
}

static int pool_start_thread(struct pool *p)
{
	struct thread thread;
	int r = thread_start(&thread, THREAD_SMALL, "killick-worker", pool_run, p);

	if (r == -EINVAL) /* the thread-local variables of a host need a larger stack */
		r = thread_start(&thread, THREAD_OURS, "killick-worker", pool_run, p);
	if (r == 0)
		thread_detach(&thread);
	return r;
}

/* --- the loop's side --- */

void workers_add(struct workers *workers, struct work *w)
{
	struct pool *p = workers->pool;

	assert(w->run && w->done && w->drop);
	mutex_lock(&p->lock);
	assert(!p->closed && p->threads <= p->max);
	w->next = NULL;
	*p->last = w;
	p->last = &w->next;
	/* work that was added before may hang and keep the idle threads */
	if (p->queued++ >= p->idle && p->threads < p->max && pool_start_thread(p) == 0)
		p->threads++;
	else
		cond_signal(&p->work);
	mutex_unlock(&p->lock);
}

bool workers_cancel(struct workers *workers, struct work *w)
{
	struct pool *p = workers->pool;
	bool found;

	assert(w);
	mutex_lock(&p->lock);
	found = pool_dequeue(p, w);
	mutex_unlock(&p->lock);
	return found;
}

void workers_abandon(struct work *w)
{
	struct workers *workers = w->workers;
	struct pool *p = workers->pool;
	bool ours;

	assert(workers->tried > 0);
	workers->tried--;
	loop_timer_stop(workers->loop, &w->timer);
	mutex_lock(&p->lock);
	ours = pool_dequeue(p, w) || pool_remove(&p->done, w);
	if (!ours) {
		w->given_up = true;
		ring_add(&workers->hung, &w->in_hung);
	}
	mutex_unlock(&p->lock);
	if (ours)
		w->drop(w);
}

static void workers_on_late(struct loop_timer *t)
{
	struct work *w = CONTAINER_OF(t, struct work, timer);
	struct pool *p = w->workers->pool;
	bool done;

	mutex_lock(&p->lock);
	done = pool_remove(&p->done, w);
	mutex_unlock(&p->lock);
	if (done) {
		w->workers->tried--;
		w->done(w);
		return;
	}
	w->late(w);
	workers_abandon(w);
}

struct work *workers_try(struct workers *workers, struct work *w)
{
	assert(w->late && w->about);
	RING_EACH(r, &workers->hung) {
		struct work *earlier = CONTAINER_OF(r, struct work, in_hung);

		/* one that was abandoned may be done soon */
		if (earlier->run == w->run &&
		    loop_now_us() - earlier->began_us >= WORKERS_TRY_MS * 1000 &&
		    strcmp(earlier->about, w->about) == 0)
			return earlier;
	}
	w->workers = workers;
	w->began_us = loop_now_us();
	w->timer = (struct loop_timer){ .slot = 0 };
	w->given_up = false;
	workers->tried++;
	loop_timer_set(workers->loop, &w->timer, WORKERS_TRY_MS, workers_on_late);
	workers_add(workers, w);
	return NULL;
}

static void workers_on_done(struct loop_watch *watch, uint32_t events);

/* The host has closed the descriptor. Threads that run set the old one: then the result of
 * workers_try is fetched when its time is over. */
static void workers_renew(struct workers *w)
{
	int fd = event_open();

	loop_watch_stop(w->loop, &w->watch);
	if (fd >= 0 && loop_watch(w->loop, &w->watch, fd, POLLER_IN, workers_on_done) < 0)
		fd_drop(&fd);
	mutex_lock(&w->pool->lock);
	w->pool->event = fd < 0 ? -1 : fd;
	mutex_unlock(&w->pool->lock);
}

/* The thread is done with the work. */
static void workers_return(struct workers *workers, struct work *w)
{
	if (w->given_up) {
		ring_remove(&w->in_hung);
		w->drop(w);
		return;
	}
	if (w->workers) {
		workers->tried--;
		loop_timer_stop(workers->loop, &w->timer);
	}
	w->done(w);
}

static void workers_on_done(struct loop_watch *watch, uint32_t events)
{
	struct workers *workers = CONTAINER_OF(watch, struct workers, watch);
	struct pool *p = workers->pool;
	struct work *w;

	(void)events;
	if (!loop_watch_is_ours(watch))
		workers_renew(workers);
	else if (event_clear(watch->fd) < 0)
		return;
	/* one by one: `done` may abandon other work of the list */
	do {
		mutex_lock(&p->lock);
		w = p->done;
		if (w)
			p->done = w->next;
		mutex_unlock(&p->lock);
		if (w)
			workers_return(workers, w);
	} while (w);
}

int workers_new(struct loop *loop, unsigned threads, struct workers **out, struct err *e)
{
	struct workers *w = mem_grow(NULL, 1, sizeof(*w));
	struct pool *p = mem_grow(NULL, 1, sizeof(*p));
	int fd = event_open(), r;

	*p = (struct pool){ .event = fd, .max = threads };
	p->last = &p->first;
	mutex_init(&p->lock);
	cond_init(&p->work);
	*w = (struct workers){ .loop = loop, .pool = p };
	ring_init(&w->hung);
	r = fd < 0 ? fd : loop_watch(loop, &w->watch, fd, POLLER_IN, workers_on_done);
	if (r < 0) {
		fd_drop(&fd);
		pool_free(p);
		free(w);
		return err_set(e, r, "cannot make a descriptor for threads: %s%s", strerror(-r),
			       err_next(r));
	}
	*out = w;
	return 0;
}

static void drop_all(struct work *w)
{
	for (struct work *next; w; w = next) {
		next = w->next;
		w->drop(w);
	}
}

void workers_free(struct workers *w)
{
	struct pool *p = w->pool;
	struct work *first, *done;
	struct own id = w->watch.id;
	bool last;

	assert(w->tried == 0);
	if (w->watch.fd >= 0)
		loop_watch_stop(w->loop, &w->watch);
	mutex_lock(&p->lock);
	own_drop(&id, &p->event);
	p->closed = true;
	first = p->first;
	done = p->done;
	p->first = p->done = NULL;
	p->last = &p->first;
	last = p->threads == 0;
	cond_broadcast(&p->work);
	mutex_unlock(&p->lock);
	drop_all(first);
	drop_all(done);
	if (last)
		pool_free(p);
	free(w);
}
