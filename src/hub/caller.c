/* caller.c - a connection that speaks the control API: see hub_internal.h */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hub/hub_internal.h"
#include "os/process.h"

#define MESSAGE_MAX   (80u << 20) /* a config, or the arguments of a tool */
#define IN_FLIGHT_MAX 4096        /* requests of one connection */

/* --- sending --- */

static struct buf *caller_begin(void *ctx)
{
	struct caller *c = ctx;

	return c->ended ? NULL : channel_begin(c->channel);
}

/* A connection whose peer does not read is closed. */
static int caller_send(void *ctx, struct buf *b)
{
	struct caller *c = ctx;
	int r = channel_commit(c->channel);

	(void)b; /* the buffer belongs to the channel */
	if (r < 0 && r != -EPIPE) {
		hub_log(c->hub, "event=drop peer=\"%s\" why=\"the peer does not read\"",
			channel_peer(c->channel));
		caller_close(c, true);
	}
	return r;
}

void caller_close(struct caller *c, bool now)
{
	if (c->ended && !now)
		return;
	c->ended = true;
	channel_close(c->channel, now);
}

void caller_refuse(const struct reply *r, const struct err *e)
{
	int reason = e->code == HUB_SOURCE_CONFIG   ? KILLICK_ERR_CONFIG
		     : e->code == HUB_SOURCE_SERVER ? KILLICK_ERR_NO_SERVER
						    : KILLICK_OK;
	struct emit j;

	/* other codes above HUB_FAILED are those of errno */
	if (!reply_begin_error(r, &j, e->code <= HUB_FAILED ? e->code : HUB_FAILED, e->text))
		return;
	if (reason) {
		emit_open(&j, "data", '{');
		emit_str(&j, "reason", killick_code_name(reason));
		emit_close(&j);
	}
	reply_end_error(r, &j);
}

void caller_tell_over(struct caller *c, const struct hub_session *s)
{
	struct emit j;

	assert(c->attached == s);
	c->attached = NULL;
	if (rpc_begin(&c->rpc, NULL, "session.over", &j) == 0) {
		hub_session_emit_names(&j, s);
		emit_str(&j, "why", s->why);
		emit_bool(&j, "asked", s->asked);
		if (s->bad_config)
			emit_str(&j, "reason", killick_code_name(KILLICK_ERR_CONFIG));
		rpc_send(&c->rpc, NULL, &j);
	}
	caller_close(c, false);
}

/* --- messages --- */

static const struct rpc_method caller_requests[] = {
	{ "hub.status", 0, caller_on_status },
	{ "hub.reload", 0, caller_on_reload },
	{ "hub.shutdown", 0, caller_on_shutdown },
	{ "session.create", 0, caller_on_create },
	{ "session.attach", 0, caller_on_attach },
	{ "session.renew", 0, caller_on_renew },
	{ "session.refresh", 0, caller_on_refresh },
	{ "session.destroy", 0, caller_on_destroy },
	{ "session.list", 0, caller_on_sessions },
	{ "tool.list", 0, caller_on_tools },
	{ "tool.call", 0, caller_on_call },
	{ "mcp.request", 0, caller_on_request },
	{ "server.list", 0, caller_on_servers },
	{ "server.restart", 0, caller_on_restart },
	{ "server.stop", 0, caller_on_stop },
	{ "server.rest", 0, caller_on_rest },
	{ "events.subscribe", 0, caller_on_subscribe },
	{ NULL, 0, NULL },
};

/* The peer does not want the answer to one of its requests any more. */
static void caller_on_cancel(void *ctx, const struct reply *r, struct json params)
{
	struct caller *c = ctx;
	struct json id = json_get(params, "id");

	(void)r;
	if (id.at)
		reply_cancel(&c->rpc, id);
}

/* The listener limits connections that have sent no request; the first request ends this limit. */
static bool caller_let_in(struct caller *c, const struct reply *r)
{
	if (c->let_in)
		return true;
	c->let_in = channel_let_in(c->channel, false);
	if (!c->let_in) {
		reply_error(r, HUB_FAILED,
			    "too many connections; close some, or start the hub with a larger "
			    "--max-connections");
		caller_close(c, false);
	}
	return c->let_in;
}

static bool caller_admit(void *ctx, const struct reply *r, const struct message *m)
{
	struct caller *c = ctx;
	char name[64] = "";

	if (m->kind == MESSAGE_NOTIFICATION)
		return r->method != NULL;
	if (!caller_let_in(c, r))
		return false;
	json_string_into(m->method, name, sizeof(name));
	if (!r->method)
		reply_error(r, RPC_UNKNOWN_METHOD,
			    "there is no method '%s'; killick-hub(7) has the list", name);
	else if (c->hub->closing && strcmp(name, "hub.shutdown") != 0)
		reply_error(r, HUB_FAILED, "the hub is ending");
	else
		return true;
	return false;
}

static void caller_on_odd(void *ctx, const struct rpc_odd *odd)
{
	struct caller *c = ctx;
	struct reply nobody = { &c->rpc, JSON_NONE, NULL };

	if (odd->kind == RPC_BROKEN)
		reply_error(&nobody, odd->error == -EPROTO ? RPC_INVALID_REQUEST : HUB_BROKEN,
			    "not a JSON-RPC message: %s", odd->reason);
	else if (odd->kind == RPC_BATCH)
		reply_error(&nobody, RPC_INVALID_REQUEST, "batches are not supported");
}

static void caller_on_message(void *ctx, const char *text, size_t len)
{
	struct caller *c = ctx;
	struct net_fds unused;

	if (c->ended)
		return;
	rpc_feed(&c->rpc, text, len);
	channel_take_fds(c->channel, &unused); /* which only session.attach takes */
	net_drop_fds(&unused);
}

/* --- life --- */

static void caller_on_room(void *ctx)
{
	news_room(ctx);
}

static void caller_on_closed(void *ctx, const struct err *why)
{
	struct caller *c = ctx;
	struct hub *h = c->hub;

	(void)why;
	c->ended = true;
	rpc_lost(&c->rpc);
	RING_EACH(r, &c->sessions) {
		struct hub_session *s = CONTAINER_OF(r, struct hub_session, in_caller);

		ring_remove(&s->in_caller);
		s->caller = NULL;
		hub_session_close(
			s, s->attached ? "killick connect has ended" : "the connection was closed",
			false);
	}
	ring_remove(&c->in_hub);
	rpc_done(&c->rpc);
	channel_free(c->channel);
	if (c->last)
		hub_end(h, "the program has closed its side");
	free(c);
	hub_settle(h);
}

static void caller_on_open(void *ctx)
{
	(void)ctx;
}

struct caller *caller_new(struct hub *h, struct channel *channel, bool last)
{
	static const struct channel_events events = { .on_open = caller_on_open,
						      .on_message = caller_on_message,
						      .on_room = caller_on_room,
						      .on_closed = caller_on_closed };
	static const struct rpc_transport transport = { caller_begin, caller_send };
	static const struct rpc_method notifications[] = { { "cancel", 0, caller_on_cancel },
							   { NULL, 0, NULL } };
	static const struct rpc_role role = { caller_requests, notifications, caller_admit,
					      caller_on_odd };
	struct caller *c = mem_grow(NULL, 1, sizeof(*c));

	*c = (struct caller){ .hub = h, .channel = channel, .last = last };
	if (last)
		c->pid = process_parent();
	else
		sscanf(channel_peer(channel), "pid %ld", &c->pid);
	rpc_init(&c->rpc, &(struct rpc_spec){ .loop = h->loop,
					      .transport = &transport,
					      .transport_ctx = c,
					      .role = &role,
					      .ctx = c,
					      .max_answers = IN_FLIGHT_MAX });
	ring_init(&c->sessions);
	ring_add(&h->callers, &c->in_hub);
	channel_set_limit(channel, MESSAGE_MAX);
	channel_listen(channel, &events, c);
	hub_check_idle(h);
	return c;
}
