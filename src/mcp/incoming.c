/* incoming.c - notifications and requests of the server, and their owners.
 *
 * A progress report names its request, and some messages name a task or an elicitation. A log
 * message and a legacy server's request usually name no request: they belong to an owner if only
 * this owner has requests in the server. Requests that were given up count for a while, because the
 * server may still work on them. A request that may belong to an owner that has left is dismissed
 * here; so is a request that comes while no owner has a request in the server, once an owner has
 * left. A message that may belong to several owners has the owner NULL.
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
#define CANCEL        "{\"action\":\"cancel\"}"
#define WHEN_READY    0x100u /* flag of a notification: ignored before the handshake is over */
#define NOTE_MASK     0xffu  /* its enum killick_event_kind */

/* --- owners --- */

enum who { WHO_NOBODY, WHO_ONE, WHO_SEVERAL, WHO_GONE };

/* What is known about the owners of the requests in the server. */
struct owners_seen {
	struct party *one;
	bool several, gone;
};

static void who_is_late(const struct client *c, const struct rpc_late *late, int64_t since,
			struct owners_seen *seen)
{
	if (!late->tag || late->at_us < since)
		return;
	if (late->tag == c) {
		seen->gone = true;
		return;
	}
	seen->several |= seen->one && seen->one != late->tag;
	seen->one = late->tag;
}

static enum who who_is(struct client *c, struct party **out)
{
	int64_t since = loop_now_us() - LATE_COUNT_US;
	struct owners_seen seen = { .one = NULL };

	for (struct ring *n = c->owners.next; n != &c->owners; n = n->next) {
		struct party *o = CONTAINER_OF(n, struct party, node);

		if (!o->wire)
			continue;
		seen.several |= seen.one != NULL;
		seen.one = o;
	}
	for (size_t i = 0; i < c->rpc.late_count; i++)
		who_is_late(c, &c->rpc.late[i], since, &seen);
	for (size_t i = 0; i < RPC_DROPPED; i++)
		who_is_late(c, &c->rpc.dropped[i], since, &seen);
	/* a timer of the server may work for an owner that has left, for any time */
	seen.gone |= !seen.one && c->forwards && c->left;
	*out = seen.several || seen.gone ? NULL : seen.one;
	return seen.gone ? WHO_GONE : seen.several ? WHO_SEVERAL : seen.one ? WHO_ONE : WHO_NOBODY;
}

static struct client_call *call_of_token(struct client *c, struct json token)
{
	struct rpc_request *rq;
	int64_t number;

	if (!json_int(token, &number) || number <= 0)
		return NULL;
	rq = rpc_find(&c->rpc, (uint64_t)number);
	return rq && rq->handler == &call_handler ? CONTAINER_OF(rq, struct client_call, rq) : NULL;
}

/* The owner that the _meta of a message names, by a task or a progress token; NULL: none, or one
 * that is not known. out_named: the message names an owner. The progress token of a request is the
 * server's own: it may be equal to one of ours. */
static struct party *party_of_meta(struct client *c, struct json params, bool is_request,
				   bool *out_named)
{
	struct json meta = json_get(params, "_meta");
	struct json task = json_get(json_get(meta, META("related-task")), "taskId");
	struct json token = is_request ? JSON_NONE : json_get(meta, "progressToken");
	const struct client_call *call;

	*out_named = task.at || token.at;
	if (task.at)
		return handles_find(c, HANDLE_TASK, task);
	call = token.at ? call_of_token(c, token) : NULL;
	return call ? call->party : NULL;
}

/* The only owner of the client; NULL: no owner, or several. */
static struct party *only_party(const struct client *c)
{
	struct ring *first = ring_first(&c->owners);

	return first && first->next == &c->owners ? CONTAINER_OF(first, struct party, node) : NULL;
}

/* Like who_is, for a message that may name its owner. A name that is not known belongs to an owner
 * that has left, unless there never was another owner. Tasks of the host's own calls have no
 * handles. */
static enum who who_sent(struct client *c, struct json params, bool is_request, struct party **out)
{
	bool named;

	*out = party_of_meta(c, params, is_request, &named);
	if (*out)
		return WHO_ONE;
	if (named && c->forwards && (c->left || !only_party(c)))
		return WHO_GONE;
	return who_is(c, out);
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

/* Progress of a request that has been answered: the answer may have been a task. Else the report
 * crossed the answer or a cancellation. */
static void report_task(struct client *c, uint64_t number, struct json params)
{
	struct party *owner;
	struct json token = handles_progress(c, number, &owner);

	if (!token.at || !c->ev->on_other)
		return;
	buf_reset(&c->splice, 4096);
	if (splice_token(&c->splice, params, token) == 0)
		c->ev->on_other(c->ctx, owner->key, "notifications/progress",
				(struct json){ c->splice.data, c->splice.len });
}

static void incoming_on_progress(void *ctx, const struct reply *r, struct json params)
{
	struct client *c = ctx;
	struct json token = json_get(params, "progressToken");
	struct client_call *call = call_of_token(c, token);
	int64_t number;

	(void)r;
	if (!json_int(token, &number) || number <= 0) {
		odd_warn(c, ODD_PROGRESS, "the server reported progress of nothing that was asked");
		return;
	}
	if (!call) {
		report_task(c, (uint64_t)number, params);
		return;
	}
	if (call->progress_extends)
		rpc_extend(&c->rpc, &call->rq, call->timeout_ms);
	if (call->forward && call->forward->on_report)
		call->forward->on_report(call, params);
	else if (call->on_progress)
		report_progress(call, params);
}

#define LEVEL_DEFAULT 1 /* "info", for an owner that has not chosen a level */

static bool incoming_hears(const struct party *o, int level)
{
	int wanted = o->level == LEVEL_NONE ? LEVEL_DEFAULT : o->level;

	return level == LEVEL_NONE || o->modern || level >= wanted;
}

static bool has_levels(const struct client *c)
{
	for (struct ring *n = c->owners.next; n != &c->owners; n = n->next)
		if (CONTAINER_OF(n, struct party, node)->level != LEVEL_NONE)
			return true;
	return false;
}

static void log_to_all(struct client *c, int level, struct json params)
{
	bool levels = has_levels(c);

	for (struct ring *n = c->owners.next, *next; n != &c->owners; n = next) {
		struct party *o = CONTAINER_OF(n, struct party, node);

		next = n->next;
		if (!levels || incoming_hears(o, level))
			c->ev->on_note(c->ctx, KILLICK_EVENT_LOG, o->key, params);
	}
}

/* If no owner has chosen a level, the server's own level counts. While the server works for several
 * owners, a log message may be about any of them, so it is reported without an owner. */
static void incoming_on_log(void *ctx, const struct reply *r, struct json params)
{
	struct client *c = ctx;
	int level = level_of(json_get(params, "level"));
	struct party *one;
	enum who who;

	(void)r;
	who = who_sent(c, params, false, &one);
	if (c->spec->logs == CLIENT_LOGS_ALL && who != WHO_ONE) {
		log_to_all(c, level, params);
		return;
	}
	if (who == WHO_NOBODY && c->spec->logs == CLIENT_LOGS_OWN && only_party(c)) {
		who = WHO_ONE;
		one = only_party(c);
	}
	if (who == WHO_ONE) {
		if (!has_levels(c) || incoming_hears(one, level))
			c->ev->on_note(c->ctx, KILLICK_EVENT_LOG, one->key, params);
		return;
	}
	if (c->spec->logs == CLIENT_LOGS_OWN && (who == WHO_GONE || !ring_is_empty(&c->owners)))
		return; /* the message may have data of one owner only */
	if (who == WHO_SEVERAL || !has_levels(c))
		c->ev->on_note(c->ctx, KILLICK_EVENT_LOG, NULL, params);
	else
		log_to_all(c, level, params);
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

/* The ask is over without an answer. */
static void ask_withdraw(struct ask *a)
{
	struct client *c = a->client;

	if (a->told && c->ev->on_ask_over)
		c->ev->on_ask_over(c->ctx, a->owner ? a->owner->key : NULL, a->number);
	ask_remove(a);
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

/* A server that pings and does not read must not fill the queue: half of it is kept for requests.
 */
static void on_ping(void *ctx, const struct reply *r, struct json params)
{
	const struct client *c = ctx;

	(void)params;
	if (link_unwritten(c->lines.link) <= c->spec->message_limit / 2)
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

/* Refuse in the form that MCP has for the kind of the ask: a result for elicitation, otherwise an
 * error. action: of the result. */
static void incoming_ask_refuse(struct ask *a, const char *action, const char *reason)
{
	struct client_call *call = a->call;
	const char *method = ask_method(a->kind);
	size_t slot = a->slot;
	bool elicitation = a->kind == KILLICK_ELICITATION;

	if (!call && elicitation)
		reply_json(&a->answer->reply, action, strlen(action));
	else if (!call)
		reply_error(&a->answer->reply,
			    a->kind == KILLICK_SAMPLING ? RPC_REJECTED : RPC_INTERNAL, "%s",
			    reason);
	ask_remove(a);
	if (call && elicitation)
		rounds_answer(call, slot, action, strlen(action));
	else if (call)
		call_later(call, KILLICK_ERR_CANCELLED, NULL,
			   "the server's %s was declined: %.200s", method, reason);
}

/* No person has decided, so the answer to an elicitation is not "decline". */
static void incoming_ask_dismiss(struct ask *a, const char *reason)
{
	incoming_ask_refuse(a, CANCEL, reason);
}

/* Pass the ask to the host. The handler may end the ask, so `a` must not be used afterwards. */
static void incoming_ask_put(struct client *c, struct ask *a, struct json params)
{
	uint64_t number = a->number;
	void *key = a->owner ? a->owner->key : NULL;

	bool told = c->ev->on_ask(c->ctx, key, number, ask_method(a->kind), params);

	a = ask_find(c, number);
	if (a && told)
		a->told = true;
	else if (a)
		incoming_ask_dismiss(a, "no handler can answer this request");
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
	ask_withdraw(ctx);
}

static void on_ask(void *ctx, const struct reply *r, struct json params)
{
	struct client *c = ctx;
	struct party *one;
	enum who who = who_sent(c, params, true, &one);
	struct ask *a;

	/* JSON-RPC has arrays, too, but every reader of a question walks its members */
	if (params.at && json_type(params) != JSON_OBJECT) {
		odd_warn(c, ODD_ASK, "the server sent a request whose params are no object");
		reply_error(r, RPC_BAD_PARAMS, "params are no object");
		return;
	}
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
	if (a->kind == KILLICK_ELICITATION)
		handles_add(c, HANDLE_ELICITATION, json_get(params, "elicitationId"), one);
	if (who == WHO_GONE)
		incoming_ask_dismiss(a, "the session that this belongs to may have left");
	else
		incoming_ask_put(c, a, params);
}

#define METHOD_MAX 128 /* bytes of the name of a method */

/* A notification that has no meaning for this client. */
static void incoming_on_other(struct client *c, const struct message *m)
{
	struct json task = json_get(m->params, "taskId"),
		    elicitation = json_get(m->params, "elicitationId");
	char method[METHOD_MAX];
	struct party *one = NULL;
	enum who who = WHO_NOBODY;

	if (c->state != CLIENT_READY || !c->ev->on_other || m->method.len > METHOD_MAX)
		return;
	json_string_into(m->method, method, sizeof(method));
	if (task.at)
		one = handles_find(c, HANDLE_TASK, task);
	else if (elicitation.at)
		one = handles_find(c, HANDLE_ELICITATION, elicitation);
	else
		who = who_sent(c, m->params, false, &one);
	if (!one && (task.at || elicitation.at) && (c->left || !only_party(c)))
		who = WHO_GONE; /* it belongs to an owner that has left */
	if (who != WHO_GONE)
		c->ev->on_other(c->ctx, one ? one->key : NULL, method, m->params);
}

static bool incoming_admit(void *ctx, const struct reply *r, const struct message *m)
{
	struct client *c = ctx;
	unsigned flags = r->method ? r->method->flags : 0;

	if (m->kind == MESSAGE_NOTIFICATION && !r->method)
		incoming_on_other(c, m);
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

bool client_has_asks(const struct client *c)
{
	return c->ask_count > 0;
}

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
		odd_warn(c, ODD_ANSWER, "the answer to %s is no JSON object: it was not used",
			 ask_method(a->kind));
		incoming_ask_dismiss(a, "the answer could not be used");
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
		incoming_ask_refuse(a, DECLINE, reason ? reason : "declined");
}

void client_dismiss(struct client *c, uint64_t number, const char *reason)
{
	struct ask *a = ask_find(c, number);

	if (a)
		incoming_ask_dismiss(a, reason);
}

void client_refuse(struct client *c, uint64_t number, struct json error)
{
	struct ask *a = ask_find(c, number);
	char reason[200] = "the client has answered with an error";

	if (!a)
		return;
	if (a->call) { /* of a modern server, which takes no errors */
		json_string_into(json_get(error, "message"), reason, sizeof(reason));
		incoming_ask_dismiss(a, reason);
		return;
	}
	reply_json_error(&a->answer->reply, error.at, error.len);
	ask_remove(a);
}

void ask_drop_of(struct client *c, const struct client_call *call)
{
	RING_EACH(n, &c->asks) {
		struct ask *a = CONTAINER_OF(n, struct ask, node);

		if (a->call == call)
			ask_withdraw(a);
	}
}

void ask_forget(struct client *c, const struct party *owner, const char *why)
{
	RING_EACH(n, &c->asks) {
		struct ask *a = CONTAINER_OF(n, struct ask, node);

		if (a->owner != owner || a->call)
			continue;
		if (a->told && c->ev->on_ask_over)
			c->ev->on_ask_over(c->ctx, owner->key, a->number);
		incoming_ask_dismiss(a, why);
	}
}

void ask_done(struct client *c)
{
	RING_EACH(n, &c->asks)
		ask_withdraw(CONTAINER_OF(n, struct ask, node));
}
