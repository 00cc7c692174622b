/* news.c - events.subscribe of the control API, and the events: see hub_internal.h */
#include <stdio.h>
#include <string.h>

#include "hub/hub_internal.h"
#include "session/server.h"

static const struct {
	const char *name;
	enum news_kind bit;
} events[] = {
	{ "session.opened", NEWS_OPENED }, { "session.closed", NEWS_CLOSED },
	{ "server.state", NEWS_STATE },    { "server.stderr", NEWS_STDERR },
	{ "server.call", NEWS_CALL },
};
enum { EVENTS = sizeof(events) / sizeof(events[0]) };

void caller_on_subscribe(void *ctx, const struct reply *r, struct json params)
{
	struct caller *c = ctx;
	struct caller_param p = { .name = "events", .type = JSON_ARRAY };
	struct err e = ERR_INIT;
	unsigned wanted = 0;
	struct json_iter it;

	if (caller_params(params, &p, 1, &e) != 0) {
		caller_refuse(r, &e);
		return;
	}
	it = json_iter(p.value);
	while (p.value.at && json_each(&it)) {
		size_t i = 0;

		while (i < EVENTS && !json_is(it.value, events[i].name))
			i++;
		if (i == EVENTS) {
			reply_error(r, RPC_BAD_PARAMS,
				    "'events' must be an array of session.opened, session.closed, "
				    "server.state, server.stderr and server.call");
			return;
		}
		wanted |= events[i].bit;
	}
	c->events = p.value.at ? wanted : NEWS_ALL;
	reply_json(r, "{}", 2);
}

/* Begin an event for this connection. False: not wanted, or the peer does not read. */
static bool news_begin(struct caller *c, enum news_kind kind, struct emit *j)
{
	size_t i = 0;

	if (!(c->events & kind) || c->ended)
		return false;
	if (channel_unsent(c->channel) >= CHANNEL_HIGH) {
		c->dropped++;
		return false;
	}
	if (rpc_begin(&c->rpc, NULL, "event", j) < 0)
		return false;
	while (events[i].bit != kind)
		i++;
	emit_str(j, "event", events[i].name);
	return true;
}

/* Write an event for every connection that wants this kind of event; j_ is open for its members. */
#define NEWS_EACH(hub_, kind_, j_)                                                                 \
	for (struct caller *c_ = news_next(hub_, NULL, kind_, j_); c_;                             \
	     rpc_send(&c_->rpc, NULL, j_), c_ = news_next(hub_, c_, kind_, j_))

/* The next connection after c (NULL: the first) for which an event was begun. */
static struct caller *news_next(struct hub *h, struct caller *c, enum news_kind kind,
				struct emit *j)
{
	struct ring *r = c ? c->in_hub.next : h->callers.next;

	for (; r != &h->callers; r = r->next) {
		c = CONTAINER_OF(r, struct caller, in_hub);
		if (news_begin(c, kind, j))
			return c;
	}
	return NULL;
}

void news_session(struct hub_session *s, enum news_kind kind)
{
	struct emit j;

	NEWS_EACH(s->hub, kind, &j)
	{
		hub_session_emit_names(&j, s);
		if (kind == NEWS_CLOSED)
			emit_str(&j, "why", s->why);
	}
}

static void news_emit_server(struct emit *j, const struct server *sv)
{
	char id[16];

	snprintf(id, sizeof(id), "v%u", sv->number);
	emit_str(j, "server", id);
	emit_str(j, "name", sv->recipe.name);
}

void news_state(void *ctx, struct server *sv)
{
	struct emit j;

	NEWS_EACH(ctx, NEWS_STATE, &j)
	{
		news_emit_server(&j, sv);
		emit_str(&j, "state", caller_server_state(sv));
		emit_str(&j, "reason", sv->error.code ? sv->error.text + sv->reason_at : "");
	}
}

void news_stderr(void *ctx, struct server *sv, const char *bytes, size_t len)
{
	struct emit j;

	NEWS_EACH(ctx, NEWS_STDERR, &j)
	{
		news_emit_server(&j, sv);
		emit_text(&j, "text", bytes, len);
	}
}

void news_call(void *ctx, struct server *sv, const struct tally_call *call)
{
	struct hub *h = ctx;
	struct emit j;

	h->calls++;
	NEWS_EACH(h, NEWS_CALL, &j)
	{
		news_emit_server(&j, sv);
		caller_emit_call(h, &j, call);
	}
}

void news_room(struct caller *c)
{
	struct emit j;

	if (!c->dropped || c->ended || rpc_begin(&c->rpc, NULL, "event", &j) < 0)
		return;
	emit_str(&j, "event", "dropped");
	emit_int(&j, "count", c->dropped);
	c->dropped = 0;
	rpc_send(&c->rpc, NULL, &j);
}
