/* desk_asks.c - requests of servers to the client: sampling, elicitation, roots.
 *
 * A modern client can be asked only in the answer to a request that the server works on. If the
 * client has no such request, or several, the question is dismissed; after its first question a
 * legacy server gets one request of a modern client at a time (session/gate.h). A legacy client can
 * be asked at any time; for this client the request only decides whether a cancellation withdraws
 * the question, too. Without a face the program that made the session is asked (desk_events), in
 * the same way.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "hub/desk_internal.h"
#include "session/pool.h"
#include "session/server.h"

struct desk_ask {
	struct desk *desk;
	struct ring in_desk;
	struct backend *backend;     /* of the server that asks */
	uint64_t number;             /* of the server's client (mcp/client.h) */
	uint64_t shown;              /* of the face; 0: the client is not asked yet */
	const struct errand *errand; /* without a face: the request of the program that the question
					belongs to; NULL: not known, or the request is over */
	/* of a question that came before the session was open */
	char *method, *params;
	size_t params_len;
};

static void desk_ask_free(struct desk_ask *a)
{
	ring_remove(&a->in_desk);
	free(a->method);
	free(a->params);
	free(a);
}

/* Withdraw the question from the client. */
static void desk_ask_drop(struct desk_ask *a)
{
	struct desk *d = a->desk;

	if (a->shown && d->face && !d->face_over)
		face_ask_drop(d->face, a->shown);
	else if (a->shown && !d->face)
		d->ev->on_ask_over(d->ctx, a->shown);
	desk_ask_free(a);
}

/* The client of the server that asks; NULL: it is gone. */
static struct client *desk_ask_client(const struct desk_ask *a)
{
	RING_EACH(r, &a->desk->session->leases) {
		const struct lease *l = CONTAINER_OF(r, struct lease, in_session);

		if (l->sink_data == a->backend)
			return l->server ? l->server->client : NULL;
	}
	return NULL;
}

/* The name of the server that asks. */
static const char *desk_ask_server(const struct desk_ask *a)
{
	RING_EACH(r, &a->desk->session->leases) {
		const struct lease *l = CONTAINER_OF(r, struct lease, in_session);

		if (l->sink_data == a->backend)
			return lease_name(l);
	}
	return "";
}

static void desk_ask_on_answer(void *ctx, uint64_t shown, struct json result, struct json error)
{
	struct desk_ask *a = ctx;
	struct client *c = desk_ask_client(a);
	uint64_t number = a->number;

	(void)shown;
	desk_ask_free(a);
	if (!c)
		return;
	if (result.at)
		client_answer(c, number, result.at, result.len);
	else if (json_type(error) == JSON_OBJECT)
		client_refuse(c, number, error);
	else
		client_dismiss(c, number, "the client did not answer");
}

static bool desk_ask_may_concern(const struct errand *e, const struct lease *l)
{
	return (e->rq || e->done) && e->f.lease == l && forward_is_sent(&e->f) &&
	       (e->kind == FACE_CALL || e->kind == FACE_PROMPT || e->kind == FACE_READ);
}

/* The request of the client that the question belongs to; NULL: none, or the server works on
 * several requests, and the end of one of them must not end the question of another. For a legacy
 * client and a program also NULL if the question belongs to a task. */
static const struct errand *desk_ask_errand(const struct desk *d, const struct lease *l,
					    struct json params)
{
	const struct errand *found = NULL;

	if ((!d->face || face_era(d->face) == ERA_LEGACY) && tasks_related(params).at)
		return NULL;
	RING_EACH(r, &d->errands) {
		const struct errand *e = CONTAINER_OF(r, struct errand, in_desk);

		if (!desk_ask_may_concern(e, l))
			continue;
		if (found)
			return NULL;
		found = e;
	}
	return found;
}

static bool desk_ask_show(struct desk_ask *a, const struct lease *l, const char *method,
			  struct json params)
{
	struct desk *d = a->desk;
	const struct errand *e = desk_ask_errand(d, l, params);
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);

	if ((a->backend->can & OFFER_TASKS) && tasks_are_wrapped(d) &&
	    tasks_wrap(a->backend, params, &text))
		params = (struct json){ text.data, text.len };
	if (!d->face) {
		a->shown = ++d->last_ask;
		a->errand = e;
		return d->ev->on_ask(d->ctx, a->shown, desk_ask_server(a), method, params);
	}
	a->shown = face_ask(d->face, e ? e->rq : NULL, method, params, desk_ask_on_answer, a);
	return a->shown != 0;
}

/* A server may ask for the roots right after its handshake, before the client has the answer to its
 * own handshake: keep the question. */
static bool desk_ask_keep(struct desk_ask *a, const char *method, struct json params)
{
	if (a->desk->face && face_era(a->desk->face) == ERA_MODERN)
		return false;
	a->method = mem_dup(method);
	a->params = mem_try_text(params.at ? params.at : "{}", params.at ? params.len : 2);
	a->params_len = params.at ? params.len : 2;
	return a->params != NULL;
}

bool desk_on_ask(void *ctx, struct lease *l, uint64_t ask, const char *method, struct json params)
{
	struct desk *d = ctx;
	struct desk_ask *a;
	bool good;

	if ((d->state != DESK_OPENING && d->state != DESK_OPEN) || d->face_over ||
	    (!d->face && !d->ev->on_ask))
		return false;
	a = mem_grow(NULL, 1, sizeof(*a));
	*a = (struct desk_ask){ .desk = d, .backend = backend_of(d, l), .number = ask };
	ring_add(&d->asks, &a->in_desk);
	good = d->state == DESK_OPEN ? desk_ask_show(a, l, method, params)
				     : desk_ask_keep(a, method, params);
	if (!good)
		desk_ask_free(a);
	return good;
}

void asks_show(struct desk *d)
{
	RING_EACH(r, &d->asks) {
		struct desk_ask *a = CONTAINER_OF(r, struct desk_ask, in_desk);
		struct client *c = desk_ask_client(a);
		uint64_t number = a->number;

		if (a->shown ||
		    desk_ask_show(a, NULL, a->method, (struct json){ a->params, a->params_len }))
			continue;
		desk_ask_free(a);
		if (c)
			client_dismiss(c, number, "the client cannot be asked");
	}
}

void desk_on_ask_over(void *ctx, struct lease *l, uint64_t ask)
{
	struct desk *d = ctx;

	RING_EACH(r, &d->asks) {
		struct desk_ask *a = CONTAINER_OF(r, struct desk_ask, in_desk);

		if (a->backend != l->sink_data || a->number != ask)
			continue;
		desk_ask_drop(a);
		return;
	}
}

/* Withdraw the question from the client, and tell the server that there is no answer. */
static void desk_ask_dismiss(struct desk_ask *a, const char *why)
{
	struct client *c = a->desk->session ? desk_ask_client(a) : NULL;
	uint64_t number = a->number;

	desk_ask_drop(a);
	if (c)
		client_dismiss(c, number, why);
}

void asks_drop(struct desk *d, const struct backend *b)
{
	RING_EACH(r, &d->asks) {
		struct desk_ask *a = CONTAINER_OF(r, struct desk_ask, in_desk);

		if (!b || a->backend == b)
			desk_ask_dismiss(a, "the client cannot be asked any more");
	}
}

void asks_leave(const struct errand *e, bool cancelled)
{
	RING_EACH(r, &e->desk->asks) {
		struct desk_ask *a = CONTAINER_OF(r, struct desk_ask, in_desk);

		if (a->errand != e)
			continue;
		a->errand = NULL;
		if (cancelled)
			desk_ask_dismiss(a, "the request was cancelled");
	}
}

bool desk_answer(struct desk *d, uint64_t ask, struct json result, struct json error)
{
	RING_EACH(r, &d->asks) {
		struct desk_ask *a = CONTAINER_OF(r, struct desk_ask, in_desk);

		if (d->face || !a->shown || a->shown != ask)
			continue;
		desk_ask_on_answer(a, ask, result, error);
		return true;
	}
	return false;
}

void desk_drop_asks(struct desk *d)
{
	asks_drop(d, NULL);
}
