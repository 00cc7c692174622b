/* desk_requests.c - a request of the client on its way to a server and back.
 *
 * A request of a session with one server is passed on as it came: the errand comes from a spare
 * block, and nothing else is allocated or copied.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "hub/desk_internal.h"
#include "hub/hub.h"
#include "session/pool.h"
#include "session/server.h"

enum { /* errors of the hub, beside those of JSON-RPC */
       ERRAND_BUSY = -32000,
       ERRAND_TIMEOUT = -32001,
};

/* --- life --- */

struct errand *errand_new(struct desk *d, enum face_method kind)
{
	struct errand *e = spare_take(&d->spare, sizeof(*e));

	/* errand_send sets the forward */
	memset((char *)e + sizeof(e->f), 0, sizeof(*e) - sizeof(e->f));
	e->f.lease = NULL;
	e->desk = d;
	e->kind = kind;
	e->text = (struct buf)BUF_INIT(BUF_ANY_SIZE);
	ring_add(&d->errands, &e->in_desk);
	return e;
}

struct errand *errand_new_watch(struct desk *d, const char *uri, bool on)
{
	struct errand *e = errand_new(d, on ? FACE_SUBSCRIBE : FACE_UNSUBSCRIBE);

	e->silent = true;
	emit_quoted(&e->text, uri, strlen(uri));
	e->name = (struct json){ e->text.data, e->text.len };
	return e;
}

/* The desk itself has subscribed for a stream of the client. */
static void errand_tell_watched(const struct errand *e)
{
	AUTO(mem_drop) char *uri = NULL;

	if (e->desk->face && !e->desk->face_over && json_string(e->name, &uri))
		face_watched(e->desk->face, uri);
}

/* The request is over: answered, or not wanted any more. */
static void errand_free(struct errand *e)
{
	struct desk *d = e->desk;

	assert(!e->gather && !e->f.lease);
	if (e->silent && e->kind == FACE_SUBSCRIBE)
		errand_tell_watched(e);
	if (!e->silent)
		d->in_flight--;
	asks_leave(e, false);
	ring_remove(&e->in_desk);
	buf_done(&e->text);
	free(e->server);
	spare_give(&d->spare, e);
}

/* Cancel the requests under way. */
static void errand_stop(struct errand *e)
{
	if (e->f.lease)
		forward_cancel(&e->f);
	e->f.lease = NULL;
	if (e->gather)
		gather_free(e->gather);
	e->gather = NULL;
}

void errand_drop(struct errand *e)
{
	errand_stop(e);
	asks_leave(e, true);
	errand_free(e);
}

const struct message *errand_message(const struct errand *e)
{
	return e->rq ? &e->rq->m : &e->own;
}

struct json errand_name(const struct errand *e)
{
	return e->rq ? e->rq->name : e->name;
}

/* --- answers --- */

/* The code of the error for an MCP client. */
static int errand_code(int code)
{
	switch (code) {
	case KILLICK_ERR_TIMEOUT:
		return ERRAND_TIMEOUT;
	case KILLICK_ERR_BUSY:
		return ERRAND_BUSY;
	case KILLICK_ERR_NO_SERVER:
	case KILLICK_ERR_USAGE:
		return RPC_BAD_PARAMS;
	default:
		return code >= KILLICK_ERR_LOST ? RPC_INTERNAL : code;
	}
}

/* The same for a program, which knows the codes of the control API. */
static int errand_program_code(int code)
{
	if (code == KILLICK_ERR_NO_SERVER)
		return HUB_NOT_FOUND;
	code = errand_code(code);
	return code == RPC_INTERNAL || code == ERRAND_TIMEOUT ? HUB_FAILED : code;
}

/* Take the receiver out of the errand and free the errand, because the receiver may begin the next
 * request, or close the desk. */
struct receiver {
	struct face_request *rq;
	desk_answered_fn done;
	void *ctx;
};

static struct receiver errand_release(struct errand *e, bool failed)
{
	struct receiver to = { .rq = e->rq, .done = e->done, .ctx = e->ctx };

	if (to.rq)
		to.rq->owner = NULL;
	if (failed && !e->silent)
		e->desk->errors++;
	errand_free(e);
	return to;
}

void errand_answer(struct errand *e, const struct message *line, enum client_era from)
{
	struct receiver to = errand_release(e, line->kind == MESSAGE_ERROR);

	if (to.rq)
		face_answer_line(to.rq, line, from);
	else if (to.done)
		to.done(to.ctx, line->result, line->error);
}

void errand_answer_result(struct errand *e, struct json result)
{
	struct receiver to = errand_release(e, false);

	if (to.rq)
		face_answer_result(to.rq, result);
	else if (to.done)
		to.done(to.ctx, result, JSON_NONE);
}

/* Write the error object for a program. The word for an enum killick_code tells a timeout from a
 * crash. */
static void errand_emit_error(struct emit *j, int code, const char *text)
{
	emit_open(j, NULL, '{');
	emit_int(j, "code", errand_program_code(code));
	emit_str(j, "message", text);
	if (errand_code(code) != code) {
		emit_open(j, "data", '{');
		emit_str(j, "reason", killick_code_name(code));
		emit_close(j);
	}
	emit_close(j);
	emit_end(j);
}

void errand_fail(struct errand *e, int code, const char *fmt, ...)
{
	AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&b);
	struct receiver to;
	char text[1024];
	va_list ap;

	va_start(ap, fmt); /* the arguments may be texts of the errand */
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	to = errand_release(e, true);
	if (to.rq) {
		face_answer_fail(to.rq, errand_code(code), "%s", text);
		return;
	}
	if (!to.done)
		return;
	errand_emit_error(&j, code, text);
	to.done(to.ctx, JSON_NONE, (struct json){ b.data, b.len });
}

void errand_finish(struct errand *e, const struct forward_done *done)
{
	struct backend *b = e->backend;

	if (!done->line)
		errand_fail(e, done->code, "%s", done->text);
	else if (b && !e->server && tasks_are_wrapped(e->desk)) /* the caller knows the server */
		tasks_answer(e, b, done);
	else
		errand_answer(e, done->line, done->era);
}

static void errand_on_done(struct forward *f, const struct forward_done *done)
{
	struct errand *e = CONTAINER_OF(f, struct errand, f);
	bool has_server = f->lease->server != NULL;

	f->lease = NULL;
	if (e->more && done->code == KILLICK_ERR_ANSWER) {
		e->tried++;
		route_errand(e);
		return;
	}
	/* a tool that the config does not allow is answered as an unknown tool */
	if (done->code == KILLICK_ERR_NO_SERVER && e->kind == FACE_CALL && has_server) {
		errand_fail(e, RPC_BAD_PARAMS, "%s", done->text);
		return;
	}
	errand_finish(e, done);
}

static void errand_on_progress(struct forward *f, struct json params)
{
	const struct errand *e = CONTAINER_OF(f, struct errand, f);

	if (e->rq)
		face_progress(e->rq, params);
	else if (e->desk->ev->on_progress)
		e->desk->ev->on_progress(e->ctx, lease_name(f->lease), e->token, params);
}

/* --- to the server --- */

void errand_send_message(struct errand *e, struct lease *l, const struct message *m,
			 const char *name)
{
	struct desk *d = e->desk;
	struct backend *b = backend_of(d, l);
	struct json token = e->rq ? e->rq->token : e->token;

	e->backend = b->can & OFFER_TASKS ? b : NULL;
	if (e->rq && e->rq->level >= 0)
		notes_want_level(d, l, e->rq->level);
	e->f = (struct forward){
		.lease = l,
		.m = m,
		.name = name,
		.era = e->rq ? e->rq->era : ERA_LEGACY,
		.timeout_ms = e->timeout_ms,
		.on_progress = token.at ? errand_on_progress : NULL,
		.on_done = errand_on_done,
	};
	forward_begin(&e->f);
}

void errand_send(struct errand *e, struct lease *l, const char *name)
{
	errand_send_message(e, l, errand_message(e), name);
}

void errand_send_renamed(struct errand *e, struct lease *l, struct json name, const char *real)
{
	AUTO(buf_done) struct buf line = BUF_INIT(BUF_ANY_SIZE);
	struct json whole = errand_message(e)->whole;
	size_t before = (size_t)(name.at - whole.at), after = before + name.len;
	const char *reason;
	struct message m;

	assert(name.at > whole.at && after < whole.len);
	buf_add(&line, whole.at, before);
	emit_quoted(&line, real, strlen(real));
	buf_add(&line, whole.at + after, whole.len - after);
	if (message_parse(line.data, line.len, &m, &reason) < 0)
		errand_fail(e, RPC_INTERNAL, "the request could not be used: %s", reason);
	else
		errand_send_message(e, l, &m, NULL);
}

/* The result of an op that the client sees as an empty object. */
static void errand_on_op(struct forward *f, const struct forward_done *done)
{
	struct errand *e = CONTAINER_OF(f, struct errand, f);

	AUTO(mem_drop) char *uri = NULL;

	f->lease = NULL;
	if (e->kind == FACE_SUBSCRIBE && done->code == KILLICK_ERR_ANSWER &&
	    json_string(errand_name(e), &uri))
		watch_forget(e->desk, uri); /* refused: it does not count for the limit */
	if (done->code == KILLICK_OK)
		errand_answer_result(e, (struct json){ "{}", 2 });
	else
		errand_finish(e, done);
}

void errand_send_op(struct errand *e, struct lease *l, enum killick_op op, const char *name)
{
	e->f = (struct forward){
		.lease = l,
		.era = e->rq ? e->rq->era : ERA_LEGACY,
		.timeout_ms = e->timeout_ms,
		.on_done = errand_on_op,
	};
	forward_begin_op(&e->f, op, name);
}

void errand_begin(struct errand *e)
{
	switch (e->kind) {
	case FACE_TOOLS:
	case FACE_RESOURCES:
	case FACE_TEMPLATES:
	case FACE_PROMPTS:
		lists_errand(e);
		break;
	case FACE_CALL:
	case FACE_READ:
	case FACE_PROMPT:
	case FACE_COMPLETE:
	case FACE_SUBSCRIBE:
	case FACE_UNSUBSCRIBE:
	case FACE_OTHER:
		route_errand(e);
		break;
	case FACE_LEVEL:
		notes_level_errand(e);
		break;
	case FACE_TASK:
		tasks_errand(e);
		break;
	case FACE_TASKS:
		tasks_list_errand(e);
		break;
	}
}

/* --- from the client --- */

void desk_on_request(void *ctx, struct face_request *rq)
{
	struct desk *d = ctx;
	struct errand *e;

	if (d->state != DESK_OPEN) {
		face_answer_fail(rq, RPC_INTERNAL, "the session is being closed");
		return;
	}
	e = errand_new(d, rq->kind);
	e->rq = rq;
	rq->owner = e;
	d->in_flight++;
	d->calls++;
	d->last_us = loop_read_clock(d->k->loop);
	errand_begin(e);
}

void desk_on_cancelled(void *ctx, struct face_request *rq)
{
	struct errand *e = rq->owner;

	(void)ctx;
	rq->owner = NULL;
	if (e)
		errand_drop(e);
}

void errands_end(struct desk *d, const char *why)
{
	struct ring *first;

	while ((first = ring_first(&d->errands)) || (first = ring_first(&d->waiting))) {
		struct errand *e = CONTAINER_OF(first, struct errand, in_desk);

		errand_stop(e);
		errand_fail(e, RPC_INTERNAL, "the session was closed: %s", why);
	}
}
