/* face_answer.c - results and errors.
 *
 * The bytes of a server are copied as they are, except at a few places (struct text_edits): the id,
 * and for a modern client the members that a server of the legacy era does not write. So numbers,
 * escapes, the order of members and unknown members stay.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/edits.h"
#include "mcp/face_internal.h"

#define NOT_FOUND    (-32002) /* of a resource, legacy */
#define URL_REQUIRED (-32042) /* 2025-11-25 */
#define FACE_HEAD    "{\"jsonrpc\":\"2.0\",\"id\":"

#define LITERAL(text) ((struct json){ text, sizeof(text) - 1 })

/* --- begin and end --- */

/* A buffer for the answer; NULL: the client is gone, and rq was freed. */
static struct buf *face_answer_buffer(struct face_request *rq)
{
	struct buf *b;

	if (rq->park && rq->park->parked) {
		assert(!rq->park->answered);
		return &rq->park->stored;
	}
	b = face_begin(rq->face);
	if (!b)
		face_release(rq);
	return b;
}

/* The request is parked: the answer waits for the retry. */
static void face_answer_store(struct face_request *rq)
{
	static const char error[] =
		",\"error\":{\"code\":-32603,\"message\":\"too many answers wait "
		"for the client\"}}";
	struct face_park *p = rq->park;

	if (rq->face->stored + p->stored.len > FACE_UNSENT_MAX) {
		buf_reset(&p->stored, 0);
		buf_add(&p->stored, FACE_HEAD, sizeof(FACE_HEAD) - 1);
		p->id_at = p->stored.len;
		buf_add(&p->stored, error, sizeof(error) - 1);
	}
	rq->face->stored += p->stored.len;
	p->answered = true;
	rq->given = false; /* the owner gets no more events of this request */
	face_end_asks(rq, false);
}

static void face_answer_commit(struct face_request *rq, struct buf *b)
{
	if (rq->park && b == &rq->park->stored) {
		face_answer_store(rq);
		return;
	}
	face_commit(rq->face);
	face_release(rq);
}

/* Write the beginning of the answer, up to the result or the error. */
static void face_put_head(struct face_request *rq, struct buf *b)
{
	buf_add(b, FACE_HEAD, sizeof(FACE_HEAD) - 1);
	if (rq->id.at)
		buf_add(b, rq->id.at, rq->id.len);
	else
		rq->park->id_at = b->len;
}

struct buf *face_answer_begin(struct face_request *rq, struct emit *j)
{
	struct buf *b = face_answer_buffer(rq);

	if (!b)
		return NULL;
	*j = (struct emit){ .out = b, .start = b->len, .depth = 1, .kind = "{", .filled = true };
	face_put_head(rq, b);
	return b;
}

void face_answer_end(struct face_request *rq, struct emit *j)
{
	message_end(j);
	face_answer_commit(rq, j->out);
}

/* Text of the owner may have newlines between its tokens. */
static void face_flatten(struct buf *b, size_t from)
{
	char *at = b->data + from, *end = b->data + b->len;

	while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL)
		*at++ = ' ';
	at = b->data + from;
	while ((at = memchr(at, '\r', (size_t)(end - at))) != NULL)
		*at++ = ' ';
}

/* Answer with `member`, a quoted key between a comma and a colon, and the edited value. */
static void face_answer_edited(struct face_request *rq, struct json member, struct json value,
			       const struct text_edits *e)
{
	struct buf *b = face_answer_buffer(rq);
	size_t start;

	if (!b)
		return;
	start = b->len;
	buf_reserve(b, value.len + rq->id.len + rq->face->meta_len + 128);
	face_put_head(rq, b);
	buf_add(b, member.at, member.len);
	text_edits_copy(b, value, e);
	buf_add(b, "}", 1);
	face_flatten(b, start);
	face_answer_commit(rq, b);
}

/* --- results --- */

struct face_found { /* members of a result */
	bool any, type, ttl, scope;
	struct json meta;
};

static void face_scan_result(struct json result, struct face_found *out)
{
	struct json_iter it = json_iter(result);

	*out = (struct face_found){ .any = false };
	while (json_each(&it)) {
		out->any = true;
		if (json_key_is(it.key, "_meta"))
			out->meta = it.value;
		else if (json_key_is(it.key, "resultType"))
			out->type = true;
		else if (json_key_is(it.key, "ttlMs"))
			out->ttl = true;
		else if (json_key_is(it.key, "cacheScope"))
			out->scope = true;
	}
}

/* Add the serverInfo to the _meta that the server wrote. */
static void face_edit_meta(const struct face *f, struct json meta, struct text_edits *e)
{
	struct json info = { f->info_member, f->info_len };

	if (json_type(meta) != JSON_OBJECT) { /* null */
		text_edits_add(e, meta.at, meta.len, LITERAL("{"));
		info.len--;
		text_edits_add(e, meta.at + meta.len, 0, info);
		text_edits_add(e, meta.at + meta.len, 0, LITERAL("}"));
	} else if (!json_get(meta, META("serverInfo")).at) {
		if (json_count(meta) == 0)
			info.len--;
		text_edits_add(e, meta.at + 1, 0, info);
	}
}

/* What a modern client needs in a result that a legacy server, or the owner, wrote. */
static void face_edit_result(const struct face_request *rq, struct json result,
			     struct text_edits *e)
{
	const struct face *f = rq->face;
	bool cached = rq->row->flags & FACE_CACHED;
	const char *at = result.at + 1;
	struct text_edit *last = NULL;
	struct face_found found;
	size_t before = e->count;

	face_scan_result(result, &found);
	if (!found.type)
		text_edits_add(e, at, 0, LITERAL("\"resultType\":\"complete\","));
	if (cached && !found.ttl)
		text_edits_add(e, at, 0, LITERAL("\"ttlMs\":0,"));
	if (cached && !found.scope)
		text_edits_add(e, at, 0, LITERAL("\"cacheScope\":\"private\","));
	if (!found.meta.at)
		text_edits_add(e, at, 0, (struct json){ f->meta_member, f->meta_len });
	if (!found.any && e->count > before) { /* nothing follows: no comma */
		for (size_t i = 0; i < e->count; i++)
			if (e->list[i].at == at)
				last = &e->list[i];
		assert(last);
		last->put.len--;
	}
	if (found.meta.at)
		face_edit_meta(f, found.meta, e);
}

/* The client does not read, and has too many unread bytes: one more result becomes an error. */
static bool face_answer_unread(struct face_request *rq)
{
	if (channel_unsent(rq->face->channel) <= FACE_UNSENT_MAX)
		return false;
	face_answer_fail(rq, RPC_INTERNAL,
			 "more than %u MiB of answers wait; read them, then ask again",
			 FACE_UNSENT_MAX >> 20);
	return true;
}

void face_answer_result(struct face_request *rq, struct json result)
{
	struct text_edits edits = TEXT_EDITS_INIT;

	assert(json_type(result) == JSON_OBJECT);
	if (face_answer_unread(rq))
		return;
	if (rq->era == ERA_MODERN)
		face_edit_result(rq, result, &edits);
	face_answer_edited(rq, LITERAL(",\"result\":"), result, &edits);
}

/* --- errors --- */

/* The text of data for a resource that was not found: the uri is part of it. */
static void face_edit_uri(const struct face_request *rq, struct json error, struct text_edits *e)
{
	struct json data = json_get(error, "data");
	enum json_type type = json_type(data);

	if (!rq->uri.at || (type == JSON_OBJECT && json_get(data, "uri").at))
		return;
	if (type == JSON_OBJECT) {
		text_edits_add(e, data.at + 1, 0, LITERAL("\"uri\":"));
		text_edits_add(e, data.at + 1, 0, rq->uri);
		if (json_count(data))
			text_edits_add(e, data.at + 1, 0, LITERAL(","));
	} else {
		const char *at = data.at ? data.at : error.at + 1;

		text_edits_add(e, at, data.len,
			       data.at ? LITERAL("{\"uri\":") : LITERAL("\"data\":{\"uri\":"));
		text_edits_add(e, at + data.len, 0, rq->uri);
		text_edits_add(e, at + data.len, 0, data.at ? LITERAL("}") : LITERAL("},"));
	}
}

/* Codes that the modern era does not have. */
static void face_edit_error(const struct face_request *rq, struct json error, struct text_edits *e)
{
	struct json code = json_get(error, "code");
	int64_t n;

	if (rq->era != ERA_MODERN || !json_int(code, &n))
		return;
	if (n == NOT_FOUND) {
		text_edits_add(e, code.at, code.len, LITERAL("-32602"));
		face_edit_uri(rq, error, e);
	}
}

/* A legacy server wants the user to open a URL and the client to repeat the call. A modern client
 * gets the same as a result that asks for input; the retry is a new call. */
static void face_put_urls(struct emit *j, const struct face *f, struct json elicitations)
{
	struct json_iter it = json_iter(elicitations);
	char key[32];

	emit_open(j, "result", '{');
	emit_str(j, "resultType", "input_required");
	emit_open(j, "inputRequests", '{');
	for (unsigned i = 1; json_each(&it); i++) {
		struct json_iter member = json_iter(it.value);

		snprintf(key, sizeof(key), "url-%u", i);
		emit_open(j, key, '{');
		emit_str(j, "method", "elicitation/create");
		emit_open(j, "params", '{');
		while (json_each(&member))
			if (member.key.at && !json_is(member.key, "elicitationId"))
				emit_member(j, member.key, member.value);
		emit_close(j);
		emit_close(j);
	}
	emit_close(j);
	emit_members(j, f->meta_member, f->meta_len - 1);
}

static void face_put_needs_url(struct emit *j, struct json error)
{
	struct json message = json_get(error, "message");

	emit_open(j, "error", '{');
	emit_int(j, "code", RPC_MISSING_CAPABILITY);
	emit_json(j, "message", message.at, message.len);
	emit_open(j, "data", '{');
	emit_open(j, "requiredCapabilities", '{');
	emit_open(j, "elicitation", '{');
	emit_raw(j, "url", "{}", 2);
	emit_close(j);
	emit_close(j);
	emit_close(j);
}

/* Returns false if this is another error, or the client is not modern. */
static bool face_answer_url(struct face_request *rq, struct json error)
{
	struct json list = json_find(error, "data.elicitations");
	struct emit j;
	int64_t code;

	if (rq->era != ERA_MODERN || !json_int(json_get(error, "code"), &code) ||
	    code != URL_REQUIRED)
		return false;
	if (!face_answer_begin(rq, &j))
		return true;
	if ((rq->answers & FACE_URL) && (rq->row->flags & FACE_INPUT) && json_count(list) &&
	    json_type(list) == JSON_ARRAY)
		face_put_urls(&j, rq->face, list);
	else
		face_put_needs_url(&j, error);
	face_answer_end(rq, &j);
	return true;
}

/* Clients do not read a response whose error has another form: the request would never end. */
static bool face_is_error(struct json error)
{
	int64_t code;

	return json_int(json_get(error, "code"), &code) &&
	       json_type(json_get(error, "message")) == JSON_STRING;
}

/* Answer with an error. data JSON_NONE: none, except the uri of a resource (modern). */
static void face_answer_text(struct face_request *rq, int code, const char *text, struct json data)
{
	struct emit j;

	if (!face_answer_begin(rq, &j))
		return;
	emit_open(&j, "error", '{');
	emit_int(&j, "code", code);
	emit_text(&j, "message", text, strlen(text));
	if (data.at) {
		emit_json(&j, "data", data.at, data.len);
	} else if (rq->era == ERA_MODERN && rq->uri.at && code == RPC_BAD_PARAMS) {
		emit_open(&j, "data", '{');
		emit_raw(&j, "uri", rq->uri.at, rq->uri.len);
		emit_close(&j);
	}
	face_answer_end(rq, &j);
}

void face_answer_error(struct face_request *rq, struct json error)
{
	struct text_edits edits = TEXT_EDITS_INIT;

	if (!face_is_error(error)) {
		face_answer_text(rq, RPC_INTERNAL, "the server answered with an invalid error",
				 error);
		return;
	}
	if (face_answer_url(rq, error))
		return;
	face_edit_error(rq, error, &edits);
	face_answer_edited(rq, LITERAL(",\"error\":"), error, &edits);
}

void face_answer_fail(struct face_request *rq, int code, const char *fmt, ...)
{
	char text[1400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	face_answer_text(rq, code, text, JSON_NONE);
}

/* --- lines of servers --- */

/* The bytes of the line cannot be copied: write an answer with the same meaning. */
static bool face_answer_other(struct face_request *rq, const struct message *line)
{
	if (line->kind == MESSAGE_ERROR &&
	    (!line->id.at || line->repeated || !face_is_error(line->error))) {
		face_answer_error(rq, line->error);
		return true;
	}
	if (line->kind == MESSAGE_ERROR)
		return face_answer_url(rq, line->error);
	if (json_type(line->result) == JSON_OBJECT && !line->repeated)
		return false;
	if (json_type(line->result) == JSON_OBJECT) /* the client could read another id */
		face_answer_result(rq, line->result);
	else if (json_type(line->result) == JSON_NULL) /* some servers mean an empty result */
		face_answer_result(rq, LITERAL("{}"));
	else
		face_answer_text(rq, RPC_INTERNAL,
				 "the server answered with a result that is no object",
				 line->result);
	return true;
}

void face_answer_line(struct face_request *rq, const struct message *line, enum client_era from)
{
	struct text_edits edits = TEXT_EDITS_INIT;
	struct buf *b;
	size_t start;

	assert(line->kind == MESSAGE_RESULT || line->kind == MESSAGE_ERROR);
	if (face_answer_other(rq, line) || face_answer_unread(rq))
		return;
	b = face_answer_buffer(rq);
	if (!b)
		return;
	start = b->len;
	text_edits_add(&edits, line->id.at, line->id.len, rq->id);
	if (line->kind == MESSAGE_ERROR)
		face_edit_error(rq, line->error, &edits);
	else if (rq->era == ERA_MODERN && from == ERA_LEGACY)
		face_edit_result(rq, line->result, &edits);
	buf_reserve(b, line->whole.len + rq->id.len + rq->face->meta_len + 128);
	if (!rq->id.at) { /* parked: remember the place of the id */
		size_t i = 0;

		rq->park->id_at = start + (size_t)(line->id.at - line->whole.at);
		for (; edits.list[i].at < line->id.at; i++)
			rq->park->id_at += edits.list[i].put.len - edits.list[i].cut;
	}
	text_edits_copy(b, line->whole, &edits);
	face_answer_commit(rq, b);
}
