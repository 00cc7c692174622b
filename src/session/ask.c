/* ask.c - what a server asks of the host: sampling, elicitation, roots.
 *
 * An ask is the host's from on_ask until it is answered or declined, whatever becomes of the server
 * meanwhile; then the answer has nowhere to go and is dropped.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/pack.h"
#include "mcp/client.h"
#include "session/call.h"
#include "session/pool.h"
#include "session/server.h"
#include "session/session.h"

#define ASKS_MAX 64 /* of one server, not answered yet: more are declined */

struct killick_ask {
	struct outbox_item item;
	struct killick_session *session;
	struct ring in_session, in_lease;
	struct lease *lease; /* NULL: nobody waits for the answer (any more) */
	uint64_t id;
	bool in_outbox, told, over;
	const char *server, *method, *params;
	size_t params_len;
};

static void ask_free(struct killick_ask *a)
{
	ring_remove(&a->in_lease);
	ring_remove(&a->in_session);
	session_unpin(a->session);
	free(a);
}

/* It is answered. With the lock. */
static void ask_over(struct killick_ask *a)
{
	a->over = true;
	a->lease = NULL;
	ring_remove(&a->in_lease);
	if (!a->in_outbox)
		ask_free(a);
}

static void decline(struct killick_ask *a, const char *reason)
{
	if (a->lease)
		client_decline(a->lease->server->client, a->id, reason);
	ask_over(a);
}

static bool is_wanted(struct outbox_item *i)
{
	struct killick_ask *a = RING_OF(i, struct killick_ask, item);

	a->told = !a->session->muted;
	return a->told;
}

static void run(struct outbox_item *i)
{
	struct killick_ask *a = RING_OF(i, struct killick_ask, item);
	const struct killick_handlers *h = &a->session->handlers;

	h->on_ask(h->ctx, a);
}

static void done(struct outbox_item *i)
{
	struct killick_ask *a = RING_OF(i, struct killick_ask, item);

	a->in_outbox = false;
	a->session->news--;
	if (a->over)
		ask_free(a);
	else if (!a->told)
		decline(a, "nobody is there to answer");
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
	static const struct outbox_kind kind = { is_wanted, run, done };
	struct killick_session *s = l->session;
	struct pack p = { .base = NULL };
	struct killick_ask *a, unused;

	if (!is_answered(l, method))
		return false;
	pack_ask(&p, l, method, params, &unused);
	a = mem_grow(NULL, sizeof(*a) + p.used, 1);
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
	/* A server that goes on without us shall not wait for an answer. What it asked for a call
	 * of ours went with the call. */
	struct client *client = l->server->holders > 0 ? l->server->client : NULL;

	RING_EACH(r, &l->asks) {
		struct killick_ask *a = RING_OF(r, struct killick_ask, in_lease);

		assert(a->lease == l);
		a->lease = NULL;
		ring_remove(&a->in_lease);
		if (client)
			client_decline(client, a->id, "the session was closed");
	}
}

void asks_free(struct killick_session *s)
{
	RING_EACH(r, &s->asks) {
		struct killick_ask *a = RING_OF(r, struct killick_ask, in_session);

		assert(!a->lease && !a->in_outbox);
		ask_free(a);
	}
}

/* --- for the host --- */

const char *killick_ask_server(const struct killick_ask *a)
{
	return a ? a->server : "";
}

const char *killick_ask_method(const struct killick_ask *a)
{
	return a ? a->method : "";
}

const char *killick_ask_params(const struct killick_ask *a, size_t *out_len)
{
	if (out_len)
		*out_len = a ? a->params_len : 0;
	return a ? a->params : "";
}

int killick_answer(struct killick_ask *a, const char *result_json)
{
	size_t len = result_json ? strlen(result_json) : 0;
	struct json_fault fault;
	struct killick *k;
	struct json json;
	int r;

	if (!a)
		return KILLICK_ERR_USAGE;
	k = a->session->k;
	r = runtime_enter(k, NULL);
	if (r < 0)
		return r;
	if (len == 0 || json_check(result_json, len, 0, &json, &fault) < 0 ||
	    json_type(json) != JSON_OBJECT) {
		decline(a, "the client has no valid answer");
		r = KILLICK_ERR_USAGE;
	} else {
		if (a->lease)
			client_answer(a->lease->server->client, a->id, json.at, json.len);
		ask_over(a);
	}
	runtime_leave(k);
	return r;
}

int killick_decline(struct killick_ask *a, const char *reason)
{
	struct killick *k = a ? a->session->k : NULL;
	int r = a ? runtime_enter(k, NULL) : KILLICK_ERR_USAGE;

	if (r < 0)
		return r;
	decline(a, reason ? reason : "declined");
	runtime_leave(k);
	return 0;
}
