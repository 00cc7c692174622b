/* incoming.c - notifications and requests of the server, and their owners.
 *
 * A progress report names its request. A log message and a legacy server's request name no request:
 * they belong to an owner if only this owner has requests in the server. Requests that were given
 * up count for a while, because the server may still work on them. A request that may belong to an
 * owner that has left is declined here. A message that may belong to several owners has the owner
 * NULL.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "mcp/client_internal.h"

#define ASKS_MAX      256              /* requests of the server that are open at once */
#define LATE_COUNT_US (60 * 1000000LL) /* how long a request that was given up still counts */
#define DECLINE       "{\"action\":\"decline\"}"
#define WHEN_READY    0x100u /* flag of a notification: ignored before the handshake is over */
#define NOTE_MASK     0xffu  /* its enum killick_event_kind */

/* --- owners --- */

enum who { WHO_NOBODY, WHO_ONE, WHO_SEVERAL, WHO_GONE };

static enum who who_is(struct client *c, struct party **out)
{
	int64_t since = loop_now_us() - LATE_COUNT_US;
	struct party *one = NULL;
	bool several = false, gone = false;

	for (struct ring *n = c->owners.next; n != &c->owners; n = n->next) {
		struct party *o = CONTAINER_OF(n, struct party, node);

		if (!o->wire)
			continue;
		several |= one != NULL;
		one = o;
	}
	for (size_t i = 0; i < c->rpc.late_count; i++) {
		const struct rpc_late *late = &c->rpc.late[i];

		if (!late->tag || late->at_us < since)
			continue;
		if (late->tag == c) {
			gone = true;
			continue;
		}
		several |= one && one != late->tag;
		one = late->tag;
	}
	*out = several || gone ? NULL : one;
	return gone ? WHO_GONE : several ? WHO_SEVERAL : one ? WHO_ONE : WHO_NOBODY;
}

/* --- notifications --- */

static void report_progress(struct client_call *call, struct json params)
{
	AUTO(mem_drop) char *message = NULL;
	struct killick_progress p = { .progress = 0 };

	json_double(json_get(params, "progress"), &p.progress);
	json_double(json_get(params, "total"), &p.total);
	json_string(json_get(params, "message"), &message);
	p.message = message ? message : "";
	call->on_progress(call, &p);
}

static void incoming_on_progress(void *ctx, const struct reply *r, struct json params)
{
	struct client *c = ctx;
	struct rpc_request *rq;
	struct client_call *call;
	int64_t token;

	(void)r;
	if (!json_int(json_get(params, "progressToken"), &token) || token <= 0) {
		odd_warn(c, ODD_PROGRESS, "the server reported progress of nothing that was asked");
		return;
	}
	rq = rpc_find(&c->rpc, (uint64_t)token);
	if (!rq || rq->handler != &call_handler)
		return; /* the report crossed the answer or a cancellation */
	call = CONTAINER_OF(rq, struct client_call, rq);
	if (call->progress_extends)
		rpc_extend(&c->rpc, rq, call->timeout_ms);
	if (call->on_progress)
		report_progress(call, params);
}

#define LEVEL_DEFAULT 1 /* "info", for an owner that has not chosen a level */

static bool incoming_hears(const struct party *o, int level)
{
	int wanted = o->level == LEVEL_NONE ? LEVEL_DEFAULT : o->level;

	return level == LEVEL_NONE || level >= wanted;
}

static bool has_levels(const struct client *c)
{
	for (struct ring *n = c->owners.next; n != &c->owners; n = n->next)
		if (CONTAINER_OF(n, struct party, node)->level != LEVEL_NONE)
			return true;
	return false;
}

/* If no owner has chosen a level, the server's own level counts. While the server works for several
 * owners, a log message may be about any of them, so it is reported without an owner. */
static void incoming_on_log(void *ctx, const struct reply *r, struct json params)
{
	struct client *c = ctx;
	int level = level_of(json_get(params, "level"));
	struct party *one;
	enum who who = who_is(c, &one);

	(void)r;
	if (who == WHO_ONE) {
		if (!has_levels(c) || incoming_hears(one, level))
			c->ev->on_note(c->ctx, KILLICK_EVENT_LOG, one->key, params);
		return;
	}
	if (who == WHO_SEVERAL || !has_levels(c)) {
		c->ev->on_note(c->ctx, KILLICK_EVENT_LOG, NULL, params);
		return;
	}
	for (struct ring *n = c->owners.next, *next; n != &c->owners; n = next) {
		struct party *o = CONTAINER_OF(n, struct party, node);

		next = n->next;
		if (incoming_hears(o, level))
			c->ev->on_note(c->ctx, KILLICK_EVENT_LOG, o->key, params);
	}
}

static void ask_remove(struct ask *a)
{
	struct client *c = a->client;

	ring_remove(&a->node);
	c->ask_count--;
	if (a->answer)
		answer_free(a->answer);
	free(a);
}

/* The server cancels its own request, or ends a stream. */
static void on_cancelled(void *ctx, const struct reply *r, struct json params)
{
	struct client *c = ctx;
	struct json id = json_get(params, "requestId");

	(void)r;
	if (id.at && !listen_cancelled(c, id))
		reply_cancel(&c->rpc, id);
}

static void on_acknowledged(void *ctx, const struct reply *r, struct json params)
{
	(void)r;
	listen_acknowledged(ctx, params);
}

/* A modern server reports changes on a stream; a legacy server needs no stream. */
static bool incoming_is_told(struct client *c, struct json params)
{
	return c->era != ERA_MODERN || listen_is_open(c, params);
}

static void on_list_changed(void *ctx, const struct reply *r, struct json params)
{
	struct client *c = ctx;

	if (incoming_is_told(c, params))
		c->ev->on_note(c->ctx, (enum killick_event_kind)(r->method->flags & NOTE_MASK),
			       NULL, params);
}

static void on_updated(void *ctx, const struct reply *r, struct json params)
{
	(void)r;
	if (incoming_is_told(ctx, params))
		subscriptions_updated(ctx, params);
}

static const struct rpc_method notifications[] = {
	{ "notifications/progress", 0, incoming_on_progress },
	{ "notifications/message", 0, incoming_on_log },
	{ "notifications/cancelled", WHEN_READY, on_cancelled },
	{ "notifications/subscriptions/acknowledged", WHEN_READY, on_acknowledged },
	{ "notifications/tools/list_changed", WHEN_READY | KILLICK_EVENT_TOOLS, on_list_changed },
	{ "notifications/resources/list_changed", WHEN_READY | KILLICK_EVENT_RESOURCES,
	  on_list_changed },
	{ "notifications/prompts/list_changed", WHEN_READY | KILLICK_EVENT_PROMPTS,
	  on_list_changed },
	{ "notifications/resources/updated", WHEN_READY, on_updated },
	{ NULL, 0, NULL },
};

/* --- requests of the server (asks) --- */

static void on_ping(void *ctx, const struct reply *r, struct json params)
{
	(void)ctx;
	(void)params;
	reply_json(r, "{}", 2);
}

static void on_ask(void *ctx, const struct reply *r, struct json params);

static const struct rpc_method requests[] = {
	/* the flags of an ask are its kind */
	{ "ping", 0, on_ping },
	{ "sampling/createMessage", KILLICK_SAMPLING, on_ask },
	{ "elicitation/create", KILLICK_ELICITATION, on_ask },
	{ "roots/list", KILLICK_ROOTS, on_ask },
	{ NULL, 0, NULL },
};

unsigned ask_kind(struct json method)
{
	for (const struct rpc_method *m = requests; m->name; m++)
		if (json_is(method, m->name))
			return m->flags;
	return 0;
}

const char *ask_method(unsigned kind)
{
	const struct rpc_method *m = requests;

	while (m->name && m->flags != kind)
		m++;
	assert(m->name);
	return m->name;
}

static struct ask *ask_find(struct client *c, uint64_t number)
{
	RING_EACH(n, &c->asks) {
		struct ask *a = CONTAINER_OF(n, struct ask, node);

		if (a->number == number)
			return a;
	}
	return NULL;
}

static struct ask *ask_add(struct client *c, unsigned kind, struct party *owner)
{
	struct ask *a = mem_grow(NULL, 1, sizeof(*a));

	*a = (struct ask){ .client = c, .number = ++c->last_ask, .kind = kind, .owner = owner };
	ring_add(&c->asks, &a->node);
	c->ask_count++;
	return a;
}

/* Decline in the form that MCP has for the kind of the ask: a result for elicitation, otherwise an
 * error. */
static void incoming_ask_decline(struct ask *a, const char *reason)
{
	struct client_call *call = a->call;
	const char *method = ask_method(a->kind);
	size_t slot = a->slot;
	bool elicitation = a->kind == KILLICK_ELICITATION;

	if (!call && elicitation)
		reply_json(&a->answer->reply, DECLINE, sizeof(DECLINE) - 1);
	else if (!call)
		reply_error(&a->answer->reply,
			    a->kind == KILLICK_SAMPLING ? RPC_REJECTED : RPC_INTERNAL, "%s",
			    reason);
	ask_remove(a);
	if (call && elicitation)
		rounds_answer(call, slot, DECLINE, sizeof(DECLINE) - 1);
	else if (call)
		call_later(call, KILLICK_ERR_CANCELLED, NULL,
			   "the server's %s was declined: %.200s", method, reason);
}

/* Pass the ask to the host. The handler may end the ask, so `a` must not be used afterwards. */
static void incoming_ask_put(struct client *c, struct ask *a, struct json params)
{
	uint64_t number = a->number;
	void *key = a->owner ? a->owner->key : NULL;

	if (c->ev->on_ask(c->ctx, key, number, ask_method(a->kind), params))
		return;
	a = ask_find(c, number);
	if (a)
		incoming_ask_decline(a, "no handler can answer this request");
}

void ask_of_call(struct client_call *call, size_t slot, unsigned kind, struct json params)
{
	struct client *c = call->client;
	struct ask *a;

	if (c->ask_count >= ASKS_MAX) {
		call_later(call, KILLICK_ERR_PROTOCOL, NULL, "the server asks too much at once");
		return;
	}
	a = ask_add(c, kind, call->party);
	a->call = call;
	a->slot = slot;
	incoming_ask_put(c, a, params);
}

/* The server has cancelled its request. */
static void ask_on_gone(void *ctx)
{
	ask_remove(ctx);
}

static void on_ask(void *ctx, const struct reply *r, struct json params)
{
	struct client *c = ctx;
	struct party *one;
	enum who who = who_is(c, &one);
	struct ask *a;

	if (c->ask_count >= ASKS_MAX) {
		odd_warn(c, ODD_ASK, "the server has more than %d requests open", ASKS_MAX);
		reply_error(r, RPC_INTERNAL, "too many requests are open");
		return;
	}
	a = ask_add(c, r->method->flags, one);
	a->answer = answer_new(r, ask_on_gone, a);
	if (!a->answer) {
		odd_warn(c, ODD_ASK, "there is no memory for a request of the server");
		ask_remove(a);
		return;
	}
	if (who == WHO_GONE)
		incoming_ask_decline(a, "whoever this belongs to may have left");
	else
		incoming_ask_put(c, a, params);
}

static bool incoming_admit(void *ctx, const struct reply *r, const struct message *m)
{
	const struct client *c = ctx;
	unsigned flags = r->method ? r->method->flags : 0;

	if (m->kind == MESSAGE_NOTIFICATION)
		return c->state == CLIENT_READY || !(flags & WHEN_READY);
	if (!flags ||
	    (flags & c->spec->answers && c->state == CLIENT_READY && c->era == ERA_LEGACY))
		return true;
	reply_error(r, RPC_UNKNOWN_METHOD, "Method not found"); /* not a declared capability */
	return false;
}

const struct rpc_role incoming_role = {
	.requests = requests,
	.notifications = notifications,
	.admit = incoming_admit,
	.on_odd = odd_on_rpc,
};

/* --- answers --- */

void client_answer(struct client *c, uint64_t number, const char *json, size_t len)
{
	struct ask *a = ask_find(c, number);
	struct client_call *call;
	struct json v;
	size_t slot;

	if (!a)
		return; /* the ask has ended meanwhile */
	if (json_check(json, len, 0, &v, NULL) < 0 || json_type(v) != JSON_OBJECT) {
		odd_warn(c, ODD_ANSWER, "the answer to %s is no JSON object: it was declined",
			 ask_method(a->kind));
		incoming_ask_decline(a, "the answer could not be used");
		return;
	}
	call = a->call;
	slot = a->slot;
	if (!call)
		reply_json(&a->answer->reply, v.at, v.len);
	ask_remove(a);
	if (call)
		rounds_answer(call, slot, v.at, v.len);
}

void client_decline(struct client *c, uint64_t number, const char *reason)
{
	struct ask *a = ask_find(c, number);

	if (a)
		incoming_ask_decline(a, reason ? reason : "declined");
}

void ask_drop_of(struct client *c, const struct client_call *call)
{
	RING_EACH(n, &c->asks) {
		struct ask *a = CONTAINER_OF(n, struct ask, node);

		if (a->call == call)
			ask_remove(a);
	}
}

void ask_forget(struct client *c, const struct party *owner, const char *why)
{
	RING_EACH(n, &c->asks) {
		struct ask *a = CONTAINER_OF(n, struct ask, node);

		if (a->owner == owner && !a->call)
			incoming_ask_decline(a, why);
	}
}

void ask_done(struct client *c)
{
	RING_EACH(n, &c->asks)
		ask_remove(CONTAINER_OF(n, struct ask, node));
}
