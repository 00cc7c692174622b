/* face.c - see face.h: life, the connection, and messages that are no requests. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "mcp/face_internal.h"

#define FACE_PARSE_ERROR (-32700)

static const char *const face_state_names[] = {
	[FACE_NEW] = "new",         [FACE_GREETED] = "greeted", [FACE_READY] = "ready",
	[FACE_CLOSING] = "closing", [FACE_CLOSED] = "closed",
};

void face_go(struct face *f, enum face_state to)
{
	TRACE(TRACE_CLIENT, "face %p: %s -> %s", (void *)f, face_state_names[f->state],
	      face_state_names[to]);
	f->state = to;
}

/* --- writing --- */

void face_cut(struct face *f, const char *why)
{
	if (f->state >= FACE_CLOSING)
		return;
	snprintf(f->why, sizeof(f->why), "%s", why);
	face_go(f, FACE_CLOSING);
	rpc_stop(&f->rpc);
	channel_close(f->channel, true);
}

struct buf *face_begin(struct face *f)
{
	return f->state < FACE_CLOSING ? channel_begin(f->channel) : NULL;
}

void face_commit(struct face *f)
{
	channel_commit(f->channel);
}

static struct buf *face_rpc_begin(void *ctx)
{
	return face_begin(ctx);
}

static int face_rpc_send(void *ctx, struct buf *b)
{
	struct face *f = ctx;

	(void)b;
	return channel_commit(f->channel);
}

/* The schemas up to 2025-06-18 need an id; JSON-RPC says null. The later ones have no null. */
static bool face_writes_null_id(const struct face *f)
{
	return f->legacy_version ? strcmp(f->legacy_version, "2025-11-25") < 0
				 : f->era == ERA_LEGACY;
}

void face_send_error(struct face *f, struct json id, int code, const char *text)
{
	struct buf *b = face_begin(f);
	struct emit j;

	if (!b)
		return;
	j = (struct emit)EMIT_INIT(b);
	emit_open(&j, NULL, '{');
	emit_str(&j, "jsonrpc", "2.0");
	if (id.at)
		emit_raw(&j, "id", id.at, id.len);
	else if (face_writes_null_id(f))
		emit_null(&j, "id");
	emit_open(&j, "error", '{');
	emit_int(&j, "code", code);
	emit_text(&j, "message", text, strlen(text));
	emit_close(&j);
	emit_close(&j);
	emit_end(&j);
	face_commit(f);
}

/* --- messages --- */

static void face_on_note(struct face *f, const struct message *m)
{
	struct json id = json_get(m->whole, "id");

	if (id.at) { /* null: message.h reads the message as a notification */
		face_send_error(f, JSON_NONE, RPC_INVALID_REQUEST, "the id of a request is null");
	} else if (json_is(m->method, "notifications/cancelled")) {
		id = json_get(m->params, "requestId");
		if (id.at)
			face_on_cancel(f, id);
	} else if (f->state > FACE_NEW && !json_is(m->method, "notifications/initialized")) {
		f->ev->on_notification(f->ctx, m);
	}
}

static bool face_admit(void *ctx, const struct reply *r, const struct message *m)
{
	(void)r;
	if (m->kind == MESSAGE_REQUEST)
		face_on_request(ctx, m);
	else
		face_on_note(ctx, m);
	return false;
}

/* The id of a request that is JSON but no message. The id of an answer is not repeated: the client
 * could take the error for the answer to one of its own requests. */
static struct json face_broken_id(struct json text)
{
	struct json v, id;
	struct json_fault fault;

	if (json_check(text.at, text.len, 0, &v, &fault) < 0 || !json_get(v, "method").at)
		return JSON_NONE;
	id = json_get(v, "id");
	return json_type(id) == JSON_STRING || json_type(id) == JSON_NUMBER ? id : JSON_NONE;
}

static void face_on_odd(void *ctx, const struct rpc_odd *odd)
{
	struct face *f = ctx;
	char text[160];

	switch (odd->kind) {
	case RPC_BROKEN:
		snprintf(text, sizeof(text), "%s: %s",
			 odd->error == -EBADMSG ? "Parse error" : "Invalid request", odd->reason);
		face_send_error(f, odd->error == -EPROTO ? face_broken_id(odd->text) : JSON_NONE,
				odd->error == -EBADMSG ? FACE_PARSE_ERROR : RPC_INVALID_REQUEST,
				text);
		break;
	case RPC_BATCH:
		face_send_error(f, JSON_NONE, RPC_INVALID_REQUEST,
				"batches are part of protocol version 2025-03-26 only");
		break;
	case RPC_TOO_LONG:
	case RPC_NAMELESS:
	case RPC_UNASKED:
	case RPC_TWICE:
	case RPC_UNSENT:
		break; /* answers to requests that are not open */
	}
}

static const struct rpc_role face_role = { .admit = face_admit, .on_odd = face_on_odd };
static const struct rpc_transport face_transport = { .begin = face_rpc_begin,
						     .send = face_rpc_send };

/* --- the connection --- */

static void face_on_message(void *ctx, const char *text, size_t len)
{
	struct face *f = ctx;
	size_t at = 0;

	while (at < len && (text[at] == ' ' || text[at] == '\t'))
		at++;
	f->in_batch = at < len && text[at] == '[';
	rpc_feed(&f->rpc, text, len);
}

static void face_on_too_long(void *ctx)
{
	struct face *f = ctx;
	char text[80];

	snprintf(text, sizeof(text), "the message is longer than %zu bytes", f->message_limit);
	face_send_error(f, JSON_NONE, RPC_INVALID_REQUEST, text);
}

/* A client that reads the answers to its requests gets all of them, however long that takes, as
 * long as answers come. */
static void face_on_lingered(struct loop_timer *t)
{
	struct face *f = CONTAINER_OF(t, struct face, linger_timer);
	int64_t idle_ms = (loop_now_us() - f->ended_us) / 1000;

	if (channel_unsent(f->channel) && channel_stalled_ms(f->channel) < idle_ms)
		idle_ms = channel_stalled_ms(f->channel);
	if (idle_ms < FACE_LINGER_MS)
		loop_timer_set(f->loop, t, FACE_LINGER_MS - idle_ms, face_on_lingered);
	else
		channel_close_patiently(f->channel);
}

void face_check_end(struct face *f)
{
	if (f->eof && f->state < FACE_CLOSING && ring_is_empty(&f->requests) &&
	    ring_is_empty(&f->waiting))
		channel_close_patiently(f->channel);
}

/* A client that writes its requests and closes its output at once still gets the answers. */
static void face_on_eof(void *ctx)
{
	struct face *f = ctx;

	f->eof = true;
	f->ended_us = loop_now_us();
	loop_timer_set(f->loop, &f->linger_timer, FACE_LINGER_MS, face_on_lingered);
	face_check_end(f);
}

static void face_on_full(void *ctx, bool full)
{
	struct face *f = ctx;

	channel_pause(f->channel, full);
	if (!full)
		loop_timer_set(f->loop, &f->run_timer, 0, face_run_waiting);
	if (f->ev->on_full)
		f->ev->on_full(f->ctx, full);
}

static void face_on_closed(void *ctx, const struct err *why)
{
	struct face *f = ctx;
	struct ring *const rings[] = { &f->requests, &f->waiting, &f->parked, &f->streams };

	face_go(f, FACE_CLOSED);
	rpc_stop(&f->rpc);
	for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++)
		for (struct ring *n; (n = ring_first(rings[i])) != NULL;)
			face_abandon(CONTAINER_OF(n, struct face_request, in_face));
	face_ask_close(f);
	loop_timer_stop(f->loop, &f->run_timer);
	loop_timer_stop(f->loop, &f->ask_timer);
	loop_timer_stop(f->loop, &f->listen_timer);
	loop_timer_stop(f->loop, &f->park_timer);
	loop_timer_stop(f->loop, &f->linger_timer);
	if (!f->why[0])
		snprintf(f->why, sizeof(f->why), "%s", why->text);
	f->ev->on_closed(f->ctx, f->why);
}

static const struct channel_events face_channel_events = {
	.on_message = face_on_message,
	.on_full = face_on_full,
	.on_too_long = face_on_too_long,
	.on_closed = face_on_closed,
};
/* For two pipes. After the end of input on a socket it is not known whether the client reads. */
static const struct channel_events face_pipe_events = {
	.on_message = face_on_message,
	.on_full = face_on_full,
	.on_too_long = face_on_too_long,
	.on_eof = face_on_eof,
	.on_closed = face_on_closed,
};

/* --- life --- */

int face_new(struct loop *loop, int in, int out, size_t message_limit, const struct face_events *ev,
	     void *ctx, struct face **out_face, struct err *e)
{
	struct face *f = mem_grow(NULL, 1, sizeof(*f));
	struct rpc_spec spec = { .loop = loop,
				 .transport = &face_transport,
				 .transport_ctx = f,
				 .role = &face_role,
				 .ctx = f,
				 .message_limit = message_limit };
	struct ring *const rings[] = { &f->requests, &f->waiting, &f->parked,
				       &f->streams,  &f->asks,    &f->over };
	int r;

	*f = (struct face){
		.loop = loop, .ev = ev, .ctx = ctx, .message_limit = message_limit, .version = ""
	};
	for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++)
		ring_init(rings[i]);
	random_fill(&f->seed, sizeof(f->seed));
	random_fill(&f->nonce, sizeof(f->nonce));
	rpc_init(&f->rpc, &spec);
	/* the queue has no limit: the face makes its senders wait */
	r = channel_over_fds(loop, in, out, BUF_ANY_SIZE,
			     in == out ? &face_channel_events : &face_pipe_events, f, &f->channel,
			     e);
	if (r < 0) {
		rpc_done(&f->rpc);
		free(f);
		return r;
	}
	channel_set_limit(f->channel, message_limit);
	*out_face = f;
	return 0;
}

enum client_era face_era(const struct face *f)
{
	return f->era;
}

const char *face_version(const struct face *f)
{
	return f->version;
}

int64_t face_stalled_ms(const struct face *f)
{
	return channel_stalled_ms(f->channel);
}

void face_close(struct face *f)
{
	if (f->state >= FACE_CLOSING)
		return;
	face_listen_end_all(f);
	if (f->state >= FACE_CLOSING)
		return;
	snprintf(f->why, sizeof(f->why), "closed by killick");
	face_go(f, FACE_CLOSING);
	rpc_stop(&f->rpc);
	channel_close(f->channel, false);
}

void face_free(struct face *f)
{
	if (!f)
		return;
	assert(f->state == FACE_CLOSED && f->count == 0);
	channel_free(f->channel);
	rpc_done(&f->rpc);
	hash_done(&f->by_id);
	hash_done(&f->watches);
	spare_done(&f->spare);
	face_offer_done(f);
	free(f);
}
