/* call.c - one request from client_call to on_done.
 *
 *	WAITING -- ready --> SENT -- answer --> over
 *	                      |^-- next page, another round, another version
 *	                      |--> ASKING, LISTENING --> SENT or over
 *	any --> LATER (decided inside client_call, told from the loop) --> over
 *
 * call_finish is the only end.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/client_internal.h"

#define OWN_TIMEOUT_MS 30000 /* of requests that nobody waits for */

/* --- the end --- */

static void leave_wire(struct client_call *call)
{
	if (call->state == CALL_SENT && call->owner)
		call->owner->wire--;
}

/* Whatever it was waiting for, it is not any more. */
static void detach(struct client_call *call)
{
	struct client *c = call->client;

	leave_wire(call);
	if (call->rq.id)
		peer_withdraw(&c->peer, &call->rq, call->owner);
	if (call->rq.handler)
		peer_close(&c->peer, &call->rq);
	else if (call->state == CALL_LATER)
		peer_ring_remove(&c->later, &call->rq.node);
	if (call->rounds)
		ask_drop_of(c, call);
	if (c->asking == call)
		c->asking = NULL;
}

static void settle(struct client_call *call, enum client_outcome outcome)
{
	if (!call->owner)
		return;
	if (call->op == OP_LOG_LEVEL)
		level_settle(call, outcome);
	else if (call->op == OP_SUBSCRIBE)
		subscriptions_settle(call, outcome);
}

const char *const call_state_names[] = {
	[CALL_STARTING] = "starting", [CALL_WAITING] = "waiting",     [CALL_SENT] = "sent",
	[CALL_ASKING] = "asking",     [CALL_LISTENING] = "listening", [CALL_LATER] = "decided",
	[CALL_OVER] = "over",
};

void call_finish(struct client_call *call, const struct client_result *r)
{
	struct client *c = call->client;

	assert(call->state != CALL_OVER);
	detach(call);
	call_go(call, CALL_OVER);
	settle(call, r->outcome);
	if (call->owner) {
		peer_ring_remove(&call->owner->calls, &call->of_owner);
		call->owner->open--;
		c->open--;
	}
	call->owner = NULL; /* it may be forgotten before on_done returns */
	if (call->on_done)
		call->on_done(call->ctx, r);
	pages_free(call->pages);
	rounds_free(call->rounds);
	free(call->text);
	if (call->kept_all)
		free(call);
	else
		spare_give(&c->spare, call);
}

void call_fail(struct client_call *call, enum client_outcome outcome, const char *fmt, ...)
{
	struct client_result r = { .outcome = outcome };
	char text[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r.text = text;
	call_finish(call, &r);
}

void call_later(struct client_call *call, enum client_outcome outcome, const char *json,
		const char *fmt, ...)
{
	struct client *c = call->client;
	char text[320];
	va_list ap;

	assert(call->state != CALL_LATER && call->state != CALL_OVER && !call->rq.id);
	detach(call);
	call_go(call, CALL_LATER);
	call->outcome = outcome;
	call->json = json;
	if (fmt) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		call->text = mem_text(text, strlen(text));
	}
	peer_ring_add(&c->later, &call->rq.node);
	call_set_later(c);
}

static void finish_later(struct client_call *call)
{
	struct client *c = call->client;
	struct client_result r = { .outcome = call->outcome, .text = call->text };

	if (call->json)
		r.json = (struct json){ call->json, strlen(call->json) };
	if (call->outcome == CALL_FAILED) {
		r.code = c->over_code;
		r.text = c->over_text;
	}
	call_finish(call, &r);
}

/* What a handler adds meanwhile waits for the next turn, so that handlers cannot keep us here. */
void call_run_later(struct client *c)
{
	struct peer_node mark;

	if (c->ready_due) {
		c->ready_due = false;
		if (c->state == CLIENT_FAILED)
			c->ev->on_ready(c->ctx, &c->error);
	}
	peer_ring_add(&c->later, &mark);
	while (c->later.next != &mark) {
		struct peer_request *rq = PEER_OF(c->later.next, struct peer_request, node);

		peer_ring_remove(&c->later, &rq->node);
		finish_later(PEER_OF(rq, struct client_call, rq));
	}
	peer_ring_remove(&c->later, &mark);
}

void call_cancelled(struct client *c, uint64_t id, const char *reason)
{
	int r = params_cancelled(peer_line(&c->peer), id, reason);

	if (r == 0)
		peer_send(&c->peer); /* if it does not read, it will not miss this */
}

void call_abandon(struct client_call *call, enum client_outcome outcome, const char *reason,
		  const char *text)
{
	struct client *c = call->client;
	struct client_result r = { .outcome = outcome, .text = text };

	if (call->rq.id) {
		leave_wire(call);
		call_go(call, CALL_STARTING);
		call_cancelled(c, peer_withdraw(&c->peer, &call->rq, call->owner), reason);
	}
	call_finish(call, &r);
}

void client_cancel(struct client_call *call)
{
	if (call->state != CALL_OVER)
		call_abandon(call, CALL_CANCELLED, "the caller gave it up",
			     "the call was cancelled");
}

/* --- answers --- */

static bool is_list(enum client_op op)
{
	return op <= OP_PROMPTS;
}

static bool may_ask(enum client_op op)
{
	return op == OP_CALL || op == OP_READ || op == OP_PROMPT;
}

/* A result of these has nothing in it; some servers write null. */
static bool is_empty(enum client_op op)
{
	return op >= OP_PING;
}

static void on_result(struct client_call *call, struct json result)
{
	struct client_result r = { .outcome = CALL_OK, .json = result };
	enum result_type type = RESULT_COMPLETE;

	if (json_type(result) != JSON_OBJECT && !is_empty(call->op)) {
		call_fail(call, CALL_PROTOCOL, "the result is no object");
		return;
	}
	if (call->client->era == ERA_MODERN && call->op != OP_RAW)
		type = modern_type(result);
	if (type == RESULT_INPUT && may_ask(call->op))
		rounds_begin(call, result);
	else if (type != RESULT_COMPLETE)
		call_fail(call, CALL_PROTOCOL, "the result is of a type that is not known here");
	else if (is_list(call->op))
		pages_add(call, result);
	else
		call_finish(call, &r);
}

static void on_error(struct client_call *call, struct json error)
{
	struct client_result r = { .outcome = CALL_ANSWER, .json = error };
	char message[200] = "", text[260];
	int64_t code = 0;

	if (call->client->era == ERA_MODERN && modern_retry(call, error)) {
		call_send(call);
		return;
	}
	json_int(json_get(error, "code"), &code);
	json_string_into(json_get(error, "message"), message, sizeof(message));
	snprintf(text, sizeof(text), "the server answered with error %lld: %s", (long long)code,
		 message);
	r.text = text;
	call_finish(call, &r);
}

static struct client_call *of_request(struct peer_request *rq)
{
	struct client_call *call = PEER_OF(rq, struct client_call, rq);

	leave_wire(call);
	call_go(call, CALL_STARTING);
	return call;
}

static void on_answer(struct peer_request *rq, const struct message *m)
{
	struct client_call *call = of_request(rq);

	if (m->kind == MESSAGE_RESULT)
		on_result(call, m->result);
	else
		on_error(call, m->error);
}

static void on_spoiled(struct peer_request *rq, const char *why)
{
	call_fail(of_request(rq), CALL_PROTOCOL, "%s", why);
}

static void on_deadline(struct peer_request *rq)
{
	struct client_call *call = PEER_OF(rq, struct client_call, rq);
	char text[120];

	snprintf(text, sizeof(text), "%s within %lld ms",
		 call->state == CALL_WAITING ? "the server did not get ready"
					     : "there was no answer",
		 (long long)call->timeout_ms);
	call_abandon(call, CALL_TIMEOUT, "its time is over", text);
}

const struct peer_handler call_handler = {
	.on_answer = on_answer,
	.on_spoiled = on_spoiled,
	.on_deadline = on_deadline,
};

/* --- the beginning --- */

void call_send(struct client_call *call)
{
	struct peer *p = &call->client->peer;
	uint64_t id = peer_assign(p, &call->rq);
	int r = params_call(peer_line(p), call, id);
	bool too_long = r < 0, no_memory = r == -ENOMEM;

	if (r == 0)
		r = peer_send(p);
	if (r == 0) {
		call->last_id = id;
		call_go(call, CALL_SENT);
		if (call->owner)
			call->owner->wire++;
		return;
	}
	peer_unassign(p, &call->rq);
	if (no_memory)
		call_later(call, CALL_BUSY, NULL, "there is no memory for the request");
	else if (too_long)
		call_later(call, CALL_PROTOCOL, NULL, "the request is longer than %zu bytes",
			   call->client->spec->message_limit);
	else
		call_later(call, CALL_BUSY, NULL, "%s",
			   r == -ENOBUFS  ? "the server does not read what it is sent"
			   : r == -ESTALE ? LINK_DISOWNED
					  : "the server has closed its stdin");
}

/* Lists of servers that have none of the kind. */
static const char *empty_list(const struct client_call *call)
{
	static const struct {
		unsigned can;
		const char *json;
	} lists[] = {
		[OP_TOOLS] = { CAN_TOOLS, "{\"tools\":[]}" },
		[OP_RESOURCES] = { CAN_RESOURCES, "{\"resources\":[]}" },
		[OP_TEMPLATES] = { CAN_RESOURCES, "{\"resourceTemplates\":[]}" },
		[OP_PROMPTS] = { CAN_PROMPTS, "{\"prompts\":[]}" },
	};

	if (!is_list(call->op) || (call->client->can & lists[call->op].can))
		return NULL;
	return lists[call->op].json;
}

void call_start(struct client_call *call)
{
	const char *empty = empty_list(call);

	call_go(call, CALL_STARTING);
	if (empty)
		call_later(call, CALL_OK, empty, NULL);
	else if (call->op == OP_COMPLETE && !(call->client->can & CAN_COMPLETE))
		call_later(call, CALL_PROTOCOL, NULL, "the server does not offer completion");
	else if (call->op == OP_LOG_LEVEL)
		level_start(call);
	else if (call->op == OP_SUBSCRIBE)
		subscriptions_subscribe(call);
	else if (call->op == OP_UNSUBSCRIBE)
		subscriptions_unsubscribe(call);
	else
		call_send(call);
}

/* Is what the request points to needed after client_call has returned? */
static bool is_kept(const struct client *c, enum client_op op)
{
	return c->state != CLIENT_READY || c->era == ERA_MODERN || op == OP_SUBSCRIBE;
}

static struct client_call *call_new(struct client *c, const struct client_request *rq)
{
	bool kept = is_kept(c, rq->op);
	size_t name_len = rq->name ? strlen(rq->name) + 1 : 0;
	struct client_call *call = kept ? mem_grow(NULL, 1, sizeof(*call) + name_len + rq->args.len)
					: spare_take(&c->spare, sizeof(*call));

	*call = (struct client_call){
		.client = c,
		.op = rq->op,
		.wants_progress = rq->wants_progress,
		.progress_extends = rq->progress_extends,
		.timeout_ms = rq->timeout_ms,
		.ctx = rq->ctx,
		.on_progress = rq->on_progress,
		.on_done = rq->on_done,
		.name = rq->name,
		.args = rq->args,
		.level = LEVEL_NONE,
		.old_level = LEVEL_UNSET,
	};
	call->kept_all = kept;
	if (kept && rq->name)
		call->name = memcpy(call->kept, rq->name, name_len);
	if (kept && rq->args.at)
		call->args.at = memcpy(call->kept + name_len, rq->args.at, rq->args.len);
	return call;
}

struct client_call *client_call(struct client *c, const struct client_request *rq)
{
	struct client_call *call = call_new(c, rq);

	assert(rq->on_done);
	call->owner = party_get(c, rq->owner);
	call->owner->open++;
	c->open++;
	peer_ring_add(&call->owner->calls, &call->of_owner);
	peer_open(&c->peer, &call->rq, &call_handler, rq->timeout_ms);
	if (c->state == CLIENT_OVER)
		call_later(call, CALL_FAILED, NULL, NULL);
	else if (c->spec->max_in_flight && c->open > c->spec->max_in_flight)
		call_later(call, CALL_BUSY, NULL, "%u requests are in flight, which is the limit",
			   c->spec->max_in_flight);
	else if (c->state == CLIENT_READY)
		call_start(call);
	else
		call_go(call, CALL_WAITING);
	if (!call->kept_all) { /* they were the caller's */
		call->name = NULL;
		call->args = JSON_NONE;
	}
	return call;
}

void call_own(struct client *c, enum client_op op, const char *name, int level)
{
	struct client_request rq = { .op = op, .name = name, .timeout_ms = OWN_TIMEOUT_MS };
	struct client_call *call;

	if (c->state != CLIENT_READY)
		return;
	call = call_new(c, &rq);
	call->level = level;
	peer_open(&c->peer, &call->rq, &call_handler, rq.timeout_ms);
	call_send(call);
}
