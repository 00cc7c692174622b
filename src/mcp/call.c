/* call.c - one request from client_call to on_done.
 *
 *	WAITING -- ready --> SENT -- answer --> over
 *	                      |^-- next page, another round, another version
 *	                      |--> ASKING, LISTENING --> SENT or over
 *	any --> LATER (result known inside client_call, reported from the loop) --> over
 *
 * Every call ends in call_finish.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/client_internal.h"

#define OWN_TIMEOUT_MS 30000 /* timeout of requests that no caller waits for */

/* --- the end --- */

static void leave_wire(struct client_call *call)
{
	if (call->state == CALL_SENT && call->party)
		call->party->wire--;
}

/* Withdraw the call from everything that it waits for. */
static void detach(struct client_call *call)
{
	struct client *c = call->client;

	leave_wire(call);
	if (rpc_id(&call->rq))
		rpc_withdraw(&c->rpc, &call->rq, call->party);
	rpc_close(&call->rq); /* also takes the call out of c->later or c->telling */
	if (call->rounds)
		ask_drop_of(c, call);
	if (c->asking == call)
		c->asking = NULL;
}

static void client_call_settle(struct client_call *call, int code)
{
	if (!call->party)
		return;
	if (call->op == KILLICK_LOG_LEVEL)
		level_settle(call, code);
	else if (call->op == KILLICK_SUBSCRIBE)
		subscriptions_settle(call, code);
}

const char *const call_state_names[] = {
	[CALL_IDLE] = "idle",     [CALL_STARTING] = "starting", [CALL_WAITING] = "waiting",
	[CALL_SENT] = "sent",     [CALL_ASKING] = "asking",     [CALL_LISTENING] = "listening",
	[CALL_LATER] = "decided", [CALL_OVER] = "over",
};

void call_finish(struct client_call *call, const struct client_result *r)
{
	struct client *c = call->client;
	struct pages *pages = call->pages;
	struct rounds *rounds = call->rounds;
	char *kept = call->kept, *text = call->text;

	assert(client_call_is_open(call));
	detach(call);
	call_go(call, CALL_OVER);
	client_call_settle(call, r->code);
	if (call->party) {
		ring_remove(&call->of_owner);
		call->party->open--;
		c->open--;
	}
	call->party = NULL; /* the party may be freed before on_done returns */
	if (call->on_done)
		call->on_done(call, r); /* on_done may free the call: do not use it below */
	else
		free(call);
	pages_free(pages);
	rounds_free(rounds);
	free(text);
	free(kept);
}

void call_fail(struct client_call *call, int code, const char *fmt, ...)
{
	struct client_result r = { .code = code };
	char text[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r.text = text;
	call_finish(call, &r);
}

void call_later(struct client_call *call, int code, const char *json, const char *fmt, ...)
{
	struct client *c = call->client;
	char text[320];
	va_list ap;

	assert(client_call_is_open(call) && call->state != CALL_LATER && !rpc_id(&call->rq));
	detach(call);
	call_go(call, CALL_LATER);
	call->code = code;
	call->json = json;
	if (fmt) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		call->text = mem_text(text, strlen(text));
	}
	ring_add(&c->later, &call->rq.node);
	call_set_later(c);
}

static void call_finish_line(struct client_call *call, const struct message *m);

/* The answer to a request that is passed on is a line of our own. */
static void finish_with_line(struct client_call *call)
{
	const char *reason;
	struct message m;
	int r = message_parse(call->json, strlen(call->json), &m, &reason);

	assert(r == 0);
	(void)r;
	call_finish_line(call, &m);
}

static void finish_later(struct client_call *call)
{
	struct client *c = call->client;
	struct client_result r = { .code = call->code, .text = call->text };

	if (call->json && call->forward) {
		finish_with_line(call);
		return;
	}
	if (call->json)
		r.json = (struct json){ call->json, strlen(call->json) };
	if (call->over) {
		r.over = true;
		r.text = c->over_text;
	}
	call_finish(call, &r);
}

/* A call that a handler adds meanwhile waits for the next turn, so that handlers cannot keep this
 * loop running for ever. */
void call_run_later(struct client *c)
{
	if (c->ready_due) {
		c->ready_due = false;
		if (c->state == CLIENT_FAILED)
			c->ev->on_ready(c->ctx, &c->error);
	}
	for (struct ring *n; (n = ring_first(&c->later)) != NULL;) {
		ring_remove(n);
		ring_add(&c->telling, n);
	}
	for (struct ring *n; (n = ring_first(&c->telling)) != NULL;) {
		struct rpc_request *rq = CONTAINER_OF(n, struct rpc_request, node);

		finish_later(CONTAINER_OF(rq, struct client_call, rq));
	}
}

void call_cancelled(struct client *c, uint64_t id, const char *reason)
{
	struct emit j;

	if (rpc_begin(&c->rpc, NULL, "notifications/cancelled", &j) < 0)
		return;
	emit_int(&j, "requestId", (long long)id);
	emit_str(&j, "reason", reason);
	rpc_send(&c->rpc, NULL, &j); /* a server that does not read does not need this message */
}

void call_abandon(struct client_call *call, int code, const char *reason, const char *text)
{
	struct client *c = call->client;
	struct client_result r = { .code = code, .text = text };

	if (rpc_id(&call->rq)) {
		leave_wire(call);
		call_go(call, CALL_STARTING);
		call_cancelled(c, rpc_withdraw(&c->rpc, &call->rq, call->party), reason);
	}
	call_finish(call, &r);
}

void client_cancel(struct client_call *call)
{
	if (client_call_is_open(call))
		call_abandon(call, KILLICK_ERR_CANCELLED, "the caller gave it up",
			     "the call was cancelled");
}

/* --- answers to requests that are passed on --- */

/* Remember the owner of the task that the server has made. */
static void learn_task(struct client_call *call, struct json result)
{
	struct client *c = call->client;
	struct json task = JSON_NONE, id;
	int64_t ttl_ms = -1;

	if (c->era == ERA_LEGACY && call->forward->is_tasked)
		task = json_get(result, "task");
	else if (c->era == ERA_MODERN && (c->can & CAN_TASKS) &&
		 json_is(json_get(result, "resultType"), "task"))
		task = result;
	id = json_get(task, "taskId");
	if (!id.at)
		return;
	json_int(json_get(task, c->era == ERA_LEGACY ? "ttl" : "ttlMs"), &ttl_ms);
	handles_add_task(c, id, ttl_ms, call->party);
	if (call->forward->is_tasked && call->forward->token.at)
		handles_add_progress(c, call->last_id, call->forward->token, call->party);
}

/* The error says that the client must visit urls first: remember the owner that gets the error. */
static void learn_elicitations(struct client_call *call, struct json error)
{
	struct json_iter it = json_iter(json_find(error, "data.elicitations"));
	int64_t code;

	if (!json_int(json_get(error, "code"), &code) || code != RPC_URL_ELICITATION)
		return;
	while (json_each(&it))
		handles_add(call->client, HANDLE_ELICITATION, json_get(it.value, "elicitationId"),
			    call->party);
}

static void call_finish_line(struct client_call *call, const struct message *m)
{
	struct client_result r = { .code = KILLICK_OK, .json = m->result, .line = m };

	if (m->kind == MESSAGE_ERROR) {
		r.code = KILLICK_ERR_ANSWER;
		r.json = m->error;
		r.text = "the server answered with an error";
	}
	call_finish(call, &r);
}

static void finish_tasks(struct client_call *call, struct json result)
{
	struct buf line = BUF_INIT(call->client->spec->message_limit);
	const char *reason;
	struct message m;
	int r = splice_tasks(&line, call, result);

	if (r == 0)
		r = message_parse(line.data, line.len, &m, &reason);
	if (r == 0)
		call_finish_line(call, &m);
	else
		call_fail(call, KILLICK_ERR_PROTOCOL, "there is no memory for the list of tasks");
	buf_done(&line);
}

static void forward_on_answer(struct client_call *call, const struct message *m)
{
	const struct client_forward *fw = call->forward;
	bool bridged = call->client->era == ERA_MODERN && fw->era == ERA_LEGACY;

	if (m->kind == MESSAGE_ERROR) {
		if (bridged && modern_retry(call, m->error)) {
			call_send(call);
			return;
		}
		learn_elicitations(call, m->error);
	} else {
		if (bridged && splice_may_ask(fw) && modern_type(m->result) == RESULT_INPUT) {
			rounds_begin(call, m->result);
			return;
		}
		learn_task(call, m->result);
		if (fw->lists_tasks && json_type(m->result) == JSON_OBJECT) {
			finish_tasks(call, m->result);
			return;
		}
	}
	call_finish_line(call, m);
}

/* --- answers --- */

static bool is_list(enum killick_op op)
{
	return op <= KILLICK_PROMPTS;
}

static bool may_ask(enum killick_op op)
{
	return op == KILLICK_CALL || op == KILLICK_READ || op == KILLICK_PROMPT;
}

/* The result of these operations need not be an object; some servers write null. */
static bool is_empty(enum killick_op op)
{
	return op >= KILLICK_PING;
}

static void client_call_on_result(struct client_call *call, struct json result)
{
	struct client_result r = { .code = KILLICK_OK, .json = result };
	enum result_type type = RESULT_COMPLETE;

	if (json_type(result) != JSON_OBJECT && !is_empty(call->op)) {
		call_fail(call, KILLICK_ERR_PROTOCOL, "the result is no object");
		return;
	}
	if (call->client->era == ERA_MODERN && call->op != KILLICK_RAW)
		type = modern_type(result);
	if (type == RESULT_INPUT && may_ask(call->op))
		rounds_begin(call, result);
	else if (type != RESULT_COMPLETE)
		call_fail(call, KILLICK_ERR_PROTOCOL,
			  "the result is of a type that is not known here");
	else if (is_list(call->op))
		pages_add(call, result);
	else
		call_finish(call, &r);
}

static void client_call_on_error(struct client_call *call, struct json error)
{
	struct client_result r = { .code = KILLICK_ERR_ANSWER, .json = error };
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

static struct client_call *of_request(struct rpc_request *rq)
{
	struct client_call *call = CONTAINER_OF(rq, struct client_call, rq);

	leave_wire(call);
	call_go(call, CALL_STARTING);
	return call;
}

static void client_call_on_answer(struct rpc_request *rq, const struct message *m)
{
	struct client_call *call = of_request(rq);

	if (call->forward)
		forward_on_answer(call, m);
	else if (m->kind == MESSAGE_RESULT)
		client_call_on_result(call, m->result);
	else
		client_call_on_error(call, m->error);
}

static void client_call_on_lost(struct rpc_request *rq, const char *why)
{
	call_fail(of_request(rq), KILLICK_ERR_PROTOCOL, "%s", why);
}

static void client_call_on_deadline(struct rpc_request *rq)
{
	struct client_call *call = CONTAINER_OF(rq, struct client_call, rq);
	char text[120];

	snprintf(text, sizeof(text), "%s within %lld ms",
		 call->state == CALL_WAITING ? "the server did not get ready"
					     : "there was no answer",
		 (long long)call->timeout_ms);
	call_abandon(call, KILLICK_ERR_TIMEOUT, "its time is over", text);
}

const struct rpc_handler call_handler = {
	.on_answer = client_call_on_answer,
	.on_lost = client_call_on_lost,
	.on_deadline = client_call_on_deadline,
};

/* --- the beginning --- */

static int call_write(struct client_call *call)
{
	struct rpc *rpc = &call->client->rpc;
	struct emit j;
	int r = rpc_begin(rpc, &call->rq, params_method(call), &j);

	if (r < 0)
		return r;
	params_call(&j, call);
	return rpc_send(rpc, &call->rq, &j);
}

static int call_write_line(struct client_call *call)
{
	struct rpc *rpc = &call->client->rpc;
	struct buf *b;
	int r = rpc_begin_text(rpc, &call->rq, &b);

	return r < 0 ? r : rpc_send_text(rpc, &call->rq, b, splice_write(b, call));
}

void call_send(struct client_call *call)
{
	int r = call->forward ? call_write_line(call) : call_write(call);

	if (r == 0) {
		call->last_id = rpc_id(&call->rq);
		call_go(call, CALL_SENT);
		if (call->party)
			call->party->wire++;
		return;
	}
	if (r == -ENOMEM)
		call_later(call, KILLICK_ERR_BUSY, NULL, "there is no memory for the request");
	else if (r == -EMSGSIZE)
		call_later(call, KILLICK_ERR_PROTOCOL, NULL, "the request is longer than %zu bytes",
			   call->client->spec->message_limit);
	else
		call_later(call, KILLICK_ERR_BUSY, NULL, "%s",
			   r == -ENOBUFS  ? "the server does not read its stdin"
			   : r == -ESTALE ? LINK_DISOWNED
					  : "the server has closed its stdin");
}

/* The result for a list that the server does not offer. */
static const char *empty_list(const struct client_call *call)
{
	static const struct {
		unsigned can;
		const char *json;
	} lists[] = {
		[KILLICK_TOOLS] = { CAN_TOOLS, "{\"tools\":[]}" },
		[KILLICK_RESOURCES] = { CAN_RESOURCES, "{\"resources\":[]}" },
		[KILLICK_TEMPLATES] = { CAN_RESOURCES, "{\"resourceTemplates\":[]}" },
		[KILLICK_PROMPTS] = { CAN_PROMPTS, "{\"prompts\":[]}" },
	};

	if (!is_list(call->op) || (call->client->can & lists[call->op].can))
		return NULL;
	return lists[call->op].json;
}

/* Is the task that the request names a task of another owner, or not known? */
static bool has_foreign_task(const struct client_call *call)
{
	const struct client_forward *fw = call->forward;

	if (fw->related.at && handles_find(call->client, HANDLE_TASK, fw->related) != call->party)
		return true; /* a question about this task would reach the other owner */
	return fw->needs_task && handles_find(call->client, HANDLE_TASK, fw->task) != call->party;
}

void call_start(struct client_call *call)
{
	const char *empty = empty_list(call);

	call_go(call, CALL_STARTING);
	if (call->forward && has_foreign_task(call))
		call_later(call, KILLICK_ERR_ANSWER,
			   "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32602,"
			   "\"message\":\"Failed to retrieve task: Task not found\"}}",
			   NULL);
	else if (empty)
		call_later(call, KILLICK_OK, empty, NULL);
	else if (call->op == KILLICK_COMPLETE && !(call->client->can & CAN_COMPLETE))
		call_later(call, KILLICK_ERR_PROTOCOL, NULL,
			   "the server does not offer completion");
	else if (call->op == KILLICK_LOG_LEVEL)
		level_start(call);
	else if (call->op == KILLICK_SUBSCRIBE)
		subscriptions_subscribe(call);
	else if (call->op == KILLICK_UNSUBSCRIBE)
		subscriptions_unsubscribe(call);
	else
		call_send(call);
}

/* Does the call need its name and its arguments after client_call has returned? */
static bool is_kept(const struct client *c, enum killick_op op)
{
	return c->state != CLIENT_READY || c->era == ERA_MODERN || op == KILLICK_SUBSCRIBE;
}

/* Copy the name, the arguments and the members of _meta. */
static void call_keep(struct client_call *call)
{
	size_t name_len = call->name ? strlen(call->name) + 1 : 0;
	char *at = mem_grow(NULL, name_len + call->args.len + call->meta.len, 1);

	call->kept = at;
	if (call->name)
		call->name = memcpy(at, call->name, name_len);
	at += name_len;
	if (call->args.at)
		call->args.at = memcpy(at, call->args.at, call->args.len);
	at += call->args.len;
	if (call->meta.at)
		call->meta.at = memcpy(at, call->meta.at, call->meta.len);
}

static void call_open(struct client *c, struct client_call *call, int level)
{
	assert(call->state == CALL_IDLE);
	call->client = c;
	call->state = CALL_STARTING;
	call->level = level;
	call->old_level = LEVEL_UNSET;
	if (call->forward) {
		assert(call->op == KILLICK_RAW);
		if (c->state != CLIENT_READY || call->forward->is_tasked || /* see learn_task */
		    (c->era == ERA_MODERN && call->forward->era == ERA_LEGACY))
			client_forward_keep(call->forward);
	} else if (is_kept(c, call->op) || call->meta.at) { /* a list may have several pages */
		call_keep(call);
	}
	rpc_open(&c->rpc, &call->rq, &call_handler, call->timeout_ms);
}

void client_call(struct client *c, struct client_call *call)
{
	assert(call->on_done);
	call_open(c, call, LEVEL_NONE);
	call->party = party_get(c, call->owner);
	call->party->open++;
	if (call->forward) {
		call->party->modern = call->forward->era == ERA_MODERN;
		c->forwards = true;
	}
	c->open++;
	ring_add(&call->party->calls, &call->of_owner);
	if (c->state == CLIENT_OVER) {
		call->over = true;
		call_later(call, c->over_code, NULL, NULL);
	} else if (c->spec->max_in_flight && c->open > c->spec->max_in_flight) {
		call_later(call, KILLICK_ERR_BUSY, NULL,
			   "%u requests are in flight, which is the limit", c->spec->max_in_flight);
	} else if (c->state == CLIENT_READY) {
		call_start(call);
	} else {
		call_go(call, CALL_WAITING);
	}
	if (!call->kept) { /* both belong to the caller of client_call */
		call->name = NULL;
		call->args = call->meta = JSON_NONE;
	}
}

void call_own(struct client *c, enum killick_op op, const char *name, int level)
{
	struct client_call *call;

	if (c->state != CLIENT_READY)
		return;
	call = mem_grow(NULL, 1, sizeof(*call));
	*call = (struct client_call){ .op = op, .name = name, .timeout_ms = OWN_TIMEOUT_MS };
	call_open(c, call, level);
	call_send(call);
}
