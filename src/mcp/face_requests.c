/* face_requests.c - the table of methods, and a request from its message to its end.
 *
 * A request is in one of four rings of its face:
 *
 *	waiting   face_welcome was not called yet, the client has too many unread bytes, or earlier
 *	          requests wait
 *	requests  the owner has it
 *	parked    the client was asked for input, and must send the request again (face_park.c)
 *	streams   subscriptions/listen
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/face_internal.h"

/* --- methods --- */

static void face_answer_ping(struct face_request *rq);

#define NAMED(text) .name = text, .len = sizeof(text) - 1

static const struct face_row face_rows[] = {
	{ NAMED("tools/call"), FACE_CALL, "name", FACE_INPUT, CAN_TOOLS },
	{ NAMED("tools/list"), FACE_TOOLS, NULL, FACE_CACHED, CAN_TOOLS },
	{ NAMED("resources/list"), FACE_RESOURCES, NULL, FACE_CACHED, CAN_RESOURCES },
	{ NAMED("resources/templates/list"), FACE_TEMPLATES, NULL, FACE_CACHED, CAN_RESOURCES },
	{ NAMED("resources/read"), FACE_READ, "uri", FACE_CACHED | FACE_INPUT, CAN_RESOURCES },
	{ NAMED("prompts/list"), FACE_PROMPTS, NULL, FACE_CACHED, CAN_PROMPTS },
	{ NAMED("prompts/get"), FACE_PROMPT, "name", FACE_INPUT, CAN_PROMPTS },
	{ NAMED("completion/complete"), FACE_COMPLETE, NULL, 0, CAN_COMPLETE },
	{ NAMED("logging/setLevel"), FACE_LEVEL, "level", FACE_LEGACY_ONLY, 0 },
	{ NAMED("resources/subscribe"), FACE_SUBSCRIBE, "uri", FACE_LEGACY_ONLY, 0 },
	{ NAMED("resources/unsubscribe"), FACE_UNSUBSCRIBE, "uri", FACE_LEGACY_ONLY, 0 },
	{ NAMED("tasks/get"), FACE_TASK, "taskId", 0, 0 },
	{ NAMED("tasks/result"), FACE_TASK, "taskId", FACE_LEGACY_ONLY, 0 },
	{ NAMED("tasks/cancel"), FACE_TASK, "taskId", 0, 0 },
	{ NAMED("tasks/update"), FACE_TASK, "taskId", FACE_MODERN_ONLY, 0 },
	{ NAMED("tasks/list"), FACE_TASKS, NULL, FACE_LEGACY_ONLY, 0 },
	{ NAMED("ping"), FACE_OTHER, NULL, FACE_LEGACY_ONLY, 0, face_answer_ping },
	{ NAMED("server/discover"), FACE_OTHER, NULL, FACE_MODERN_ONLY | FACE_CACHED, 0,
	  face_answer_discover },
	{ NAMED("subscriptions/listen"), FACE_OTHER, NULL, FACE_MODERN_ONLY, 0, face_listen_open },
};
const struct face_row face_initialize_row = {
	NAMED("initialize"), FACE_OTHER, NULL, FACE_LEGACY_ONLY, 0, face_answer_initialize
};
static const struct face_row face_other_row = { NAMED(""), FACE_OTHER, NULL, 0, 0, NULL };

static bool face_row_is(const struct face_row *row, struct json method, bool escaped)
{
	if (escaped)
		return json_is(method, row->name);
	return method.len == row->len + 2 && memcmp(method.at + 1, row->name, row->len) == 0;
}

static const struct face_row *face_find_row(struct json method)
{
	bool escaped = memchr(method.at, '\\', method.len) != NULL;

	for (size_t i = 0; i < sizeof(face_rows) / sizeof(face_rows[0]); i++)
		if (face_row_is(&face_rows[i], method, escaped))
			return &face_rows[i];
	return face_row_is(&face_initialize_row, method, escaped) ? &face_initialize_row
								  : &face_other_row;
}

/* --- ids --- */

static struct face_request *face_find(const struct face *f, struct json id)
{
	uint64_t key = face_digest(f->seed, id.at, id.len);

	for (struct hash_node *n = hash_find(&f->by_id, key); n; n = hash_next(n)) {
		struct face_request *rq = CONTAINER_OF(n, struct face_request, by_id);

		if (rq->id.len == id.len && memcmp(rq->id.at, id.at, id.len) == 0)
			return rq;
	}
	return NULL;
}

static struct json face_put_text(char **to, struct json text)
{
	struct json out = { *to, text.len };

	if (!text.at)
		return JSON_NONE;
	memcpy(*to, text.at, text.len);
	*to += text.len;
	return out;
}

/* Set the texts of the request; the id is found by face_on_cancel from then on. False: the id is
 * in use. */
static bool face_set_texts(struct face_request *rq, struct json id, struct json token,
			   struct json uri)
{
	struct face *f = rq->face;
	size_t len = id.len + token.len + uri.len;
	char *to = rq->small;

	assert(!rq->texts && !rq->id.at);
	if (face_find(f, id))
		return false;
	if (len > sizeof(rq->small))
		to = rq->texts = mem_grow(NULL, 1, len);
	rq->id = face_put_text(&to, id);
	rq->progress_token = face_put_text(&to, token);
	rq->uri = face_put_text(&to, uri);
	hash_add(&f->by_id, &rq->by_id, face_digest(f->seed, id.at, id.len));
	return true;
}

void face_unset_id(struct face_request *rq)
{
	if (!rq->id.at)
		return;
	hash_remove(&rq->face->by_id, &rq->by_id);
	free(rq->texts);
	rq->texts = NULL;
	rq->id = rq->progress_token = rq->uri = JSON_NONE;
}

static struct json face_rebase(struct json v, const char *from, const char *to)
{
	return v.at ? (struct json){ to + (v.at - from), v.len } : v;
}

void face_move_texts(struct face_request *rq, struct face_request *from)
{
	struct json *const to[] = { &rq->id, &rq->progress_token, &rq->uri };
	struct json *const of[] = { &from->id, &from->progress_token, &from->uri };
	uint64_t key = from->by_id.key;

	assert(!rq->texts && !rq->id.at && from->id.at);
	memcpy(rq->small, from->small, sizeof(rq->small));
	rq->texts = from->texts;
	from->texts = NULL;
	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++)
		*to[i] = rq->texts ? *of[i] : face_rebase(*of[i], from->small, rq->small);
	face_unset_id(from);
	hash_add(&rq->face->by_id, &rq->by_id, key);
}

/* --- the end --- */

static void face_stop_waiting(struct face_request *rq)
{
	struct face *f = rq->face;

	if (!rq->waits)
		return;
	assert(f->waiting_bytes >= rq->m.whole.len);
	f->waiting_bytes -= rq->m.whole.len;
	rq->waits = false;
}

void face_release(struct face_request *rq)
{
	struct face *f = rq->face;

	face_stop_waiting(rq);
	if (f->ask_count)
		face_end_asks(rq, false);
	face_unset_id(rq);
	ring_remove(&rq->in_face);
	if (rq->level >= 0)
		f->loggers--;
	if (rq->park)
		face_park_free(rq);
	if (rq->listen)
		face_listen_free(rq);
	free(rq->line);
	assert(f->count > 0);
	f->count--;
	spare_give(&f->spare, rq);
	if (!f->eof)
		return;
	f->ended_us = loop_now_us();
	face_check_end(f);
}

void face_abandon(struct face_request *rq)
{
	struct face *f = rq->face;
	bool given = rq->given;

	rq->given = false; /* on_cancelled comes once */
	face_end_asks(rq, true);
	if (given)
		f->ev->on_cancelled(f->ctx, rq);
	face_release(rq);
}

void face_on_cancel(struct face *f, struct json id)
{
	struct face_request *rq = face_find(f, id);

	if (rq && rq->row != &face_initialize_row)
		face_abandon(rq);
}

/* --- the beginning --- */

/* Make m, name and token point into the copy `line` of m.whole. */
static void face_move(struct face_request *rq, char *line)
{
	const char *from = rq->m.whole.at;
	struct message *m = &rq->m;
	struct json *const parts[] = { &m->id,    &m->method, &m->params,
				       &m->whole, &rq->name,  &rq->token };

	rq->line = line;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		*parts[i] = face_rebase(*parts[i], from, line);
}

void face_keep(struct face_request *rq)
{
	if (!rq->line)
		face_move(rq, mem_text(rq->m.whole.at, rq->m.whole.len));
}

static void face_answer_ping(struct face_request *rq)
{
	face_answer_result(rq, (struct json){ "{}", 2 });
}

/* The request may begin: the owner gets it, or the face answers. */
static void face_start(struct face_request *rq, const struct face_params *p)
{
	struct face *f = rq->face;
	const struct face_row *row = rq->row;

	if (row->fn) {
		row->fn(rq);
		return;
	}
	if (rq->era == ERA_MODERN && row->can && !(f->can & row->can)) {
		face_answer_fail(rq, RPC_UNKNOWN_METHOD, "no server offers %s", row->name);
		return;
	}
	if (row->key && !rq->name.at) {
		face_answer_fail(rq, RPC_BAD_PARAMS, "params have no string \"%s\"", row->key);
		return;
	}
	if (rq->era == ERA_MODERN && (row->flags & FACE_INPUT)) {
		if (p->state.at && face_park_resume(rq, p))
			return;
		if (rq->answers)
			rq->digest = face_digest_params(f, rq->m.params);
	}
	ring_remove(&rq->in_face);
	ring_add(&f->requests, &rq->in_face);
	rq->given = true;
	f->ev->on_request(f->ctx, rq);
}

/* The request waits for face_welcome, for the client to read, or for requests that wait. */
static void face_wait(struct face_request *rq)
{
	struct face *f = rq->face;
	char *line = NULL;

	assert(f->waiting_bytes <= FACE_UNSENT_MAX);
	if (rq->m.whole.len <= FACE_UNSENT_MAX - f->waiting_bytes)
		line = mem_try_text(rq->m.whole.at, rq->m.whole.len);
	if (!line) {
		face_answer_fail(rq, RPC_INTERNAL, "too many bytes of requests wait");
		return;
	}
	face_move(rq, line);
	f->waiting_bytes += rq->m.whole.len;
	rq->waits = true;
}

void face_run_waiting(struct loop_timer *t)
{
	struct face *f = CONTAINER_OF(t, struct face, run_timer);
	struct face_params p;

	for (struct ring *n; f->state == FACE_READY && !channel_is_full(f->channel) &&
			     (n = ring_first(&f->waiting)) != NULL;) {
		struct face_request *rq = CONTAINER_OF(n, struct face_request, in_face);

		face_stop_waiting(rq);
		face_read_params(&rq->m, rq->row->key, &p);
		face_start(rq, &p);
	}
	assert(!ring_is_empty(&f->waiting) || f->waiting_bytes == 0);
}

static struct face_request *face_make(struct face *f, const struct message *m,
				      const struct face_row *row, const struct face_params *p)
{
	struct face_request *rq = spare_take(&f->spare, sizeof(*rq));
	bool modern = p->version.at;

	memset(rq, 0, offsetof(struct face_request, small));
	rq->face = f;
	rq->kind = row->kind;
	rq->era = modern ? ERA_MODERN : ERA_LEGACY;
	rq->m = *m;
	rq->name = p->name;
	rq->token = p->token;
	rq->row = row;
	rq->level = modern && p->level.at ? level_of(p->level) : LEVEL_NONE;
	rq->answers = modern ? face_read_answers(p->capabilities) : f->answers;
	f->count++;
	if (rq->level >= 0)
		f->loggers++;
	ring_add(&f->waiting, &rq->in_face);
	if (face_set_texts(rq, m->id, p->token,
			   modern && row->kind == FACE_READ ? p->name : JSON_NONE))
		return rq;
	face_release(rq);
	face_send_error(f, m->id, RPC_INVALID_REQUEST, "a request with this id is open");
	return NULL;
}

/* --- refusals --- */

static void face_refuse_version(struct face *f, struct json id, struct json version)
{
	struct buf *b = face_begin(f);
	struct emit j;

	if (!b)
		return;
	message_error(&j, b, false, id, RPC_VERSION, "Unsupported protocol version");
	emit_open(&j, "data", '{');
	emit_open(&j, "supported", '[');
	emit_str(&j, NULL, FACE_MODERN_VERSION);
	emit_close(&j);
	emit_json(&j, "requested", version.at, version.len);
	emit_close(&j);
	message_end_error(&j, false, id);
	face_commit(f);
}

/* NULL: the request may be made. Else *out_code is the code of the error. */
static const char *face_check_modern(const struct face *f, const struct face_row *row,
				     const struct face_params *p, int *out_code)
{
	*out_code = RPC_BAD_PARAMS;
	if (json_type(p->version) != JSON_STRING)
		return "\"" META("protocolVersion") "\" in _meta is no string";
	if (json_type(p->capabilities) != JSON_OBJECT)
		return "_meta has no object \"" META("clientCapabilities") "\"";
	*out_code = RPC_INVALID_REQUEST;
	if (f->in_batch)
		return "batches are part of protocol version 2025-03-26 only";
	*out_code = RPC_UNKNOWN_METHOD;
	if (row->flags & FACE_LEGACY_ONLY)
		return "Method not found in protocol version " FACE_MODERN_VERSION;
	return NULL;
}

/* Is the method that of a notification? A server could take the request for one, and cancel a
 * request of another client. */
static bool face_is_notification(struct json method)
{
	static const char prefix[] = "notifications/";
	char text[sizeof(prefix)] = "";

	json_string_into(method, text, sizeof(text));
	return strcmp(text, prefix) == 0;
}

static const char *face_check_legacy(const struct face *f, const struct face_row *row,
				     int *out_code)
{
	*out_code = RPC_BAD_PARAMS;
	if (row->flags & FACE_MODERN_ONLY)
		return "_meta has no \"" META("protocolVersion") "\"";
	*out_code = RPC_INVALID_REQUEST;
	if (row == &face_initialize_row && f->initialize_came)
		return "initialize was called before";
	if (row->fn != face_answer_ping && row != &face_initialize_row && !f->initialize_came)
		return "call initialize first, or put \"" META(
			"protocolVersion") "\" into the _meta of each request";
	return NULL;
}

void face_on_request(struct face *f, const struct message *m)
{
	const struct face_row *row = face_find_row(m->method);
	struct face_request *rq;
	struct face_params p;
	const char *bad;
	int code;

	face_read_params(m, row->key, &p);
	if (json_type(p.version) == JSON_STRING && !json_is(p.version, FACE_MODERN_VERSION)) {
		face_refuse_version(f, m->id, p.version);
		return;
	}
	bad = p.version.at ? face_check_modern(f, row, &p, &code)
			   : face_check_legacy(f, row, &code);
	if (m->repeated) { /* a server could read another request, and answer under another id */
		code = RPC_INVALID_REQUEST;
		bad = "a member of the message occurs twice, or twice but for upper and lower case";
	}
	if (!bad && row == &face_other_row && face_is_notification(m->method)) {
		code = RPC_UNKNOWN_METHOD;
		bad = "the method is that of a notification, which has no id";
	}
	if (!bad && f->count >= FACE_OPEN_MAX && row->fn != face_answer_ping) {
		code = RPC_INVALID_REQUEST;
		bad = "too many requests are open; wait for the answers";
	}
	if (!bad && m->id.len + p.token.len + p.name.len > MEM_SMALL) {
		code = RPC_INVALID_REQUEST;
		bad = "the id, the progress token and the name are too long";
	}
	if (bad) {
		face_send_error(f, m->id, code, bad);
		return;
	}
	rq = face_make(f, m, row, &p);
	if (!rq)
		return;
	if (row == &face_initialize_row)
		face_read_initialize(f, m->params);
	if (row->fn == face_answer_ping ||
	    (f->state == FACE_READY && ring_first(&f->waiting) == &rq->in_face &&
	     !channel_is_full(f->channel))) {
		face_start(rq, &p);
		return;
	}
	face_wait(rq);
	if (f->state == FACE_NEW)
		face_say_hello(f, m->params, p.version.at ? &p : NULL);
}
