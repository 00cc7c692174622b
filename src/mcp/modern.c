/* modern.c - parts of the modern era only: server/discover, and results that ask for input.
 *
 * A modern server does not send requests. When the server needs input (sampling, roots,
 * elicitation) its result lists the questions; the same request is then sent again, under a new id,
 * with the answers and with the `requestState` of the result.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/client_internal.h"

#define ROUNDS_MAX 16 /* rounds of one request */
#define ITEMS_MAX  64 /* questions in one result */

static const char *const versions[] = { "2026-07-28", NULL };

const char *modern_choose(struct json list)
{
	return handshake_choose(versions, list);
}

bool modern_retry(struct client_call *call, struct json error)
{
	const char *version = modern_choose(json_find(error, "data.supported"));
	struct client *c = call->client;
	int64_t code;

	if (call->retried || !version || !json_int(json_get(error, "code"), &code) ||
	    code != RPC_VERSION)
		return false;
	call->retried = true;
	if (version != c->version) {
		c->version = version;
		free(c->meta);
		c->meta = params_meta(c);
	}
	return true;
}

/* --- server/discover --- */

static void modern_on_result(struct client *c, struct json result)
{
	struct json list = json_get(result, "supportedVersions");
	const char *version = modern_choose(list);

	if (json_type(list) != JSON_ARRAY || modern_type(result) != RESULT_COMPLETE) {
		handshake_not_modern(c, "its answer makes no sense");
		return;
	}
	if (version) {
		facts_read(c, version, json_get(json_get(result, "_meta"), META("serverInfo")),
			   json_get(result, "capabilities"), json_get(result, "instructions"));
		handshake_discovered(c, version);
	} else if (c->state == CLIENT_PROBING) {
		handshake_offer(c, list);
	} else {
		handshake_not_modern(c, "it has none of our versions");
	}
}

static void modern_on_error(struct client *c, struct json error)
{
	char text[160] = "", why[200];
	int64_t code = 0;

	json_int(json_get(error, "code"), &code);
	json_string_into(json_get(error, "message"), text, sizeof(text));
	snprintf(why, sizeof(why), "it refused: %s (%lld)", text, (long long)code);
	if (c->state == CLIENT_PROBING && code == RPC_VERSION)
		handshake_offer(c, json_find(error, "data.supported"));
	else if (c->state == CLIENT_PROBING &&
		 (code == RPC_MISSING_CAPABILITY || code == RPC_HEADER_MISMATCH))
		handshake_fail(c, "the server was asked for server/discover: %s", why);
	else
		handshake_not_modern(c, why);
}

static void on_discovered(struct rpc_request *rq, const struct message *m)
{
	struct client *c = CONTAINER_OF(rq, struct client, discover);

	handshake_answered(c, rq);
	if (m->kind == MESSAGE_RESULT)
		modern_on_result(c, m->result);
	else
		modern_on_error(c, m->error);
}

static void modern_on_lost(struct rpc_request *rq, const char *why)
{
	struct client *c = CONTAINER_OF(rq, struct client, discover);

	handshake_answered(c, rq);
	handshake_not_modern(c, why);
}

/* The server did not answer in time. The request stays open. */
static void modern_on_silent(struct rpc_request *rq)
{
	struct client *c = CONTAINER_OF(rq, struct client, discover);

	if (c->state == CLIENT_PROBING)
		handshake_initialize(c, NULL);
}

const struct rpc_handler modern_discover_handler = {
	.on_answer = on_discovered,
	.on_lost = modern_on_lost,
	.on_deadline = modern_on_silent,
};

/* --- results --- */

enum result_type modern_type(struct json result)
{
	struct json type = json_get(result, "resultType");

	if (!type.at || json_is(type, "complete"))
		return RESULT_COMPLETE;
	return json_is(type, "input_required") ? RESULT_INPUT : RESULT_UNKNOWN;
}

static void clear_items(struct rounds *r)
{
	for (size_t i = 0; i < r->item_count; i++) {
		free(r->items[i].key);
		free(r->items[i].answer);
	}
	free(r->items);
	free(r->state);
	r->items = NULL;
	r->state = NULL;
	r->item_count = r->missing = 0;
}

void rounds_free(struct rounds *r)
{
	if (!r)
		return;
	clear_items(r);
	free(r);
}

/* Read the questions. All of them are checked before the first one is asked. Returns NULL, or why
 * the result is invalid. */
static const char *read_items(struct rounds *r, unsigned answers, struct json asked)
{
	struct json_iter it = json_iter(asked);
	size_t count = json_count(asked);

	if (count > ITEMS_MAX)
		return "more questions than can be asked at once";
	r->items = mem_grow(NULL, count ? count : 1, sizeof(*r->items));
	while (json_each(&it)) {
		enum json_type params = json_type(json_get(it.value, "params"));
		unsigned kind = ask_kind(json_get(it.value, "method"));

		if (!(kind & answers))
			return "something that was not offered";
		if (params != JSON_OBJECT && params != JSON_ABSENT && params != JSON_NULL)
			return "input by a question whose params are no object";
		assert(r->item_count < count);
		r->items[r->item_count] =
			(struct round_item){ .key = mem_try_text(it.key.at, it.key.len) };
		if (!r->items[r->item_count].key)
			return "more input than there is memory for";
		r->item_count++;
	}
	r->missing = r->item_count;
	return NULL;
}

/* Begin a round. Returns NULL, or why the result is invalid. */
static const char *read_round(struct client_call *call, struct json result)
{
	struct json asked = json_get(result, "inputRequests"),
		    state = json_get(result, "requestState");
	struct rounds *r = call->rounds;

	if (!r) {
		r = call->rounds = mem_grow(NULL, 1, sizeof(*r));
		*r = (struct rounds){ .count = 0 };
	}
	clear_items(r);
	if (++r->count > ROUNDS_MAX)
		return "input again and again";
	if (!asked.at && !state.at)
		return "input without saying what";
	if ((asked.at && json_type(asked) != JSON_OBJECT) ||
	    (state.at && json_type(state) != JSON_STRING))
		return "input in a way that makes no sense";
	if (state.at && !(r->state = mem_try_text(state.at, state.len)))
		return "more input than there is memory for";
	return read_items(r, call->client->spec->answers, asked);
}

void rounds_begin(struct client_call *call, struct json result)
{
	struct client *c = call->client;
	const char *bad = read_round(call, result);
	struct json_iter it = json_iter(json_get(result, "inputRequests"));

	if (bad) {
		call_fail(call, KILLICK_ERR_PROTOCOL, "the server wants %s", bad);
		return;
	}
	call_go(call, CALL_ASKING);
	call->rounds->missing++; /* keeps the request back until all questions are asked */
	c->asking = call;
	for (size_t slot = 0; c->asking == call && json_each(&it); slot++) {
		struct json params = json_get(it.value, "params");

		ask_of_call(call, slot, ask_kind(json_get(it.value, "method")),
			    json_type(params) == JSON_OBJECT ? params : JSON_NONE);
	}
	if (c->asking != call)
		return; /* the call ended meanwhile */
	c->asking = NULL;
	if (--call->rounds->missing == 0)
		call_send(call);
}

void rounds_answer(struct client_call *call, size_t slot, const char *json, size_t len)
{
	struct rounds *r = call->rounds;

	assert(call->state == CALL_ASKING && slot < r->item_count && !r->items[slot].answer);
	r->items[slot].answer = mem_text(json, len);
	if (--r->missing == 0)
		call_send(call);
}
