/* incoming.c - what the server sends by itself: notifications and requests, and whose they are.
 *
 * A progress report names the request it belongs to. A log message and a legacy server's request
 * name nothing: they are an owner's when it alone has requests in the server. Requests that were
 * given up count for a while, because the server may still work on them. What may belong to an
 * owner that has left is declined here; what may belong to several is told as nobody's.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "mcp/client_internal.h"

#define ASKS_MAX      256              /* requests of the server that are open at once */
#define LATE_COUNT_US (60 * 1000000LL) /* how long a request that was given up may still ask */
#define DECLINE       "{\"action\":\"decline\"}"

/* --- whose --- */

enum who { WHO_NOBODY, WHO_ONE, WHO_SEVERAL, WHO_GONE };

static enum who who_is(struct client *c, struct party **out)
{
	int64_t since = loop_now_us() - LATE_COUNT_US;
	struct party *one = NULL;
	bool several = false, gone = false;

	for (struct peer_node *n = c->owners.next; n != &c->owners; n = n->next) {
		struct party *o = PEER_OF(n, struct party, node);

		if (!o->wire)
			continue;
		several |= one != NULL;
		one = o;
	}
	for (size_t i = 0; i < c->peer.late_count; i++) {
		const struct peer_late *late = &c->peer.late[i];

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
	double progress = 0, total = 0;

	json_double(json_get(params, "progress"), &progress);
	json_double(json_get(params, "total"), &total);
	json_string(json_get(params, "message"), &message);
	call->on_progress(call->ctx, progress, total, message ? message : "");
}

static void on_progress(struct client *c, struct json params)
{
	struct peer_request *rq;
	struct client_call *call;
	int64_t token;

	if (!json_int(json_get(params, "progressToken"), &token) || token <= 0) {
		peer_warn(&c->peer, ODD_PROGRESS,
			  "the server reported progress of nothing that was asked");
		return;
	}
	rq = peer_find(&c->peer, (uint64_t)token);
	if (!rq || rq->handler != &call_handler)
		return; /* it crossed the answer, or a cancellation */
	call = PEER_OF(rq, struct client_call, rq);
	if (call->progress_extends)
		peer_extend(&c->peer, rq, call->timeout_ms);
	if (call->wants_progress && call->on_progress)
		report_progress(call, params);
}

#define LEVEL_DEFAULT 1 /* what an owner hears that did not say: "info" */

static bool hears(const struct party *o, int level)
{
	int wanted = o->level == LEVEL_NONE ? LEVEL_DEFAULT : o->level;

	return level == LEVEL_NONE || level >= wanted;
}

static bool has_levels(const struct client *c)
{
	for (struct peer_node *n = c->owners.next; n != &c->owners; n = n->next)
		if (PEER_OF(n, struct party, node)->level != LEVEL_NONE)
			return true;
	return false;
}

/* While nobody chose a level the server's own choice counts. What it says while it works for
 * several may be about any of them, and is no other's to read. */
static void on_log(struct client *c, struct json params)
{
	int level = level_of(json_get(params, "level"));
	struct party *one;
	enum who who = who_is(c, &one);

	if (who == WHO_ONE) {
		if (!has_levels(c) || hears(one, level))
			c->ev->on_note(c->ctx, NOTE_LOG, one->key, params);
		return;
	}
	if (who == WHO_SEVERAL || !has_levels(c)) {
		c->ev->on_note(c->ctx, NOTE_LOG, NULL, params);
		return;
	}
	for (struct peer_node *n = c->owners.next, *next; n != &c->owners; n = next) {
		struct party *o = PEER_OF(n, struct party, node);

		next = n->next;
		if (hears(o, level))
			c->ev->on_note(c->ctx, NOTE_LOG, o->key, params);
	}
}

static void ask_remove(struct client *c, struct ask *a)
{
	free(a->id);
	*a = c->asks[--c->ask_count];
}

/* The server gives up a request of its own, or ends a stream. */
static void on_cancelled(struct client *c, struct json params)
{
	struct json id = json_get(params, "requestId");

	if (!id.at || listen_cancelled(c, id))
		return;
	for (size_t i = 0; i < c->ask_count; i++) {
		struct ask *a = &c->asks[i];

		if (a->id && strlen(a->id) == id.len && memcmp(a->id, id.at, id.len) == 0) {
			ask_remove(c, a);
			return;
		}
	}
}

/* What is told on a stream in the modern era, and just so in the others. */
static void on_change(struct client *c, const struct message *m)
{
	static const struct {
		const char *method;
		enum client_note note;
	} lists[] = {
		{ "notifications/tools/list_changed", NOTE_TOOLS },
		{ "notifications/resources/list_changed", NOTE_RESOURCES },
		{ "notifications/prompts/list_changed", NOTE_PROMPTS },
	};

	if (c->era == ERA_MODERN && !listen_is_open(c, m->params))
		return;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (json_is(m->method, lists[i].method)) {
			c->ev->on_note(c->ctx, lists[i].note, NULL, m->params);
			return;
		}
	}
	if (json_is(m->method, "notifications/resources/updated"))
		subscriptions_updated(c, m->params);
}

static void on_notification(void *ctx, const struct message *m)
{
	struct client *c = ctx;

	if (json_is(m->method, "notifications/progress"))
		on_progress(c, m->params);
	else if (json_is(m->method, "notifications/message"))
		on_log(c, m->params);
	else if (c->state != CLIENT_READY)
		return;
	else if (json_is(m->method, "notifications/cancelled"))
		on_cancelled(c, m->params);
	else if (json_is(m->method, "notifications/subscriptions/acknowledged"))
		listen_acknowledged(c, m->params);
	else
		on_change(c, m);
}

/* --- asks --- */

static const struct {
	unsigned kind;
	const char *method;
} asks[] = {
	{ ANSWER_SAMPLING, "sampling/createMessage" },
	{ ANSWER_ELICITATION, "elicitation/create" },
	{ ANSWER_ROOTS, "roots/list" },
};
#define ASK_KINDS (sizeof(asks) / sizeof(asks[0]))

unsigned ask_kind(struct json method)
{
	for (size_t i = 0; i < ASK_KINDS; i++)
		if (json_is(method, asks[i].method))
			return asks[i].kind;
	return 0;
}

const char *ask_method(unsigned kind)
{
	size_t i = 0;

	while (i < ASK_KINDS - 1 && asks[i].kind != kind)
		i++;
	assert(asks[i].kind == kind);
	return asks[i].method;
}

static struct ask *ask_find(struct client *c, uint64_t number)
{
	for (size_t i = 0; i < c->ask_count; i++)
		if (c->asks[i].number == number)
			return &c->asks[i];
	return NULL;
}

static struct ask *ask_add(struct client *c, unsigned kind, struct party *owner)
{
	if (c->ask_count == c->ask_room) {
		c->ask_room = c->ask_room ? 2 * c->ask_room : 4;
		c->asks = mem_grow(c->asks, c->ask_room, sizeof(*c->asks));
	}
	c->asks[c->ask_count] =
		(struct ask){ .number = ++c->last_ask, .kind = kind, .owner = owner };
	return &c->asks[c->ask_count++];
}

/* Say no in the way that fits the question. */
static void ask_decline(struct client *c, struct ask *a, const char *reason)
{
	struct client_call *call = a->call;
	struct json id = { a->id, a->id ? strlen(a->id) : 0 };
	const char *method = ask_method(a->kind);
	size_t slot = a->slot;
	bool elicitation = a->kind == ANSWER_ELICITATION;

	if (!call && elicitation)
		peer_answer(&c->peer, id, DECLINE, sizeof(DECLINE) - 1);
	else if (!call)
		peer_refuse(&c->peer, id,
			    a->kind == ANSWER_SAMPLING ? CODE_REJECTED : CODE_INTERNAL, reason);
	ask_remove(c, a);
	if (call && elicitation)
		rounds_answer(call, slot, DECLINE, sizeof(DECLINE) - 1);
	else if (call)
		call_later(call, CALL_CANCELLED, NULL, "the server's %s was declined: %.200s",
			   method, reason);
}

/* Hand it to our side; whatever that does, the ask may be gone after it. */
static void ask_put(struct client *c, struct ask *a, struct json params)
{
	uint64_t number = a->number;
	void *key = a->owner ? a->owner->key : NULL;

	if (c->ev->on_ask(c->ctx, key, number, ask_method(a->kind), params))
		return;
	a = ask_find(c, number);
	if (a)
		ask_decline(c, a, "nobody is there to answer");
}

void ask_of_call(struct client_call *call, size_t slot, unsigned kind, struct json params)
{
	struct client *c = call->client;
	struct ask *a;

	if (c->ask_count >= ASKS_MAX) {
		call_later(call, CALL_PROTOCOL, NULL, "the server asks too much at once");
		return;
	}
	a = ask_add(c, kind, call->owner);
	a->call = call;
	a->slot = slot;
	ask_put(c, a, params);
}

static void ask_of_server(struct client *c, unsigned kind, const struct message *m)
{
	struct party *one;
	enum who who = who_is(c, &one);
	struct ask *a;
	char *id;

	if (c->ask_count >= ASKS_MAX) {
		peer_warn(&c->peer, ODD_ASK, "the server has more than %d requests open", ASKS_MAX);
		peer_refuse(&c->peer, m->id, CODE_INTERNAL, "too many requests are open");
		return;
	}
	id = mem_try_text(m->id.at, m->id.len);
	if (!id) {
		peer_warn(&c->peer, ODD_ASK, "there is no memory for a request of the server");
		return;
	}
	a = ask_add(c, kind, one);
	a->id = id;
	if (who == WHO_GONE)
		ask_decline(c, a, "whoever this belongs to may have left");
	else
		ask_put(c, a, m->params);
}

static void on_request(void *ctx, const struct message *m)
{
	struct client *c = ctx;
	unsigned kind = ask_kind(m->method);

	if (json_is(m->method, "ping"))
		peer_answer(&c->peer, m->id, "{}", 2);
	else if (kind & c->spec->answers && c->state == CLIENT_READY && c->era == ERA_LEGACY)
		ask_of_server(c, kind, m);
	else
		peer_refuse(&c->peer, m->id, CODE_METHOD_NOT_FOUND, "Method not found");
}

static void on_warning(void *ctx, const char *text)
{
	struct client *c = ctx;

	c->ev->on_warning(c->ctx, text);
}

const struct peer_events incoming_events = {
	.on_request = on_request,
	.on_notification = on_notification,
	.on_warning = on_warning,
};

/* --- answers --- */

void client_answer(struct client *c, uint64_t number, const char *json, size_t len)
{
	struct ask *a = ask_find(c, number);
	struct client_call *call;
	struct json v;
	size_t slot;

	if (!a)
		return; /* what it belonged to is over */
	if (json_check(json, len, 0, &v, NULL) < 0 || json_type(v) != JSON_OBJECT) {
		peer_warn(&c->peer, ODD_ANSWER,
			  "the answer to %s is no JSON object: it was declined",
			  ask_method(a->kind));
		ask_decline(c, a, "the answer could not be used");
		return;
	}
	call = a->call;
	slot = a->slot;
	if (!call)
		peer_answer(&c->peer, (struct json){ a->id, strlen(a->id) }, v.at, v.len);
	ask_remove(c, a);
	if (call)
		rounds_answer(call, slot, v.at, v.len);
}

void client_decline(struct client *c, uint64_t number, const char *reason)
{
	struct ask *a = ask_find(c, number);

	if (a)
		ask_decline(c, a, reason ? reason : "declined");
}

void ask_drop_of(struct client *c, const struct client_call *call)
{
	for (size_t i = c->ask_count; i-- > 0;)
		if (c->asks[i].call == call)
			ask_remove(c, &c->asks[i]);
}

void ask_forget(struct client *c, const struct party *owner, const char *why)
{
	for (size_t i = c->ask_count; i-- > 0;)
		if (c->asks[i].owner == owner && !c->asks[i].call)
			ask_decline(c, &c->asks[i], why);
}

void ask_done(struct client *c)
{
	while (c->ask_count)
		ask_remove(c, &c->asks[c->ask_count - 1]);
}
