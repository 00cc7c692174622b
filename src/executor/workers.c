/* workers.c - see workers.h */
#include "executor/workers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "os/event.h"
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
	struct work *done;
	int event; /* -1: workers_free was called */
	unsigned threads, idle, max;
};

struct workers {
	struct loop *loop;
	struct pool *pool;
	struct loop_watch watch;
};

/* --- threads --- */

static void pool_free(struct pool *p)
{
	mutex_done(&p->lock);
	cond_done(&p->work);
	free(p);
}

/* Called with the pool's lock. Returns the next work, or NULL when there was none for LINGER_US. */
static struct work *pool_next(struct pool *p)
{
	int64_t until_us = time_now_us() + LINGER_US;
	struct work *w;
	bool in_time = true;

	p->idle++;
	while (!p->first && p->event >= 0 && in_time)
		in_time = cond_wait_until(&p->work, &p->lock, until_us);
	p->idle--;
	w = p->first;
	if (w) {
		p->first = w->next;
		if (!p->first)
			p->last = &p->first;
	}
	return w;
}

/* Called with the pool's lock. */
static void pool_hand_back(struct pool *p, struct work *w)
{
	int r;

	if (p->event < 0) {
		w->drop(w);
		return;
	}
	w->next = p->done;
	p->done = w;
	r = event_set(p->event);
	assert(r == 0);
}

static void *pool_run(void *arg)
{
	struct pool *p = arg;
	struct work *w;
	bool last;
	int keep;

	mutex_lock(&p->lock);
	keep = p->event;
	if (keep >= 0) /* with the lock, so that the number stays valid */
		threadfiles_keep_only(keep);
	while ((w = pool_next(p)) != NULL) {
		mutex_unlock(&p->lock);
		w->run(w);
		mutex_lock(&p->lock);
		pool_hand_back(p, w);
	}
	assert(p->threads > 0 && p->idle < p->threads);
	p->threads--;
	last = p->event < 0 && p->threads == 0;
	mutex_unlock(&p->lock);
	if (last)
		pool_free(p);
	return NULL;
}

static int pool_start_thread(struct pool *p)
{
	struct thread thread;
	int r = thread_start(&thread, THREAD_SMALL, "killick-worker", pool_run, p);

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
	assert(p->event >= 0 && p->threads <= p->max);
	w->next = NULL;
	*p->last = w;
	p->last = &w->next;
	if (p->idle)
		cond_signal(&p->work);
	else if (p->threads < p->max && pool_start_thread(p) == 0)
		p->threads++;
	mutex_unlock(&p->lock);
}

bool workers_cancel(struct workers *workers, struct work *w)
{
	struct pool *p = workers->pool;
	struct work **at;
	bool found;

	assert(w);
	mutex_lock(&p->lock);
	for (at = &p->first; *at && *at != w;)
		at = &(*at)->next;
	found = *at == w;
	if (found) {
		*at = w->next;
		if (!*at)
			p->last = at;
	}
	mutex_unlock(&p->lock);
	return found;
}

static void workers_on_done(struct loop_watch *watch, uint32_t events)
{
	struct workers *workers = CONTAINER_OF(watch, struct workers, watch);
	struct work *w, *next;

	(void)events;
	if (event_clear(watch->fd) < 0)
		return;
	mutex_lock(&workers->pool->lock);
	w = workers->pool->done;
	workers->pool->done = NULL;
	mutex_unlock(&workers->pool->lock);
	for (; w; w = next) {
		next = w->next;
		w->done(w);
	}
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
	bool last;

	loop_watch_stop(w->loop, &w->watch);
	mutex_lock(&p->lock);
	fd_close(p->event);
	p->event = -1;
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
