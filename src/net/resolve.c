/* resolve.c - see resolve.h
 *
 * The thread and the caller share one job, which has its own lock; the last of them to finish frees
 * the job. The eventfd that wakes the loop belongs to the caller: the thread writes to it only
 * while the caller wants the result.
 */
#include "net/resolve.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"

struct resolve {
	pthread_mutex_t lock;
	bool asked;    /* the result is wanted */
	bool answered; /* the thread has ended */
	char host[256];
	unsigned port;
	struct lookup found;
	/* the caller's */
	struct loop *loop;
	struct loop_watch news; /* of an eventfd */
	resolve_fn done;
	void *ctx;
};

static void resolve_destroy(struct resolve *r)
{
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static void *resolve_run(void *arg)
{
	struct resolve *r = arg;
	uint64_t one = 1;
	bool asked;

	lookup_host(r->host, r->port, &r->found);
	pthread_mutex_lock(&r->lock);
	r->answered = true;
	asked = r->asked;
	if (asked)
		(void)!write(r->news.fd, &one, sizeof(one));
	pthread_mutex_unlock(&r->lock);
	if (!asked)
		resolve_destroy(r);
	return NULL;
}

/* The caller no longer wants the result. */
static void resolve_let_go(struct resolve *r)
{
	int fd = r->news.fd;
	bool answered;

	pthread_mutex_lock(&r->lock);
	r->asked = false;
	answered = r->answered;
	pthread_mutex_unlock(&r->lock);
	loop_watch_stop(r->loop, &r->news);
	close(fd);
	if (answered)
		resolve_destroy(r);
}

static void resolve_on_news(struct loop_watch *w, uint32_t events)
{
	struct resolve *r = CONTAINER_OF(w, struct resolve, news);
	resolve_fn done = r->done;
	struct lookup found;
	void *ctx = r->ctx;

	(void)events;
	pthread_mutex_lock(&r->lock);
	assert(r->answered);
	found = r->found;
	pthread_mutex_unlock(&r->lock);
	resolve_let_go(r);
	done(ctx, found.list, found.count, &found.why);
}

/* Signals are handled by the threads of the host. */
static int start_thread(struct resolve *r)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attr, resolve_run, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -error;
}

int resolve_begin(struct loop *loop, const char *host, unsigned port, resolve_fn done, void *ctx,
		  struct resolve **out, struct err *e)
{
	struct resolve *r = mem_grow(NULL, 1, sizeof(*r));
	int fd, error = 0;

	assert(strlen(host) < sizeof(r->host));
	*r = (struct resolve){
		.asked = true, .port = port, .loop = loop, .news.fd = -1, .done = done, .ctx = ctx
	};
	pthread_mutex_init(&r->lock, NULL);
	snprintf(r->host, sizeof(r->host), "%s", host);
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		error = -errno;
	if (error == 0)
		error = loop_watch(loop, &r->news, fd, EPOLLIN, resolve_on_news);
	if (error == 0)
		error = start_thread(r);
	if (error < 0) {
		loop_watch_stop(loop, &r->news);
		if (fd >= 0)
			close(fd);
		resolve_destroy(r);
		return err_set(e, error, "cannot look up the host '%s': %s", host,
			       strerror(-error));
	}
	*out = r;
	return 0;
}

void resolve_cancel(struct resolve *r)
{
	if (r)
		resolve_let_go(r);
}
