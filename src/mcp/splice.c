/* splice.c - a request of another client, passed on with a few edits; see struct client_forward.
 *
 * The text is copied once, into the send buffer. Each edit replaces a piece of the text; the pieces
 * were found when the request was read, so that writing does not search. Everything else, such as
 * spaces, the order of members, escapes, numbers and unknown members, stays as the client wrote it.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "base/mem.h"
#include "mcp/client_internal.h"
#include "mcp/edits.h"

/* --- reading --- */

/* Is this a method of tasks? */
static bool splice_is_of_tasks(struct json method)
{
	static const char prefix[] = "tasks/";
	char text[sizeof(prefix)];

	if (memchr(method.at, '\\', method.len)) {
		json_string_into(method, text, sizeof(text));
		return strcmp(text, prefix) == 0;
	}
	return method.len > sizeof(prefix) &&
	       memcmp(method.at + 1, prefix, sizeof(prefix) - 1) == 0;
}

static int splice_set(struct json *place, struct json value)
{
	if (place->at)
		return -EINVAL;
	*place = value;
	return 0;
}

/* `value`: of the related task. */
static int splice_read_related(struct client_forward *fw, struct json value)
{
	struct json_iter it = json_iter(value);
	int r = 0;

	if (fw->related.at)
		return -EINVAL;
	while (r == 0 && json_type(value) == JSON_OBJECT && json_each(&it))
		if (json_key_is(it.key, "taskId"))
			r = splice_set(&fw->related, it.value);
	if (!fw->related.at)
		fw->related = value; /* names no task, and is refused */
	return r;
}

/* May a server that ignores case take this key, which is another one, for `name`? */
static bool splice_is_alike(struct json key, const char *name)
{
	unsigned char first = (unsigned char)key.at[1];

	return ((first | 0x20) == (*name | 0x20) || first == '\\' || first >= 0x80) &&
	       json_folds(key, name);
}

static int splice_read_meta(struct client_forward *fw)
{
	struct json_iter it = json_iter(fw->meta);
	int r = 0;

	if (json_type(fw->meta) != JSON_OBJECT)
		return 0;
	while (r == 0 && json_each(&it))
		if (json_key_is(it.key, "progressToken"))
			r = splice_set(&fw->token, it.value);
		else if (json_key_is(it.key, META("related-task")))
			r = splice_read_related(fw, it.value);
		else if (splice_is_alike(it.key, "progressToken") ||
			 splice_is_alike(it.key, META("related-task")))
			r = -EINVAL;
	return r;
}

static bool splice_is_read(struct json key)
{
	return json_key_is(key, "name") || json_key_is(key, "_meta") || json_key_is(key, "task") ||
	       json_key_is(key, "taskId");
}

/* A key of params that is not read here: 0, or -EINVAL, because a server could take the key for
 * another one. A method of an extension may have a "Name", if there is no "name". */
static int splice_read_other(const struct client_forward *fw, struct json task, struct json key)
{
	if (splice_is_alike(key, "_meta"))
		return -EINVAL;
	if (splice_is_alike(key, "requestState") && !json_key_is(key, "requestState"))
		return -EINVAL;
	if (splice_is_alike(key, "inputResponses") && !json_key_is(key, "inputResponses"))
		return -EINVAL;
	return (fw->old_name.at && splice_is_alike(key, "name")) ||
			       (task.at && splice_is_alike(key, "task")) ||
			       (fw->task.at && splice_is_alike(key, "taskId"))
		       ? -EINVAL
		       : 0;
}

int client_forward_read(struct client_forward *fw, const struct message *m)
{
	struct json_iter it = message_iter(m, m->params);
	struct json task = JSON_NONE;
	bool others = false;
	int r = m->repeated ? -EINVAL : 0;

	assert(m->kind == MESSAGE_REQUEST);
	memset(fw, 0, offsetof(struct client_forward, room));
	fw->m = *m;
	fw->lists_tasks = json_key_is(m->method, "tasks/list");
	fw->needs_task = splice_is_of_tasks(m->method) && !fw->lists_tasks;
	if (json_type(m->params) != JSON_OBJECT)
		return r;
	while (r == 0 && json_each(&it)) {
		if (json_key_is(it.key, "name"))
			r = splice_set(&fw->old_name, it.value);
		else if (json_key_is(it.key, "_meta"))
			r = splice_set(&fw->meta, it.value);
		else if (json_key_is(it.key, "task"))
			r = splice_set(&task, it.value);
		else if (json_key_is(it.key, "taskId"))
			r = splice_set(&fw->task, it.value);
		else /* the first letters of the names in splice_read_other */
			others |= strchr("_nNtTrRiI\\", it.key.at[1]) ||
				  (unsigned char)it.key.at[1] >= 0x80;
	}
	for (it = message_iter(m, m->params); r == 0 && others && json_each(&it);)
		if (!splice_is_read(it.key))
			r = splice_read_other(fw, task, it.key);
	fw->is_tasked = json_type(task) == JSON_OBJECT;
	return r == 0 ? splice_read_meta(fw) : r;
}

bool splice_may_ask(const struct client_forward *fw)
{
	return json_key_is(fw->m.method, "tools/call") ||
	       json_key_is(fw->m.method, "resources/read") ||
	       json_key_is(fw->m.method, "prompts/get");
}

/* --- keeping --- */

/* The same piece of a text that has been copied. */
static void splice_move(struct json *piece, const char *from, const char *to)
{
	if (piece->at)
		piece->at = to + (piece->at - from);
}

void client_forward_keep(struct client_forward *fw)
{
	struct json whole = fw->m.whole;
	struct json *pieces[] = { &fw->m.whole, &fw->m.id,     &fw->m.method, &fw->m.params,
				  &fw->m.error, &fw->old_name, &fw->meta,     &fw->token,
				  &fw->task,    &fw->related };

	if (fw->kept)
		return;
	fw->kept = whole.len + fw->name.len <= sizeof(fw->room)
			   ? fw->room
			   : mem_grow(NULL, whole.len + fw->name.len, 1);
	memcpy(fw->kept, whole.at, whole.len);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		splice_move(pieces[i], whole.at, fw->kept);
	if (fw->name.at)
		fw->name.at = memcpy(fw->kept + whole.len, fw->name.at, fw->name.len);
}

void client_forward_done(struct client_forward *fw)
{
	if (fw->kept != fw->room)
		free(fw->kept);
	fw->kept = NULL;
}

/* --- _meta --- */

static bool splice_is_modern_key(struct json key)
{
	static const char *const names[] = { META("protocolVersion"), META("clientInfo"),
					     META("clientCapabilities"), META("logLevel") };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (json_key_is(key, names[i]))
			return true;
	return false;
}

/* Write the members of _meta for the era of the server. */
static void splice_put_meta(struct emit *j, const struct client_call *call, struct json digits)
{
	const struct client_forward *fw = call->forward;
	const struct client *c = call->client;
	struct json_iter it = json_iter(fw->meta);
	int level = call->party ? call->party->level : LEVEL_NONE;

	if (c->era == ERA_MODERN) {
		emit_members(j, c->meta, strlen(c->meta));
		if (level != LEVEL_NONE)
			emit_str(j, META("logLevel"), log_level_name(level));
	}
	while (json_type(fw->meta) == JSON_OBJECT && json_each(&it)) {
		if (splice_is_modern_key(it.key))
			continue;
		emit_member(j, it.key, it.value.at == fw->token.at ? digits : it.value);
	}
}

/* Is there no member in this object? */
static bool splice_is_empty(struct json object)
{
	struct json_iter it = json_iter(object);

	return !json_each(&it);
}

/* Write the members that params does not have yet, with the key `params` or the comma that they
 * need. */
static int splice_put_params(struct buf *b, const struct client_call *call, bool meta)
{
	const struct client_forward *fw = call->forward;
	/* only the members, without the braces of the object */
	struct emit j = { .out = b, .start = b->len, .depth = 1, .kind = "{" };

	if (!fw->m.params.at)
		emit_bytes(&j, ",\"params\":{", 11);
	if (call->rounds)
		params_rounds(&j, call->rounds);
	if (meta) {
		emit_open(&j, "_meta", '{');
		splice_put_meta(&j, call, JSON_NONE);
		emit_close(&j);
	}
	if (!fw->m.params.at)
		emit_bytes(&j, "}", 1);
	else if (!splice_is_empty(fw->m.params))
		emit_bytes(&j, ",", 1);
	return j.failed;
}

/* Edit the params. The new text is in client.splice. */
static int splice_params(struct text_edits *e, const struct client_call *call, struct json digits)
{
	const struct client_forward *fw = call->forward;
	const struct message *m = &fw->m;
	struct client *c = call->client;
	bool crosses = c->era != fw->era, has_meta = fw->meta.at,
	     adds = call->rounds || (crosses && c->era == ERA_MODERN && !has_meta);
	size_t meta_len;
	int r = 0;

	buf_reset(&c->splice, 4096);
	if (crosses && has_meta) {
		struct emit j = EMIT_INIT(&c->splice);

		emit_open(&j, NULL, '{');
		splice_put_meta(&j, call, digits);
		emit_close(&j);
		r = emit_end(&j);
	}
	meta_len = c->splice.len;
	if (m->params.at && json_type(m->params) != JSON_OBJECT)
		adds = false; /* no request of MCP has such params */
	if (r == 0 && adds)
		r = splice_put_params(&c->splice, call, crosses && !has_meta);
	if (meta_len)
		text_edits_add(e, fw->meta.at, fw->meta.len,
			       (struct json){ c->splice.data, meta_len });
	if (adds) /* behind the first brace of params, or in front of the last of the message */
		text_edits_add(
			e, m->params.at ? m->params.at + 1 : m->whole.at + m->whole.len - 1, 0,
			(struct json){ c->splice.data + meta_len, c->splice.len - meta_len });
	return r;
}

int splice_write(struct buf *b, const struct client_call *call)
{
	const struct client_forward *fw = call->forward;
	char number[20], *p = number + sizeof(number);
	struct text_edits e = TEXT_EDITS_INIT;
	struct json digits;
	bool crosses = call->client->era != fw->era;
	int r = 0;

	for (uint64_t n = rpc_id(&call->rq); n; n /= 10)
		*--p = (char)('0' + n % 10);
	digits = (struct json){ p, (size_t)(number + sizeof(number) - p) };
	text_edits_add(&e, fw->m.id.at, fw->m.id.len, digits);
	if (fw->name.at && fw->old_name.at)
		text_edits_add(&e, fw->old_name.at, fw->old_name.len, fw->name);
	if (fw->token.at && !crosses)
		text_edits_add(&e, fw->token.at, fw->token.len, digits);
	if (crosses || call->rounds)
		r = splice_params(&e, call, digits);
	return r < 0 ? r : text_edits_copy(b, fw->m.whole, &e);
}

int splice_token(struct buf *b, struct json params, struct json token)
{
	struct json old = json_get(params, "progressToken");
	struct text_edits e = TEXT_EDITS_INIT;

	text_edits_add(&e, old.at, old.len, token);
	return text_edits_copy(b, params, &e);
}

/* --- tasks/list --- */

int splice_tasks(struct buf *b, const struct client_call *call, struct json result)
{
	struct emit j = EMIT_INIT(b);
	struct json_iter it = json_iter(result);

	emit_open(&j, NULL, '{');
	emit_raw(&j, "jsonrpc", "\"2.0\"", 5);
	emit_int(&j, "id", (long long)call->last_id);
	emit_open(&j, "result", '{');
	while (json_each(&it)) {
		struct json_iter task = json_iter(it.value);

		if (!json_key_is(it.key, "tasks")) {
			emit_member(&j, it.key, it.value);
			continue;
		}
		emit_open(&j, "tasks", '[');
		while (json_each(&task))
			if (handles_find(call->client, HANDLE_TASK,
					 json_get(task.value, "taskId")) == call->party)
				emit_json(&j, NULL, task.value.at, task.value.len);
		emit_close(&j);
	}
	emit_close(&j);
	emit_close(&j);
	return emit_end(&j);
}
