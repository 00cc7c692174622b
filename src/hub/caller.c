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

static int caller_send(void *ctx, struct buf *b)
{
	struct caller *c = ctx;

	(void)b; /* the buffer belongs to the channel */
	return channel_commit(c->channel);
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

void caller_refuse_unread(const struct reply *r)
{
	reply_error(r, HUB_FAILED, "more than %u MiB of answers wait; read them, then ask again",
		    CALLER_UNREAD_MAX >> 20);
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
	{ "hub.ping", 0, caller_on_ping },
	{ "hub.status", 0, caller_on_status },
	{ "hub.reload", 0, caller_on_reload },
	{ "hub.shutdown", 0, caller_on_shutdown },
	{ "session.create", 0, caller_on_create },
	{ "session.attach", 0, caller_on_attach },
	{ "session.renew", 0, caller_on_renew },
	{ "session.answer", 0, caller_on_answer },
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

const struct hub_tree *caller_tree(struct caller *c)
{
	int process = channel_process(c->channel);

	if (!c->has_tree && c->hub->o.find_tree && !c->last)
		c->hub->o.find_tree(c->pid, &c->tree);
	/* another process may have the pid of a process that has ended */
	if (!c->has_tree && process >= 0 && process_has_ended(process))
		c->tree = (struct hub_tree){ .name = "ended", .ours = true };
	c->has_tree = true;
	return &c->tree;
}

/* Methods that end or change the work of all sessions. */
static bool caller_is_for_all(const char *method)
{
	static const char *const names[] = { "hub.shutdown", "hub.reload", "server.restart",
					     "server.stop", "server.rest" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(method, names[i]) == 0)
			return true;
	return false;
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
	else if (channel_unsent(c->channel) > CALLER_UNREAD_MAX)
		caller_refuse_unread(r);
	else if (c->hub->closing && strcmp(name, "hub.shutdown") != 0)
		reply_error(r, HUB_FAILED, "the hub is ending");
	else if (caller_is_for_all(name) && *caller_tree(c)->name)
		reply_error(r, HUB_FAILED,
			    "%s is refused: this process runs inside a tree of killick; call it "
			    "from outside of the tree",
			    name);
	else
		return true;
	return false;
}

static void caller_on_odd(void *ctx, const struct rpc_odd *odd)
{
	struct caller *c = ctx;
	struct reply nobody = { &c->rpc, JSON_NONE, NULL };

	if (odd->kind == RPC_BROKEN)
		reply_error(&nobody,
			    odd->error == -EPROTO ? (int)RPC_INVALID_REQUEST : (int)HUB_BROKEN,
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

/* --- a peer that reads slowly, or not at all ---
 *
 * While the queue is full, no request of the peer is read, and the servers of the sessions whose
 * answers fill the queue are not read. If the peer reads nothing for too long, the session with
 * most of the bytes is closed. The connection and its other sessions stay: they cost the queue,
 * which does not grow any more. */

#define CALLER_PART (CHANNEL_FULL / 8) /* unread bytes of a session that fills the queue */

static struct hub_wait *caller_wait_of(struct ring *n)
{
	struct answer *a = CONTAINER_OF(n, struct answer, in_rpc);

	return a->on_gone == caller_on_requester_gone ? a->ctx : NULL;
}

static bool caller_is_filled_by(const struct caller *c, const struct hub_session *s)
{
	return s->reader == c && s->fill == c->fill && s->unread >= CALLER_PART;
}

void caller_look_full(struct caller *c, struct hub_wait *w)
{
	hub_wait_hold(w, c->full && caller_is_filled_by(c, w->session));
}

static void caller_look_all(struct caller *c)
{
	RING_EACH(n, &c->rpc.answers) {
		struct hub_wait *w = caller_wait_of(n);

		if (w)
			caller_look_full(c, w);
	}
}

void caller_count(struct caller *c, struct hub_session *s, size_t bytes)
{
	bool before;

	if (channel_unsent(c->channel) < CHANNEL_HIGH)
		c->fill++;
	before = caller_is_filled_by(c, s);
	if (s->reader != c || s->fill != c->fill)
		s->unread = 0;
	s->reader = c;
	s->fill = c->fill;
	s->unread += bytes;
	if (c->full && !before && caller_is_filled_by(c, s))
		caller_look_all(c);
}

/* Of the sessions that are held for this caller, the one with most of the unread bytes; NULL: no
 * session is held. */
static struct hub_session *caller_largest(struct caller *c)
{
	struct hub_session *found = NULL;

	RING_EACH(n, &c->rpc.answers) {
		const struct hub_wait *w = caller_wait_of(n);
		struct hub_session *s = w && w->held ? w->session : NULL;

		if (s && !s->closing && (!found || s->unread > found->unread))
			found = s;
	}
	return found;
}

static void caller_on_stall(struct loop_timer *t)
{
	struct caller *c = CONTAINER_OF(t, struct caller, stall);
	struct hub_session *largest = caller_largest(c), *cut = NULL;
	int64_t stalled_ms = channel_stalled_ms(c->channel);
	int64_t since_cut_ms = (loop_now_us() - c->cut_us) / 1000;
	char why[160];

	if (stalled_ms > since_cut_ms) /* the next session has the same time */
		stalled_ms = since_cut_ms;
	RING_EACH(n, &c->rpc.answers) {
		const struct hub_wait *w = caller_wait_of(n);

		if (w && w->held && desk_stalls(w->session->desk, stalled_ms))
			cut = largest;
	}
	if (cut) {
		c->cut_us = loop_now_us();
		desk_stall_text(stalled_ms, why, sizeof(why));
		hub_log(c->hub, "event=cut session=s%u peer=\"%s\" why=\"%s\"", cut->number,
			channel_peer(c->channel), why);
		hub_session_close(cut, why, true);
	}
	loop_timer_set(c->hub->loop, t, DESK_LOOK_MS, caller_on_stall);
}

static void caller_on_full(void *ctx, bool full)
{
	struct caller *c = ctx;

	c->full = full;
	channel_pause(c->channel, full);
	caller_look_all(c);
	if (full)
		loop_timer_set(c->hub->loop, &c->stall, 0, caller_on_stall);
	else
		loop_timer_stop(c->hub->loop, &c->stall);
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
	loop_timer_stop(h->loop, &c->stall);
	rpc_lost(&c->rpc);
	RING_EACH(r, &c->sessions) {
		struct hub_session *s = CONTAINER_OF(r, struct hub_session, in_caller);

		ring_remove(&s->in_caller);
		s->caller = NULL;
		hub_session_close(
			s, s->attached ? "killick connect has ended" : "the connection was closed",
			false);
	}
	RING_EACH(r, &h->sessions) { /* those with a lease go on, but have nobody to ask */
		struct hub_session *s = CONTAINER_OF(r, struct hub_session, in_hub);

		if (s->asked_at != c)
			continue;
		s->asked_at = NULL;
		if (s->desk)
			desk_drop_asks(s->desk);
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
						      .on_full = caller_on_full,
						      .on_closed = caller_on_closed };
	static const struct rpc_transport transport = { caller_begin, caller_send };
	static const struct rpc_method notifications[] = { { "cancel", 0, caller_on_cancel },
							   { NULL, 0, NULL } };
	static const struct rpc_role role = { caller_requests, notifications, caller_admit,
					      caller_on_odd };
	struct caller *c = mem_grow(NULL, 1, sizeof(*c));

	*c = (struct caller){ .hub = h, .channel = channel, .last = last };
	c->pid = last ? process_parent() : channel_pid(channel);
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
