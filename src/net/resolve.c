/* resolve.c - see resolve.h
 *
 * The thread and the caller share one job, which has its own lock; the last of them to finish frees
 * the job. The event that wakes the loop belongs to the caller: the thread sets it only
 * while the caller wants the result.
 */
#include "net/resolve.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "os/event.h"
#include "os/thread.h"

struct resolve {
	struct mutex lock;
	bool asked;    /* the result is wanted */
	bool answered; /* the thread has ended */
	char host[256];
	unsigned port;
	struct lookup found;
	/* the caller's */
	struct loop *loop;
	struct loop_watch news; /* of an event */
	resolve_fn done;
	void *ctx;
};

static void resolve_destroy(struct resolve *r)
{
	mutex_done(&r->lock);
	free(r);
}

static void *resolve_run(void *arg)
{
	struct resolve *r = arg;
	bool asked;

	lookup_host(r->host, r->port, &r->found);
	mutex_lock(&r->lock);
	r->answered = true;
	asked = r->asked;
	if (asked)
		event_set(r->news.fd); /* fails if the host has closed it */
	mutex_unlock(&r->lock);
	if (!asked)
		resolve_destroy(r);
	return NULL;
}

/* The caller no longer wants the result. A thread that has not answered may free the job as soon as
 * the lock is released. */
static void resolve_let_go(struct resolve *r)
{
	int fd = r->news.fd;
	bool answered;

	mutex_lock(&r->lock);
	loop_watch_stop(r->loop, &r->news);
	r->asked = false;
	answered = r->answered;
	mutex_unlock(&r->lock);
	fd_close(fd);
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
	mutex_lock(&r->lock);
	assert(r->answered);
	found = r->found;
	mutex_unlock(&r->lock);
	resolve_let_go(r);
	done(ctx, found.list, found.count, &found.why);
}

static int start_thread(struct resolve *r)
{
	struct thread thread;
	int error = thread_start(&thread, THREAD_OURS, "killick-names", resolve_run, r);

	if (error == 0)
		thread_detach(&thread);
	return error;
}

int resolve_begin(struct loop *loop, const char *host, unsigned port, resolve_fn done, void *ctx,
		  struct resolve **out, struct err *e)
{
	struct resolve *r = mem_grow(NULL, 1, sizeof(*r));
	int fd, error;

	assert(strlen(host) < sizeof(r->host));
	*r = (struct resolve){
		.asked = true, .port = port, .loop = loop, .news.fd = -1, .done = done, .ctx = ctx
	};
	mutex_init(&r->lock);
	snprintf(r->host, sizeof(r->host), "%s", host);
	fd = event_open();
	error = fd < 0 ? fd : 0;
	if (error == 0)
		error = loop_watch(loop, &r->news, fd, POLLER_IN, resolve_on_news);
	if (error == 0)
		error = start_thread(r);
	if (error < 0) {
		loop_watch_stop(loop, &r->news);
		fd_drop(&fd);
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
