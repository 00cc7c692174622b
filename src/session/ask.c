/* ask.c - see ask.h */
#include "session/ask.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pack.h"
#include "mcp/client.h"
#include "session/pool.h"
#include "session/server.h"
#include "session/session.h"
#include "session/sink.h"

#define ASKS_MAX 64 /* open asks of one lease; further asks are dismissed */

static void ask_free(struct killick_ask *a)
{
	ring_remove(&a->in_lease);
	ring_remove(&a->in_session);
	session_unpin(a->session);
	free(a);
}

void ask_over(struct killick_ask *a)
{
	a->over = true;
	a->lease = NULL;
	ring_remove(&a->in_lease);
	if (!a->in_outbox)
		ask_free(a);
}

void ask_decline(struct killick_ask *a, const char *reason)
{
	if (a->lease)
		client_decline(a->lease->server->client, a->id, reason);
	ask_over(a);
}

void ask_dismiss(struct killick_ask *a, const char *reason)
{
	if (a->lease)
		client_dismiss(a->lease->server->client, a->id, reason);
	ask_over(a);
}

static bool ask_is_wanted(struct outbox_item *i)
{
	struct killick_ask *a = CONTAINER_OF(i, struct killick_ask, item);

	a->told = !a->session->muted;
	return a->told;
}

static void ask_run(struct outbox_item *i)
{
	struct killick_ask *a = CONTAINER_OF(i, struct killick_ask, item);
	const struct killick_handlers *h = &a->session->handlers;

	h->on_ask(h->ctx, a);
}

static void ask_delivered(struct outbox_item *i)
{
	struct killick_ask *a = CONTAINER_OF(i, struct killick_ask, item);

	a->in_outbox = false;
	a->session->news--;
	if (a->over)
		ask_free(a);
	else if (!a->told)
		ask_dismiss(a, "the session does not answer requests any more");
}

static unsigned kind_of(const char *method)
{
	if (strcmp(method, "sampling/createMessage") == 0)
		return KILLICK_SAMPLING;
	if (strcmp(method, "elicitation/create") == 0)
		return KILLICK_ELICITATION;
	return strcmp(method, "roots/list") == 0 ? KILLICK_ROOTS : 0;
}

static bool is_answered(const struct lease *l, const char *method)
{
	const struct killick_session *s = l->session;
	unsigned open = 0;

	RING_EACH(r, &l->asks)
		open++;
	return s->handlers.on_ask && !s->muted && (s->handlers.answers & kind_of(method)) &&
	       l->state < LEASE_LEFT && open < ASKS_MAX;
}

static void pack_ask(struct pack *p, struct lease *l, const char *method, struct json params,
		     struct killick_ask *out)
{
	out->server = pack_text(p, lease_name(l));
	out->method = pack_text(p, method);
	out->params = params.at ? pack_bytes(p, params.at, params.len) : pack_text(p, "{}");
	out->params_len = params.at ? params.len : 2;
}

bool ask_put(struct lease *l, uint64_t id, const char *method, struct json params)
{
	static const struct outbox_kind kind = { ask_is_wanted, ask_run, ask_delivered };
	struct killick_session *s = l->session;
	struct pack p = { .base = NULL };
	struct killick_ask *a, unused;

	if (s->sink)
		return (s->features & kind_of(method)) && l->state < LEASE_LEFT &&
		       s->sink->on_ask(s->sink_ctx, l, id, method, params);
	if (!is_answered(l, method))
		return false;
	pack_ask(&p, l, method, params, &unused);
	a = mem_try(sizeof(*a) + p.used);
	if (!a)
		return false;
	*a = (struct killick_ask){
		.item = { .kind = &kind, .subject = s },
		.session = s,
		.lease = l,
		.id = id,
		.in_outbox = true,
	};
	p = (struct pack){ .base = (char *)(a + 1) };
	pack_ask(&p, l, method, params, a);
	ring_add(&l->asks, &a->in_lease);
	ring_add(&s->asks, &a->in_session);
	s->news++;
	session_pin(s);
	outbox_put(&s->k->outbox, &a->item);
	return true;
}

void asks_orphan(struct lease *l)
{
	/* If other leases keep the server, dismiss the asks, so that the server does not wait for
	 * an answer. Asks that belong to a call of this lease ended together with the call. */
	struct client *client = l->server->holders > 0 ? l->server->client : NULL;

	RING_EACH(r, &l->asks) {
		struct killick_ask *a = CONTAINER_OF(r, struct killick_ask, in_lease);

		assert(a->lease == l);
		a->lease = NULL;
		ring_remove(&a->in_lease);
		if (client)
			client_dismiss(client, a->id, "the session was closed");
	}
}

void asks_free(struct killick_session *s)
{
	RING_EACH(r, &s->asks) {
		struct killick_ask *a = CONTAINER_OF(r, struct killick_ask, in_session);

		assert(!a->lease && !a->in_outbox);
		ask_free(a);
	}
}
