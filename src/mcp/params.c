/* params.c - the lines we write, each built in one go in the buffer it is sent from. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "base/mem.h"
#include "mcp/client_internal.h"

#define LINE_ROOM 512 /* of a request, beside its arguments; more is found when needed */

struct line {
	struct buf *b;
	int r;      /* 0 or -EMSGSIZE */
	bool comma; /* is due before the next member */
};

/* Inline, so that a literal is a few stores. */
static inline __attribute__((always_inline)) void put(struct line *l, const char *text, size_t len)
{
	l->r |= buf_add(l->b, text, len);
}
#define PUT(l, literal) put(l, literal, sizeof(literal) - 1)

static void put_number(struct line *l, uint64_t n)
{
	char digits[20], *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	put(l, p, (size_t)(digits + sizeof(digits) - p));
}

static void put_text(struct line *l, const char *text)
{
	l->r |= emit_quoted(l->b, text ? text : "", text ? strlen(text) : 0);
}

/* JSON that we were given. A newline in it is space between tokens, and must not end the line. */
static void put_json(struct line *l, const char *text, size_t len)
{
	size_t before = l->b->len;
	char *p, *end;

	put(l, text, len);
	if (l->r)
		return;
	end = l->b->data + l->b->len;
	for (p = l->b->data + before; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
		*p = ' ';
	for (p = l->b->data + before; (p = memchr(p, '\r', (size_t)(end - p))) != NULL; p++)
		*p = ' ';
}

static void put_name(struct line *l, const char *key)
{
	if (l->comma)
		PUT(l, ",");
	l->comma = true;
	PUT(l, "\"");
	put(l, key, strlen(key));
	PUT(l, "\":");
}

/* A literal key, with its quotes in one piece. */
#define put_key(l, key)                                                                            \
	do {                                                                                       \
		if ((l)->comma)                                                                    \
			PUT(l, ",\"" key "\":");                                                   \
		else                                                                               \
			PUT(l, "\"" key "\":");                                                    \
		(l)->comma = true;                                                                 \
	} while (0)

static void begin(struct line *l, uint64_t id, const char *method)
{
	PUT(l, "{\"jsonrpc\":\"2.0\",\"id\":");
	put_number(l, id);
	PUT(l, ",\"method\":\"");
	put(l, method, strlen(method));
	PUT(l, "\",\"params\":{");
	l->comma = false;
}

static int end(struct line *l)
{
	PUT(l, "}}\n");
	return l->r;
}

/* --- who we are --- */

static void put_info(struct line *l, const struct client_spec *spec)
{
	PUT(l, "{\"name\":");
	put_text(l, spec->name);
	PUT(l, ",\"version\":");
	put_text(l, spec->version);
	PUT(l, "}");
}

/* The modern revisions have no notification about roots. */
static void put_capabilities(struct line *l, unsigned answers, enum client_era era)
{
	PUT(l, "{");
	l->comma = false;
	if (answers & ANSWER_ROOTS) {
		put_key(l, "roots");
		if ((answers & ANSWER_ROOTS_CHANGE) && era == ERA_LEGACY)
			PUT(l, "{\"listChanged\":true}");
		else
			PUT(l, "{}");
	}
	if (answers & ANSWER_SAMPLING) {
		put_key(l, "sampling");
		PUT(l, "{}");
	}
	if (answers & ANSWER_ELICITATION) {
		put_key(l, "elicitation");
		PUT(l, "{\"form\":{},\"url\":{}}");
	}
	PUT(l, "}");
	l->comma = true;
}

char *params_meta(const struct client *c)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct line l = { .b = &b };

	put_key(&l, META("protocolVersion"));
	put_text(&l, c->version);
	put_key(&l, META("clientInfo"));
	put_info(&l, c->spec);
	put_key(&l, META("clientCapabilities"));
	put_capabilities(&l, c->spec->answers, ERA_MODERN);
	return buf_take(&b);
}

/* --- _meta --- */

static bool is_ours(struct json key)
{
	static const char *const names[] = { "progressToken", META("protocolVersion"),
					     META("clientInfo"), META("clientCapabilities"),
					     META("logLevel") };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (json_is(key, names[i]))
			return true;
	return false;
}

static void put_member(struct line *l, const struct json_iter *it)
{
	if (l->comma)
		PUT(l, ",");
	l->comma = true;
	put_json(l, it->key.at, it->key.len);
	PUT(l, ":");
	put_json(l, it->value.at, it->value.len);
}

/* Members that the host put into _meta itself. */
static void put_foreign(struct line *l, struct json meta)
{
	struct json_iter it = json_iter(meta);

	while (json_each(&it))
		if (it.key.at && !is_ours(it.key))
			put_member(l, &it);
}

static void put_meta(struct line *l, const struct client *c, const struct client_call *call,
		     struct json foreign)
{
	bool token = call && (call->wants_progress || call->progress_extends);
	int level = call && call->owner ? call->owner->level : LEVEL_NONE;

	if (!c->meta && !token && !foreign.at)
		return;
	put_key(l, "_meta");
	PUT(l, "{");
	l->comma = false;
	if (c->meta) {
		put(l, c->meta, strlen(c->meta));
		l->comma = true;
	}
	if (c->meta && level != LEVEL_NONE) {
		put_key(l, META("logLevel"));
		put_text(l, log_level_name(level));
	}
	if (token) {
		put_key(l, "progressToken");
		put_number(l, call->rq.id);
	}
	put_foreign(l, foreign);
	PUT(l, "}");
	l->comma = true;
}

/* --- requests --- */

static void put_args(struct line *l, const char *key, struct json args)
{
	put_name(l, key);
	if (args.at)
		put_json(l, args.at, args.len);
	else
		PUT(l, "{}");
}

/* The params are the host's own, but for _meta. Duplicates of it: the last counts. */
static struct json put_members(struct line *l, struct json args)
{
	struct json_iter it = json_iter(args);
	struct json meta = JSON_NONE;

	while (json_each(&it)) {
		if (it.key.at && json_is(it.key, "_meta"))
			meta = it.value;
		else
			put_member(l, &it);
	}
	return json_type(meta) == JSON_OBJECT ? meta : JSON_NONE;
}

static void put_rounds(struct line *l, const struct rounds *r)
{
	if (!r)
		return;
	if (r->item_count) {
		put_key(l, "inputResponses");
		PUT(l, "{");
		for (size_t i = 0; i < r->item_count; i++) {
			if (i)
				PUT(l, ",");
			put(l, r->items[i].key, strlen(r->items[i].key));
			PUT(l, ":");
			put_json(l, r->items[i].answer, strlen(r->items[i].answer));
		}
		PUT(l, "}");
	}
	if (r->state) {
		put_key(l, "requestState");
		put(l, r->state, strlen(r->state));
	}
}

static void put_named(struct line *l, const char *key, const char *name)
{
	put_name(l, key);
	put_text(l, name);
}

static const char *method_of(const struct client_call *call)
{
	static const char *const methods[] = {
		[OP_TOOLS] = "tools/list",
		[OP_RESOURCES] = "resources/list",
		[OP_TEMPLATES] = "resources/templates/list",
		[OP_PROMPTS] = "prompts/list",
		[OP_CALL] = "tools/call",
		[OP_READ] = "resources/read",
		[OP_PROMPT] = "prompts/get",
		[OP_COMPLETE] = "completion/complete",
		[OP_PING] = "ping",
		[OP_LOG_LEVEL] = "logging/setLevel",
		[OP_SUBSCRIBE] = "resources/subscribe",
		[OP_UNSUBSCRIBE] = "resources/unsubscribe",
	};

	if (call->op == OP_RAW)
		return call->name;
	if (call->op == OP_PING && call->client->era == ERA_MODERN)
		return "server/discover"; /* the modern revisions have no ping */
	return methods[call->op];
}

int params_call(struct buf *b, const struct client_call *call, uint64_t id)
{
	struct line l = { .b = b };
	struct json cursor, foreign = JSON_NONE;

	l.r = buf_reserve(b, call->args.len + LINE_ROOM); /* one step, no larger than needed */
	begin(&l, id, method_of(call));
	switch (call->op) {
	case OP_TOOLS:
	case OP_RESOURCES:
	case OP_TEMPLATES:
	case OP_PROMPTS:
		cursor = pages_cursor(call->pages);
		if (cursor.at)
			put_args(&l, "cursor", cursor);
		break;
	case OP_CALL:
		put_named(&l, "name", call->name);
		put_args(&l, "arguments", call->args);
		break;
	case OP_PROMPT:
		put_named(&l, "name", call->name);
		if (call->args.at)
			put_args(&l, "arguments", call->args);
		break;
	case OP_READ:
	case OP_SUBSCRIBE:
	case OP_UNSUBSCRIBE:
		put_named(&l, "uri", call->name);
		break;
	case OP_COMPLETE:
	case OP_RAW:
		foreign = put_members(&l, call->args);
		break;
	case OP_LOG_LEVEL:
		put_named(&l, "level", log_level_name(call->level));
		break;
	case OP_PING:
		break;
	}
	put_rounds(&l, call->rounds);
	put_meta(&l, call->client, call, foreign);
	return end(&l);
}

int params_initialize(struct buf *b, const struct client *c, uint64_t id)
{
	struct line l = { .b = b };

	begin(&l, id, "initialize");
	put_named(&l, "protocolVersion", c->version);
	put_key(&l, "capabilities");
	put_capabilities(&l, c->spec->answers, ERA_LEGACY);
	put_key(&l, "clientInfo");
	put_info(&l, c->spec);
	return end(&l);
}

int params_discover(struct buf *b, const struct client *c, uint64_t id)
{
	struct line l = { .b = b };

	begin(&l, id, "server/discover");
	put_meta(&l, c, NULL, JSON_NONE);
	return end(&l);
}

static void put_flag(struct line *l, const char *key, bool on)
{
	if (!on)
		return;
	put_name(l, key);
	PUT(l, "true");
}

int params_listen(struct buf *b, const struct client *c, uint64_t id)
{
	struct line l = { .b = b };
	const struct peer_node *at = NULL;
	const char *uri = subscriptions_each(c, &at);

	begin(&l, id, "subscriptions/listen");
	put_key(&l, "notifications");
	PUT(&l, "{");
	l.comma = false;
	put_flag(&l, "toolsListChanged", c->can & CAN_TOOLS_CHANGE);
	put_flag(&l, "promptsListChanged", c->can & CAN_PROMPTS_CHANGE);
	put_flag(&l, "resourcesListChanged", c->can & CAN_RESOURCES_CHANGE);
	if (uri) {
		put_key(&l, "resourceSubscriptions");
		for (const char *mark = "["; uri; uri = subscriptions_each(c, &at), mark = ",") {
			put(&l, mark, 1);
			put_text(&l, uri);
		}
		PUT(&l, "]");
	}
	PUT(&l, "}");
	l.comma = true;
	put_meta(&l, c, NULL, JSON_NONE);
	return end(&l);
}

int params_cancelled(struct buf *b, uint64_t id, const char *reason)
{
	struct line l = { .b = b };

	PUT(&l, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{");
	put_key(&l, "requestId");
	put_number(&l, id);
	put_named(&l, "reason", reason);
	return end(&l);
}

int params_initialized(struct buf *b)
{
	return message_notification(b, "notifications/initialized", NULL, 0);
}
