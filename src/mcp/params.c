/* params.c - writes the params of our requests, directly into the send buffer. */
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "mcp/client_internal.h"

#define LINE_ROOM 512 /* bytes of a request without its arguments; the buffer can grow */

static void put_text(struct emit *j, const char *key, const char *text)
{
	emit_text(j, key, text ? text : "", text ? strlen(text) : 0);
}

/* --- info and capabilities --- */

static void put_info(struct emit *j, const char *key, const struct client_spec *spec)
{
	emit_open(j, key, '{');
	put_text(j, "name", spec->name);
	put_text(j, "version", spec->version);
	emit_close(j);
}

/* The modern revisions have no notification about roots. */
/* `extensions` are those that the host declares for one request; JSON_NONE: none. */
static void put_capabilities(struct emit *j, const char *key, unsigned answers, enum client_era era,
			     struct json extensions)
{
	emit_open(j, key, '{');
	if (answers & KILLICK_ROOTS) {
		emit_open(j, "roots", '{');
		if ((answers & KILLICK_ROOTS_CHANGE) && era == ERA_LEGACY)
			emit_bool(j, "listChanged", true);
		emit_close(j);
	}
	if (answers & KILLICK_SAMPLING)
		emit_raw(j, "sampling", "{}", 2);
	if (answers & KILLICK_ELICITATION) {
		emit_open(j, "elicitation", '{');
		emit_raw(j, "form", "{}", 2);
		emit_raw(j, "url", "{}", 2);
		emit_close(j);
	}
	if (json_type(extensions) == JSON_OBJECT)
		emit_json(j, "extensions", extensions.at, extensions.len);
	emit_close(j);
}

static void put_own_meta(struct emit *j, const struct client *c, struct json extensions)
{
	put_text(j, META("protocolVersion"), c->version);
	put_info(j, META("clientInfo"), c->spec);
	put_capabilities(j, META("clientCapabilities"), c->spec->answers, ERA_MODERN, extensions);
}

/* Only the members, without the braces of the object. */
char *params_meta(const struct client *c)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = { .out = &b, .depth = 1, .kind = "{" };

	put_own_meta(&j, c, JSON_NONE);
	return buf_take(&b);
}

/* --- _meta --- */

static bool client_params_is_ours(struct json key)
{
	static const char *const names[] = { "progressToken", META("protocolVersion"),
					     META("clientInfo"), META("clientCapabilities"),
					     META("logLevel") };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (json_is(key, names[i]))
			return true;
	return false;
}

/* Add the members of the host's own _meta. */
static void put_foreign(struct emit *j, struct json meta)
{
	struct json_iter it = json_iter(meta);

	while (json_each(&it))
		if (it.key.at && !client_params_is_ours(it.key))
			emit_member(j, it.key, it.value);
}

static void put_meta(struct emit *j, const struct client *c, const struct client_call *call,
		     struct json foreign)
{
	bool token = call && (call->on_progress || call->progress_extends);
	int level = call && call->party ? call->party->level : LEVEL_NONE;
	struct json extensions =
		json_get(json_get(foreign, META("clientCapabilities")), "extensions");

	if (!c->meta && !token && !foreign.at)
		return;
	emit_open(j, "_meta", '{');
	if (c->meta && extensions.at)
		put_own_meta(j, c, extensions);
	else if (c->meta)
		emit_members(j, c->meta, strlen(c->meta));
	if (c->meta && level != LEVEL_NONE)
		put_text(j, META("logLevel"), log_level_name(level));
	if (token)
		emit_int(j, "progressToken", (long long)rpc_id(&call->rq));
	put_foreign(j, foreign);
	emit_close(j);
}

/* --- requests --- */

static void put_args(struct emit *j, const char *key, struct json args)
{
	if (args.at)
		emit_json(j, key, args.at, args.len);
	else
		emit_raw(j, key, "{}", 2);
}

/* Add the members of the host's params, except _meta. Returns the value of _meta; if there are
 * several, the last one. */
static struct json put_members(struct emit *j, struct json args)
{
	struct json_iter it = json_iter(args);
	struct json meta = JSON_NONE;

	while (json_each(&it)) {
		if (it.key.at && json_is(it.key, "_meta"))
			meta = it.value;
		else
			emit_member(j, it.key, it.value);
	}
	return json_type(meta) == JSON_OBJECT ? meta : JSON_NONE;
}

void params_rounds(struct emit *j, const struct rounds *r)
{
	if (r->item_count) {
		emit_open(j, "inputResponses", '{');
		for (size_t i = 0; i < r->item_count; i++) {
			const struct round_item *item = &r->items[i];

			emit_member(j, (struct json){ item->key, strlen(item->key) },
				    (struct json){ item->answer, strlen(item->answer) });
		}
		emit_close(j);
	}
	if (r->state)
		emit_raw(j, "requestState", r->state, strlen(r->state));
}

const char *params_method(const struct client_call *call)
{
	static const char *const methods[] = {
		[KILLICK_TOOLS] = "tools/list",
		[KILLICK_RESOURCES] = "resources/list",
		[KILLICK_TEMPLATES] = "resources/templates/list",
		[KILLICK_PROMPTS] = "prompts/list",
		[KILLICK_CALL] = "tools/call",
		[KILLICK_READ] = "resources/read",
		[KILLICK_PROMPT] = "prompts/get",
		[KILLICK_COMPLETE] = "completion/complete",
		[KILLICK_PING] = "ping",
		[KILLICK_LOG_LEVEL] = "logging/setLevel",
		[KILLICK_SUBSCRIBE] = "resources/subscribe",
		[KILLICK_UNSUBSCRIBE] = "resources/unsubscribe",
	};

	if (call->op == KILLICK_RAW)
		return call->name;
	if (call->op == KILLICK_PING && call->client->era == ERA_MODERN)
		return "server/discover"; /* the modern revisions have no ping */
	return methods[call->op];
}

void params_call(struct emit *j, const struct client_call *call)
{
	struct json cursor, foreign = JSON_NONE;

	buf_reserve(j->out, call->args.len + LINE_ROOM); /* one allocation of the needed size */
	switch (call->op) {
	case KILLICK_TOOLS:
	case KILLICK_RESOURCES:
	case KILLICK_TEMPLATES:
	case KILLICK_PROMPTS:
		cursor = pages_cursor(call->pages);
		if (cursor.at)
			put_args(j, "cursor", cursor);
		break;
	case KILLICK_CALL:
		put_text(j, "name", call->name);
		put_args(j, "arguments", call->args);
		break;
	case KILLICK_PROMPT:
		put_text(j, "name", call->name);
		if (call->args.at)
			put_args(j, "arguments", call->args);
		break;
	case KILLICK_READ:
	case KILLICK_SUBSCRIBE:
	case KILLICK_UNSUBSCRIBE:
		put_text(j, "uri", call->name);
		break;
	case KILLICK_COMPLETE:
	case KILLICK_RAW:
		foreign = put_members(j, call->args);
		break;
	case KILLICK_LOG_LEVEL:
		put_text(j, "level", log_level_name(call->level));
		break;
	case KILLICK_PING:
		break;
	}
	if (call->rounds)
		params_rounds(j, call->rounds);
	put_meta(j, call->client, call, call->meta.at ? call->meta : foreign);
}

void params_initialize(struct emit *j, const struct client *c)
{
	put_text(j, "protocolVersion", c->version);
	put_capabilities(j, "capabilities", c->spec->answers, ERA_LEGACY, JSON_NONE);
	put_info(j, "clientInfo", c->spec);
}

void params_discover(struct emit *j, const struct client *c)
{
	put_meta(j, c, NULL, JSON_NONE);
}

static void put_flag(struct emit *j, const char *key, bool on)
{
	if (on)
		emit_bool(j, key, true);
}

void params_listen(struct emit *j, const struct client *c)
{
	const struct ring *at = NULL;
	const char *uri = subscriptions_each(c, &at);

	emit_open(j, "notifications", '{');
	put_flag(j, "toolsListChanged", c->can & CAN_TOOLS_CHANGE);
	put_flag(j, "promptsListChanged", c->can & CAN_PROMPTS_CHANGE);
	put_flag(j, "resourcesListChanged", c->can & CAN_RESOURCES_CHANGE);
	if (uri) {
		emit_open(j, "resourceSubscriptions", '[');
		for (; uri; uri = subscriptions_each(c, &at))
			put_text(j, NULL, uri);
		emit_close(j);
	}
	emit_close(j);
	put_meta(j, c, NULL, JSON_NONE);
}
