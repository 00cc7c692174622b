/* face_ask.c - requests to the client.
 *
 * A legacy client gets a request. A modern client gets the ask in the answer to its own request
 * (face_park.c). on_answer is called from the loop.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/face_internal.h"

/* --- the end --- */

static void face_ask_free(struct face_ask *a)
{
	struct face *f = a->face;

	ring_remove(&a->in_face);
	ring_remove(&a->in_request);
	if (rpc_is_open(&a->rq)) {
		rpc_drop(&f->rpc, &a->rq);
		rpc_close(&a->rq);
	}
	assert(f->ask_count > 0);
	f->ask_count--;
	free(a->params);
	free(a);
}

void face_ask_end(struct face_ask *a, struct json result, struct json error)
{
	face_answered_fn on_answer = a->on_answer;
	uint64_t number = a->number;
	void *ctx = a->ctx;

	face_ask_free(a);
	on_answer(ctx, number, result, error);
}

/* Tell a legacy client that its answer is not needed any more. */
static void face_ask_withdraw(struct face_ask *a)
{
	struct face *f = a->face;
	struct emit j;
	uint64_t id;

	if (!rpc_id(&a->rq))
		return;
	id = rpc_withdraw(&f->rpc, &a->rq, NULL);
	if (rpc_begin(&f->rpc, NULL, "notifications/cancelled", &j) < 0)
		return;
	emit_int(&j, "requestId", (long long)id);
	rpc_send(&f->rpc, NULL, &j);
}

static struct face_ask *face_find_ask(struct ring *ring, uint64_t number)
{
	RING_EACH(n, ring) {
		struct face_ask *a = CONTAINER_OF(n, struct face_ask, in_face);

		if (a->number == number)
			return a;
	}
	return NULL;
}

void face_ask_drop(struct face *f, uint64_t ask)
{
	struct face_ask *a = face_find_ask(&f->asks, ask);

	if (!a)
		a = face_find_ask(&f->over, ask);
	if (!a)
		return;
	face_ask_withdraw(a);
	face_ask_free(a);
}

/* --- from the loop --- */

static void face_on_ask_time(struct loop_timer *t)
{
	struct face *f = CONTAINER_OF(t, struct face, ask_timer);

	for (struct ring *n; (n = ring_first(&f->over)) != NULL;) {
		const struct json none = JSON_NONE;

		face_ask_end(CONTAINER_OF(n, struct face_ask, in_face), none, none);
	}
	for (struct ring *n = f->asks.next; n != &f->asks;) {
		struct face_ask *a = CONTAINER_OF(n, struct face_ask, in_face);

		n = n->next;
		if (a->request && a->request->park && !a->shown && !a->request->park->parked)
			face_park_show(a->request); /* frees no ask */
	}
}

void face_end_asks(struct face_request *rq, bool at_once)
{
	struct face *f = rq->face;

	RING_EACH(n, &f->asks) {
		struct face_ask *a = CONTAINER_OF(n, struct face_ask, in_face);

		if (a->request != rq)
			continue;
		a->request = NULL;
		ring_remove(&a->in_request);
		if (rq->era == ERA_LEGACY && !at_once)
			continue; /* the client may still answer */
		ring_remove(&a->in_face);
		ring_add(&f->over, &a->in_face);
		face_ask_withdraw(a);
	}
	if (ring_is_empty(&f->over))
		return;
	if (at_once)
		face_on_ask_time(&f->ask_timer);
	else
		loop_timer_set(f->loop, &f->ask_timer, 0, face_on_ask_time);
}

void face_ask_close(struct face *f)
{
	for (struct ring *n; (n = ring_first(&f->asks)) != NULL;) {
		const struct json none = JSON_NONE;

		face_ask_end(CONTAINER_OF(n, struct face_ask, in_face), none, none);
	}
	for (struct ring *n; (n = ring_first(&f->over)) != NULL;) {
		const struct json none = JSON_NONE;

		face_ask_end(CONTAINER_OF(n, struct face_ask, in_face), none, none);
	}
}

/* --- the beginning --- */

static void face_on_ask_answer(struct rpc_request *rq, const struct message *m)
{
	struct face_ask *a = CONTAINER_OF(rq, struct face_ask, rq);

	if (m->kind == MESSAGE_RESULT)
		face_ask_end(a, m->result, JSON_NONE);
	else
		face_ask_end(a, JSON_NONE, m->error);
}

static const struct rpc_handler face_ask_handler = { .on_answer = face_on_ask_answer };

/* The bits that the client must have declared; 0: no method of an ask. */
static unsigned face_ask_needs(const char *method, struct json params, unsigned *out_kind)
{
	static const struct {
		const char *method;
		unsigned kind;
	} kinds[] = {
		{ "sampling/createMessage", KILLICK_SAMPLING },
		{ "elicitation/create", KILLICK_ELICITATION },
		{ "roots/list", KILLICK_ROOTS },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(method, kinds[i].method) != 0)
			continue;
		*out_kind = kinds[i].kind;
		if (kinds[i].kind == KILLICK_ELICITATION &&
		    json_is(json_get(params, "mode"), "url"))
			return KILLICK_ELICITATION | FACE_URL;
		return kinds[i].kind;
	}
	return 0;
}

/* May the client be asked? */
static bool face_can_ask(const struct face *f, const struct face_request *rq, unsigned needs)
{
	unsigned answers = rq ? rq->answers : f->answers;

	if (f->state != FACE_READY || !needs || (answers & needs) != needs ||
	    f->ask_count >= FACE_ASKS_MAX)
		return false;
	if (!rq || rq->era == ERA_LEGACY)
		return f->initialized;
	return rq->given && (rq->row->flags & FACE_INPUT) && !(rq->park && rq->park->answered);
}

static bool face_ask_send(struct face_ask *a, const char *method, struct json params)
{
	struct json_iter it = json_iter(params);
	struct face *f = a->face;
	struct emit j;

	rpc_open(&f->rpc, &a->rq, &face_ask_handler, -1);
	if (rpc_begin(&f->rpc, &a->rq, method, &j) < 0)
		return false;
	while (json_each(&it))
		emit_member(&j, it.key, it.value);
	return rpc_send(&f->rpc, &a->rq, &j) == 0;
}

static bool face_ask_park(struct face_ask *a, struct json params)
{
	struct face_request *rq = a->request;

	if (!rq->park) {
		rq->park = mem_grow(NULL, 1, sizeof(*rq->park));
		*rq->park = (struct face_park){ .stored = BUF_INIT(BUF_ANY_SIZE) };
		ring_init(&rq->park->asks);
	}
	if (params.at && !(a->params = mem_try_text(params.at, params.len)))
		return false;
	ring_add(&rq->park->asks, &a->in_request);
	if (!rq->park->parked) /* asks of the same turn are shown together */
		loop_timer_set(a->face->loop, &a->face->ask_timer, 0, face_on_ask_time);
	return true;
}

uint64_t face_ask(struct face *f, struct face_request *rq, const char *method, struct json params,
		  face_answered_fn on_answer, void *ctx)
{
	unsigned kind = 0, needs = face_ask_needs(method, params, &kind);
	struct face_ask *a;

	if (!face_can_ask(f, rq, needs))
		return 0;
	a = mem_grow(NULL, 1, sizeof(*a));
	*a = (struct face_ask){ .face = f,
				.request = rq,
				.number = ++f->last_ask,
				.on_answer = on_answer,
				.ctx = ctx,
				.kind = kind };
	ring_add(&f->asks, &a->in_face);
	f->ask_count++;
	if (rq && rq->era == ERA_MODERN ? face_ask_park(a, params)
					: face_ask_send(a, method, params))
		return a->number;
	face_ask_free(a);
	return 0;
}
