/* reply.c - see reply.h */
#include "rpc/reply.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define TEXT_MAX 1400 /* bytes of an error's text: the id of a process and a sentence */

static void reply_send(const struct reply *r, struct buf *b, int built)
{
	int e = rpc_commit(r->rpc, b, built);

	if (e < 0)
		rpc_tell_odd(r->rpc, &(struct rpc_odd){ .kind = RPC_UNSENT, .error = e });
}

static bool reply_write(const struct reply *r, struct emit *j)
{
	struct buf *b = r->rpc ? rpc_buffer(r->rpc) : NULL;

	if (b)
		message_result(j, b, r->rpc->is.bare, r->id);
	return b;
}

bool reply_begin(const struct reply *r, struct emit *j)
{
	if (!reply_write(r, j))
		return false;
	emit_open(j, "result", '{');
	return true;
}

void reply_end(const struct reply *r, struct emit *j)
{
	reply_send(r, j->out, message_end(j));
}

void reply_json(const struct reply *r, const char *json, size_t len)
{
	struct emit j;

	if (!reply_write(r, &j))
		return;
	emit_json(&j, "result", json, len);
	reply_end(r, &j);
}

void reply_json_error(const struct reply *r, const char *json, size_t len)
{
	struct emit j;

	if (!reply_write(r, &j))
		return;
	emit_json(&j, "error", json, len);
	reply_end(r, &j);
}

bool reply_begin_error(const struct reply *r, struct emit *j, int code, const char *text)
{
	struct buf *b = r->rpc ? rpc_buffer(r->rpc) : NULL;

	if (b)
		message_error(j, b, r->rpc->is.bare, r->id, code, text);
	return b;
}

void reply_end_error(const struct reply *r, struct emit *j)
{
	reply_send(r, j->out, message_end_error(j, r->rpc->is.bare, r->id));
}

void reply_error(const struct reply *r, int code, const char *fmt, ...)
{
	char text[TEXT_MAX];
	struct emit j;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (reply_begin_error(r, &j, code, text))
		reply_end_error(r, &j);
}

/* --- answers that are sent later --- */

struct answer *answer_new(const struct reply *r, void (*on_gone)(void *ctx), void *ctx)
{
	struct rpc *rpc = r->rpc;
	struct answer *a;

	assert(r->id.at);
	if (rpc->is.max_answers && rpc->answer_count >= rpc->is.max_answers) {
		reply_error(r, RPC_INVALID_REQUEST, "too many requests in flight (%u)",
			    rpc->is.max_answers);
		return NULL;
	}
	a = mem_try(sizeof(*a) + r->id.len);
	if (!a) {
		reply_error(r, RPC_INTERNAL, "there is no memory for the request");
		return NULL;
	}
	*a = (struct answer){ .reply = { rpc, { a->id, r->id.len }, r->method },
			      .on_gone = on_gone,
			      .ctx = ctx };
	memcpy(a->id, r->id.at, r->id.len);
	ring_add(&rpc->answers, &a->in_rpc);
	rpc->answer_count++;
	return a;
}

/* The peer does not wait for this answer any more. */
static void answer_detach(struct answer *a)
{
	if (!a->reply.rpc)
		return;
	ring_remove(&a->in_rpc);
	a->reply.rpc->answer_count--;
	a->reply.rpc = NULL;
}

void answer_free(struct answer *a)
{
	answer_detach(a);
	free(a);
}

static void answer_drop(struct answer *a)
{
	answer_detach(a);
	if (a->on_gone)
		a->on_gone(a->ctx);
}

bool reply_cancel(struct rpc *rpc, struct json id)
{
	RING_EACH(n, &rpc->answers) {
		struct answer *a = CONTAINER_OF(n, struct answer, in_rpc);

		if (a->reply.id.len != id.len || memcmp(a->id, id.at, id.len) != 0)
			continue;
		answer_drop(a);
		return true;
	}
	return false;
}

void reply_drop_all(struct rpc *rpc)
{
	for (struct ring *n; (n = ring_first(&rpc->answers)) != NULL;)
		answer_drop(CONTAINER_OF(n, struct answer, in_rpc));
}
