/* hub.c - see hub.h */
#include "hub/hub.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hub/hub_internal.h"
#include "os/interrupt.h"
#include "os/poller.h"
#include "os/process.h"
#include "os/spawn.h"
#include "session/limits.h"
#include "session/runtime.h"
#include "session/server.h"

#define SEND_MAX    BUF_ANY_SIZE /* of a connection: caller.c makes the senders wait */
#define CONNECTIONS 4096
/* Of connections that have sent no request. */
enum { SEATS_START = 512, SEATS_RATE = 30, SEATS_FULL = 1024 };

void hub_log(struct hub *h, const char *fmt, ...)
{
	char line[400];
	va_list ap;

	if (h->o.quiet || !h->o.on_log)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	h->o.on_log(line);
}

/* --- the end --- */

static void hub_on_idle(struct loop_timer *t)
{
	hub_end(CONTAINER_OF(t, struct hub, idle), "unused");
}

void hub_check_idle(struct hub *h)
{
	bool used = !ring_is_empty(&h->callers) || !ring_is_empty(&h->sessions);

	if (used || h->closing || !h->o.idle_exit_ms)
		loop_timer_stop(h->loop, &h->idle);
	else
		loop_timer_set(h->loop, &h->idle, h->o.idle_exit_ms, hub_on_idle);
}

void hub_end(struct hub *h, const char *why)
{
	if (h->closing)
		return;
	hub_log(h, "event=end why=\"%s\"", why);
	h->closing = true;
	loop_timer_stop(h->loop, &h->idle);
	if (h->listener)
		listener_close(h->listener);
	h->listener = NULL;
	RING_EACH(r, &h->sessions)
		hub_session_close(CONTAINER_OF(r, struct hub_session, in_hub), why, true);
	hub_settle(h);
}

/* The end has two steps: every session is closed, then every connection, after the answers to
 * hub.shutdown. */
void hub_settle(struct hub *h)
{
	hub_check_idle(h);
	if (!h->closing || !ring_is_empty(&h->sessions) || h->over)
		return;
	caller_hub_closed(h);
	RING_EACH(r, &h->callers)
		caller_close(CONTAINER_OF(r, struct caller, in_hub), false);
	h->over = ring_is_empty(&h->callers);
	if (h->over)
		loop_notify(h->loop);
}

static void hub_on_request(struct loop_watch *w, uint32_t events)
{
	struct hub *h = CONTAINER_OF(w, struct hub, requests);

	(void)events;
	if (interrupt_take(w->fd))
		hub_end(h, "the hub was asked to end by a signal");
}

/* --- start --- */

static const struct runtime_watcher hub_watcher = {
	.on_state = news_state,
	.on_stderr = news_stderr,
	.on_call = news_call,
};

int hub_open(const struct hub_spec *spec, struct hub **out, struct err *e)
{
	const struct killick_options options =
		KILLICK_OPTIONS(.keeper = spec->keeper, .cache_dir = spec->cache_dir);
	struct killick_error why;
	struct hub *h;
	struct killick *k;

	if (killick_open(&options, &k, &why) < 0)
		return err_set(e, -EIO, "%s", why.text);
	h = mem_grow(NULL, 1, sizeof(*h));
	*h = (struct hub){ .o = *spec,
			   .k = k,
			   .loop = k->loop,
			   .started_us = loop_now_us(),
			   .ended = BUF_INIT(BUF_ANY_SIZE),
			   .requests.fd = -1,
			   .orphans.fd = -1 };
	if (!h->o.stall_ms)
		h->o.stall_ms = DESK_STALL_MS;
	ring_init(&h->callers);
	ring_init(&h->sessions);
	ring_init(&h->shutdowns);
	loop_lock(h->loop);
	k->watcher = &hub_watcher;
	k->watcher_ctx = h;
	limits_set(k, spec->max_servers, spec->max_memory);
	if (spec->cache_dir)
		catalogue_use_files(&k->catalogue, k->loop, runtime_workers(k));
	hub_check_idle(h);
	loop_unlock(h->loop);
	*out = h;
	return 0;
}

static void hub_on_channel(void *ctx, struct channel *c)
{
	caller_new(ctx, c, false);
}

static void hub_on_note(void *ctx, const char *text)
{
	hub_log(ctx, "event=note text=\"%s\"", text);
}

int hub_listen(struct hub *h, const char *path, int fd, struct err *e)
{
	static const struct listen_events events = { .on_channel = hub_on_channel,
						     .on_note = hub_on_note };
	struct url url = { .kind = URL_UNIX };
	struct listen_spec spec = { .url = &url,
				    .fd = fd,
				    .seats = { SEATS_START, SEATS_RATE, SEATS_FULL,
					       h->o.max_connections ? h->o.max_connections
								    : CONNECTIONS },
				    .send_limit = SEND_MAX,
				    .fds = true,
				    .keeps_file = true };
	int r;

	if (strlen(path) >= sizeof(url.path))
		return err_set(e, -ENAMETOOLONG, "the path of the socket is too long: %s", path);
	snprintf(url.path, sizeof(url.path), "%s", path);
	snprintf(h->socket, sizeof(h->socket), "%s", path);
	loop_lock(h->loop);
	r = listener_open(h->loop, &spec, &events, h, &h->listener, e);
	loop_unlock(h->loop);
	return r;
}

int hub_serve(struct hub *h, int in, int out, struct err *e)
{
	struct channel *c;
	int r;

	loop_lock(h->loop);
	r = channel_over_fds(h->loop, in, out, SEND_MAX, NULL, NULL, &c, e);
	if (r == 0) {
		int process = process_open(process_parent());

		caller_new(h, c, true);
		if (process >= 0)
			channel_follow(c, process);
	}
	loop_unlock(h->loop);
	return r;
}

static bool hub_is_over(void *ctx)
{
	return ((struct hub *)ctx)->over;
}

static void hub_on_orphans(struct loop_watch *w, uint32_t events)
{
	(void)events;
	spawn_reap_orphans(w->fd);
}

void hub_run(struct hub *h, int requests, int orphans)
{
	loop_lock(h->loop);
	loop_own_process(h->loop);
	if (requests >= 0)
		loop_watch(h->loop, &h->requests, requests, POLLER_IN, hub_on_request);
	if (orphans >= 0)
		loop_watch(h->loop, &h->orphans, orphans, POLLER_IN, hub_on_orphans);
	loop_wait(h->loop, hub_is_over, h, INT64_MAX);
	if (h->requests.fd >= 0)
		loop_watch_stop(h->loop, &h->requests);
	if (h->orphans.fd >= 0)
		loop_watch_stop(h->loop, &h->orphans);
	loop_unlock(h->loop);
}

void hub_free(struct hub *h)
{
	struct killick *k = h->k;

	loop_lock(h->loop);
	assert(ring_is_empty(&h->sessions) && ring_is_empty(&h->callers));
	loop_timer_stop(h->loop, &h->idle);
	loop_timer_stop(h->loop, &h->quiet);
	if (h->listener)
		listener_close(h->listener);
	k->watcher = NULL;
	loop_unlock(h->loop);
	killick_free(k);
	buf_done(&h->ended);
	free(h);
}
