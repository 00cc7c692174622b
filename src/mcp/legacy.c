/* legacy.c - parts of the legacy era only: initialize, and one log level for all owners. */
#include <stdlib.h>
#include <string.h>

#include "mcp/client_internal.h"

/* --- initialize --- */

static const char *const versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05",
					NULL };

const char *legacy_version(struct json v)
{
	for (const char *const *ours = versions; *ours; ours++)
		if (json_is(v, *ours))
			return *ours;
	return NULL;
}

const char *legacy_choose(struct json list)
{
	return handshake_choose(versions, list);
}

static void legacy_on_result(struct client *c, struct json result)
{
	struct json asked = json_get(result, "protocolVersion");
	const char *version = legacy_version(asked);
	char name[40] = "";

	if (!version) {
		if (json_string_into(asked, name, sizeof(name)))
			handshake_fail(c,
				       "the server answered with protocol version '%s', which "
				       "killick does not speak",
				       name);
		else
			handshake_fail(c,
				       "the server's answer to initialize has no protocolVersion");
		return;
	}
	facts_read(c, version, json_get(result, "serverInfo"), json_get(result, "capabilities"),
		   json_get(result, "instructions"));
	handshake_ready(c, ERA_LEGACY, version);
}

static void legacy_on_error(struct client *c, struct json error)
{
	struct json supported = json_find(error, "data.supported");
	int64_t code = 0;
	char text[160] = "";
	bool hint;

	if (json_type(supported) == JSON_ARRAY) {
		handshake_offer(c, supported);
		return;
	}
	json_int(json_get(error, "code"), &code);
	json_string_into(json_get(error, "message"), text, sizeof(text));
	/* a modern server does not know the method, or misses the members that it needs */
	hint = c->spec->era == ERA_LEGACY && (code == RPC_UNKNOWN_METHOD || code == RPC_BAD_PARAMS);
	handshake_fail(c, "the server refused initialize: %s (%lld)%s", text, (long long)code,
		       hint ? "; if the server is of the modern era, set \"era\" to \"auto\"" : "");
}

static void legacy_on_initialized(struct rpc_request *rq, const struct message *m)
{
	struct client *c = CONTAINER_OF(rq, struct client, initialize);

	handshake_answered(c, rq);
	if (m->kind == MESSAGE_RESULT)
		legacy_on_result(c, m->result);
	else
		legacy_on_error(c, m->error);
}

static void legacy_on_lost(struct rpc_request *rq, const char *why)
{
	struct client *c = CONTAINER_OF(rq, struct client, initialize);

	handshake_answered(c, rq);
	handshake_fail(c, "the server was asked to initialize: %s", why);
}

/* initialize has a deadline only after the server was found to be modern. */
static void legacy_on_silent(struct rpc_request *rq)
{
	struct client *c = CONTAINER_OF(rq, struct client, initialize);

	handshake_ready(c, ERA_MODERN, c->found);
}

const struct rpc_handler legacy_initialize_handler = {
	.on_answer = legacy_on_initialized,
	.on_lost = legacy_on_lost,
	.on_deadline = legacy_on_silent,
};

/* --- log levels ---
 *
 * A legacy server has one level for its connection: the most verbose level that an owner wants.
 * incoming.c hides the messages that the other owners do not want. A modern server gets the level
 * with each request. */

static const char *const levels[] = { "debug", "info",     "notice", "warning",
				      "error", "critical", "alert",  "emergency" };
#define LEVEL_COUNT ((int)(sizeof(levels) / sizeof(levels[0])))

const char *log_level_name(int level)
{
	return levels[level];
}

int level_of(struct json name)
{
	for (int i = 0; i < LEVEL_COUNT; i++)
		if (json_is(name, levels[i]))
			return i;
	return LEVEL_NONE;
}

static int find_level(const char *name)
{
	for (int i = 0; i < LEVEL_COUNT; i++)
		if (name && strcmp(name, levels[i]) == 0)
			return i;
	return LEVEL_NONE;
}

static int most_verbose(const struct client *c)
{
	int level = LEVEL_NONE;

	for (struct ring *n = c->owners.next; n != &c->owners; n = n->next) {
		const struct party *o = CONTAINER_OF(n, struct party, node);

		if (o->level != LEVEL_NONE && (level == LEVEL_NONE || o->level < level))
			level = o->level;
	}
	return level;
}

void level_start(struct client_call *call)
{
	struct client *c = call->client;
	int level = find_level(call->name);

	call->old_level = call->party->level;
	if (level == LEVEL_NONE) {
		call_later(call, KILLICK_ERR_PROTOCOL, NULL, "'%.40s' is no log level",
			   call->name ? call->name : "");
		return;
	}
	if (!(c->can & CAN_LOG)) {
		call_later(call, KILLICK_ERR_PROTOCOL, NULL, "the server does not offer logging");
		return;
	}
	call->party->level = level;
	call->level = most_verbose(c);
	if (c->era == ERA_MODERN || (call->level != level && call->level == c->wire_level))
		call_later(call, KILLICK_OK, "{}", NULL);
	else
		call_send(call);
}

void level_settle(struct client_call *call, int code)
{
	struct client *c = call->client;

	if (code == KILLICK_OK && c->era == ERA_LEGACY)
		c->wire_level = call->level;
	else if (code != KILLICK_OK && call->old_level != LEVEL_UNSET)
		call->party->level = call->old_level;
}

/* An owner has left. If only this owner wanted the current level, send the less verbose one. */
void level_forget(struct client *c)
{
	int level = most_verbose(c);

	if (c->era != ERA_LEGACY || level == LEVEL_NONE || level <= c->wire_level)
		return;
	c->wire_level = level;
	call_own(c, KILLICK_LOG_LEVEL, NULL, level);
}
