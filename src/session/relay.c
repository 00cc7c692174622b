/* relay.c - see relay.h */
#include "session/relay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "os/bytes.h"
#include "session/ask.h"
#include "session/call.h"
#include "session/event.h"
#include "session/gate.h"
#include "session/pool.h"
#include "session/server.h"
#include "session/session.h"
#include "session/sink.h"
#include "session/site.h"
#include "session/stderr_file.h"

#define LINE_ROOM (16u << 10) /* for a line of stderr; a longer line is passed on in pieces */

#define EACH_LEASE(ring, sv) RING_EACH(ring, &(sv)->leases)
#define LEASE_OF(ring)       CONTAINER_OF(ring, struct lease, on_server)

/* Returns the lease that a message belongs to: the owner, or the only lease of the server. NULL:
 * not known. */
static struct lease *relay_lease_of(struct server *sv, struct lease *owner)
{
	if (owner || sv->holders != 1)
		return owner;
	EACH_LEASE(r, sv)
		if (LEASE_OF(r)->state < LEASE_LEFT)
			return LEASE_OF(r);
	assert(false);
	return NULL;
}

/* Returns the sink of the session; NULL: the session has handlers. */
static const struct session_sink *relay_sink_of(const struct lease *l)
{
	return l->session->sink;
}

static void relay_put(struct lease *l, const struct killick_event *ev)
{
	if (l->replaced)
		return;
	if (relay_sink_of(l) && ev->kind == KILLICK_EVENT_STATE)
		relay_sink_of(l)->on_state(l->session->sink_ctx, l);
	else
		event_put(l->session, l, ev);
}

static void relay_put_all(struct server *sv, const struct killick_event *ev)
{
	EACH_LEASE(r, sv)
		relay_put(LEASE_OF(r), ev);
}

static void relay_put_note(struct lease *l, enum killick_event_kind kind, struct json params)
{
	AUTO(mem_drop) char *uri = NULL;
	struct killick_event ev = { .kind = kind, .json = params.at, .json_len = params.len };

	if (l->replaced)
		return;
	if (relay_sink_of(l)) {
		relay_sink_of(l)->on_note(l->session->sink_ctx, l, kind, params);
		return;
	}
	if (kind == KILLICK_EVENT_UPDATED && json_string(json_get(params, "uri"), &uri)) {
		ev.text = uri;
		ev.text_len = strlen(uri);
	}
	relay_put(l, &ev);
}

void relay_state(struct server *sv)
{
	relay_put_all(sv,
		      &(struct killick_event){ .kind = KILLICK_EVENT_STATE, .state = sv->state });
}

void relay_warning(void *ctx, const char *text)
{
	relay_put_all(ctx, &(struct killick_event){ .kind = KILLICK_EVENT_WARNING,
						    .text = text,
						    .text_len = strlen(text) });
}

void relay_odd(void *ctx, const char *text)
{
	struct server *sv = ctx;
	struct ring *first = ring_first(&sv->leases);

	/* the text may quote a message that belongs to another session */
	if (first && relay_sink_of(LEASE_OF(first)) && sv->shared)
		return;
	relay_warning(sv, text);
}

void relay_note(void *ctx, enum killick_event_kind kind, void *owner, struct json params)
{
	struct server *sv = ctx;
	struct lease *l;

	if (kind == KILLICK_EVENT_TOOLS)
		toolcache_drop(&sv->tools);
	if (owner || kind == KILLICK_EVENT_LOG || kind == KILLICK_EVENT_UPDATED) {
		l = relay_lease_of(sv, owner);
		if (l)
			relay_put_note(l, kind, params);
		return;
	}
	EACH_LEASE(r, sv)
		relay_put_note(LEASE_OF(r), kind, params);
}

void relay_other(void *ctx, void *owner, const char *method, struct json params)
{
	struct lease *l = relay_lease_of(ctx, owner);

	if (l && !l->replaced && relay_sink_of(l))
		relay_sink_of(l)->on_other(l->session->sink_ctx, l, method, params);
}

bool relay_ask(void *ctx, void *owner, uint64_t id, const char *method, struct json params)
{
	struct lease *l = relay_lease_of(ctx, owner);
	struct client_facts facts;

	client_facts(((struct server *)ctx)->client, &facts);
	if (facts.era == ERA_LEGACY && strcmp(method, "roots/list") != 0)
		gate_asked(ctx);
	return l && ask_put(l, id, method, params);
}

void relay_ask_over(void *ctx, void *owner, uint64_t id)
{
	struct server *sv = ctx;

	/* A question without an owner went to the only lease of that time; others may have joined.
	 * A lease that does not have the question ignores the call. */
	EACH_LEASE(r, sv) {
		struct lease *l = LEASE_OF(r);

		if ((!owner || l == owner) && relay_sink_of(l))
			relay_sink_of(l)->on_ask_over(l->session->sink_ctx, l, id);
	}
}

/* --- stderr --- */

void relay_stderr_open(struct server *sv)
{
	assert(!sv->stderr_open);
	sv->stderr_part = (struct buf)BUF_INIT(LINE_ROOM);
	sv->stderr_open = stderr_file_open(sv);
}

static bool relay_is_heard(struct server *sv)
{
	EACH_LEASE(r, sv)
		if (LEASE_OF(r)->session->handlers.on_event)
			return true;
	return false;
}

static void relay_tell(struct server *sv, const char *text, size_t len)
{
	if (len)
		relay_put_all(sv, &(struct killick_event){ .kind = KILLICK_EVENT_STDERR,
							   .text = text,
							   .text_len = len });
}

static void relay_tell_part(struct server *sv)
{
	relay_tell(sv, sv->stderr_part.data, sv->stderr_part.len);
	buf_reset(&sv->stderr_part, 0);
}

static void relay_tell_lines(struct server *sv, const char *bytes, size_t len)
{
	const char *last = bytes_last(bytes, '\n', len);
	size_t whole = last ? (size_t)(last - bytes) + 1 : 0;

	if (whole && sv->stderr_part.len) { /* complete the line that was begun before */
		size_t first = (size_t)((const char *)memchr(bytes, '\n', len) - bytes) + 1;

		if (buf_add(&sv->stderr_part, bytes, first) == 0) {
			bytes += first;
			len -= first;
			whole -= first;
		}
		relay_tell_part(sv);
	}
	relay_tell(sv, bytes, whole);
	if (buf_add(&sv->stderr_part, bytes + whole, len - whole) < 0) {
		relay_tell_part(sv);
		relay_tell(sv, bytes + whole, len - whole);
	}
}

void relay_stderr(void *ctx, const char *bytes, size_t len)
{
	struct server *sv = ctx;

	sv->bytes_stderr += len;
	tail_add(&sv->tail, bytes, len);
	stderr_file_add(sv->stderr_open, bytes, len);
	if (len && sv->k->watcher)
		sv->k->watcher->on_stderr(sv->k->watcher_ctx, sv, bytes, len);
	if (len && relay_is_heard(sv))
		relay_tell_lines(sv, bytes, len);
}

void relay_stderr_close(struct server *sv)
{
	struct ring *first = ring_first(&sv->leases); /* the last lease waits for the end */

	relay_tell_part(sv);
	buf_done(&sv->stderr_part);
	stderr_file_close(sv->stderr_open, first ? LEASE_OF(first)->session : NULL);
	sv->stderr_open = NULL;
}

/* --- a keeper that does not answer --- */

struct abandoned {
	struct link *link;
	struct site *site;
};

static void abandoned_started(void *ctx, int pid, const char *level)
{
	(void)ctx;
	(void)pid;
	(void)level;
}

static void abandoned_bytes(void *ctx, const char *bytes, size_t len)
{
	(void)ctx;
	(void)bytes;
	(void)len;
}

static void abandoned_eof(void *ctx)
{
	(void)ctx;
}

static void abandoned_ended(void *ctx, const struct link_end *end)
{
	struct abandoned *a = ctx;

	(void)end;
	link_free(a->link);
	if (a->site)
		site_leave(a->site);
	free(a);
}

void relay_abandon(struct link *l, struct site *site)
{
	static const struct link_events deaf = {
		.on_started = abandoned_started,
		.on_bytes = abandoned_bytes,
		.on_stderr = abandoned_bytes,
		.on_eof = abandoned_eof,
		.on_ended = abandoned_ended,
	};
	struct abandoned *a = mem_grow(NULL, 1, sizeof(*a));

	*a = (struct abandoned){ .link = l, .site = site };
	if (site)
		site_use_again(site);
	l->ev = &deaf;
	l->ctx = a;
}
