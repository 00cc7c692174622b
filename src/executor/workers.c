/* workers.c - see workers.h */
#include "executor/workers.h"

#include <assert.h>
#include <errno.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"

#define LINGER_S   2 /* how long an idle thread waits for work */
#define STACK_SIZE (128 << 10)

/* Shared by the threads and the loop. Freed when both are done, because a thread that hangs may
 * return at any time. */
struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct work *first, **last; /* work that was not begun */
	struct work *done;
	int event_fd; /* -1: workers_free was called */
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
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->work);
	free(p);
}

/* Called with the pool's lock. Returns the next work, or NULL when there was none for LINGER_S. */
static struct work *pool_next(struct pool *p)
{
	struct timespec until;
	struct work *w;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += LINGER_S;
	p->idle++;
	while (!p->first && p->event_fd >= 0 && r == 0)
		r = pthread_cond_timedwait(&p->work, &p->lock, &until);
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
	uint64_t one = 1;

	if (p->event_fd < 0) {
		w->drop(w);
		return;
	}
	w->next = p->done;
	p->done = w;
	if (write(p->event_fd, &one, sizeof(one)) < 0)
		assert(errno == EAGAIN || errno == EINTR);
}

/* A thread that hangs in the kernel cannot be killed. It would keep every descriptor of a killed
 * executor open, and the keepers would wait for sockets that never hang up. So each thread has its
 * own descriptor table, with stdio and the one descriptor that it needs. Before Linux 5.9 that is
 * not possible, and the threads share our table. */
static void pool_let_go_of_files(int keep)
{
	const unsigned first = 3, kept = (unsigned)keep;

	if (kept < first)
		return;
	if (close_range(kept + 1, ~0u, CLOSE_RANGE_UNSHARE) == 0 && kept > first)
		close_range(first, kept - 1, 0);
}

static void *pool_run(void *arg)
{
	struct pool *p = arg;
	struct work *w;
	bool last;
	int keep;

	pthread_mutex_lock(&p->lock);
	keep = p->event_fd;
	if (keep >= 0) /* with the lock, so that the number stays valid */
		pool_let_go_of_files(keep);
	while ((w = pool_next(p)) != NULL) {
		pthread_mutex_unlock(&p->lock);
		w->run(w);
		pthread_mutex_lock(&p->lock);
		pool_hand_back(p, w);
	}
	assert(p->threads > 0 && p->idle < p->threads);
	p->threads--;
	last = p->event_fd < 0 && p->threads == 0;
	pthread_mutex_unlock(&p->lock);
	if (last)
		pool_free(p);
	return NULL;
}

static int pool_start_thread(struct pool *p)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, &attr, pool_run, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return r;
}

/* --- the loop's side --- */

void workers_add(struct workers *workers, struct work *w)
{
	struct pool *p = workers->pool;

	assert(w->run && w->done && w->drop);
	pthread_mutex_lock(&p->lock);
	assert(p->event_fd >= 0 && p->threads <= p->max);
	w->next = NULL;
	*p->last = w;
	p->last = &w->next;
	if (p->idle)
		pthread_cond_signal(&p->work);
	else if (p->threads < p->max && pool_start_thread(p) == 0)
		p->threads++;
	pthread_mutex_unlock(&p->lock);
}

bool workers_cancel(struct workers *workers, struct work *w)
{
	struct pool *p = workers->pool;
	struct work **at;
	bool found;

	assert(w);
	pthread_mutex_lock(&p->lock);
	for (at = &p->first; *at && *at != w;)
		at = &(*at)->next;
	found = *at == w;
	if (found) {
		*at = w->next;
		if (!*at)
			p->last = at;
	}
	pthread_mutex_unlock(&p->lock);
	return found;
}

static void workers_on_done(struct loop_watch *watch, uint32_t events)
{
	struct workers *workers = CONTAINER_OF(watch, struct workers, watch);
	struct work *w, *next;
	uint64_t count;

	(void)events;
	if (read(watch->fd, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&workers->pool->lock);
	w = workers->pool->done;
	workers->pool->done = NULL;
	pthread_mutex_unlock(&workers->pool->lock);
	for (; w; w = next) {
		next = w->next;
		w->done(w);
	}
}

int workers_new(struct loop *loop, unsigned threads, struct workers **out, struct err *e)
{
	struct workers *w = mem_grow(NULL, 1, sizeof(*w));
	struct pool *p = mem_grow(NULL, 1, sizeof(*p));
	pthread_condattr_t attr;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), r;

	*p = (struct pool){ .event_fd = fd, .max = threads };
	p->last = &p->first;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->work, &attr);
	pthread_condattr_destroy(&attr);
	*w = (struct workers){ .loop = loop, .pool = p };
	r = fd < 0 ? -errno : loop_watch(loop, &w->watch, fd, EPOLLIN, workers_on_done);
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
	pthread_mutex_lock(&p->lock);
	close(p->event_fd);
	p->event_fd = -1;
	first = p->first;
	done = p->done;
	p->first = p->done = NULL;
	p->last = &p->first;
	last = p->threads == 0;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	drop_all(first);
	drop_all(done);
	if (last)
		pool_free(p);
	free(w);
}
