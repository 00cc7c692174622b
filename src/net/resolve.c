/* resolve.c - see resolve.h
 *
 * The thread and the caller share one job, which has its own lock; the last of them to finish frees
 * the job. The eventfd that wakes the loop belongs to the caller: the thread writes to it only
 * while the caller wants the result.
 */
#include "net/resolve.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
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
	char host[256], port[8];
	struct address list[RESOLVE_MAX];
	unsigned count;
	struct err why;
	/* the caller's */
	struct loop *loop;
	struct loop_watch news; /* of an eventfd */
	resolve_fn done;
	void *ctx;
};

static void look_up(const char *host, const char *port, int flags, struct resolve *r)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV };
	struct addrinfo *found = NULL;
	int error = getaddrinfo(host, port, &hints, &found);

	if (error) {
		err_set(&r->why, -EHOSTUNREACH, "cannot find the host '%s': %s", host,
			gai_strerror(error));
		return;
	}
	for (struct addrinfo *a = found; a && r->count < RESOLVE_MAX; a = a->ai_next) {
		struct address *to = &r->list[r->count];

		if (a->ai_addrlen > sizeof(to->at))
			continue;
		memcpy(&to->at, a->ai_addr, a->ai_addrlen);
		to->len = a->ai_addrlen;
		r->count++;
	}
	freeaddrinfo(found);
	if (!r->count)
		err_set(&r->why, -EHOSTUNREACH, "the host '%s' has no address", host);
}

int resolve_literal(const char *host, unsigned port, struct address *out)
{
	struct resolve r = { .count = 0 };
	char text[8];

	snprintf(text, sizeof(text), "%u", port);
	look_up(host, text, AI_NUMERICHOST, &r);
	if (r.count)
		*out = r.list[0];
	return r.count > 0;
}

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

	look_up(r->host, r->port, 0, r);
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
	struct address list[RESOLVE_MAX];
	resolve_fn done = r->done;
	void *ctx = r->ctx;
	struct err why;
	unsigned count;

	(void)events;
	pthread_mutex_lock(&r->lock);
	assert(r->answered);
	memcpy(list, r->list, sizeof(list));
	count = r->count;
	why = r->why;
	pthread_mutex_unlock(&r->lock);
	resolve_let_go(r);
	done(ctx, list, count, &why);
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
		.asked = true, .loop = loop, .news.fd = -1, .done = done, .ctx = ctx
	};
	pthread_mutex_init(&r->lock, NULL);
	snprintf(r->host, sizeof(r->host), "%s", host);
	snprintf(r->port, sizeof(r->port), "%u", port);
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

void address_text(const struct address *a, char *out, size_t size)
{
	char host[INET6_ADDRSTRLEN + 20] = "?", port[8] = "?";

	getnameinfo((const struct sockaddr *)&a->at, a->len, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(out, size, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}
