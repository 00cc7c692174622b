/* reply.c - see reply.h */
#include "executor/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/connection.h"
#include "executor/executor_internal.h"
#include "wire/wire.h"

#define TEXT_MAX 1400 /* of an error: a process's id and a sentence */

bool reply_begin(const struct reply *r, struct emit *j)
{
	struct buf *b = r->connection ? connection_begin(r->connection) : NULL;

	if (!b)
		return false;
	wire_result(b, j, r->id);
	return true;
}

void reply_end(const struct reply *r, struct emit *j)
{
	wire_end(j);
	connection_commit(r->connection, j);
}

void reply_error(const struct reply *r, int code, const char *fmt, ...)
{
	struct buf *b = r->connection ? connection_begin(r->connection) : NULL;
	struct emit j = EMIT_INIT(b);
	char text[TEXT_MAX];
	va_list ap;

	if (!b)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	j.failed = wire_error(b, r->id, code, text);
	connection_commit(r->connection, &j);
}

void reply_refused(const struct reply *r, const char *text, int status)
{
	struct buf *b = r->connection ? connection_begin(r->connection) : NULL;
	struct emit j = EMIT_INIT(b);

	if (!b)
		return;
	j.failed = wire_error_status(b, r->id, WIRE_INTERNAL, text, status);
	connection_commit(r->connection, &j);
}

struct answer *answer_new(const struct reply *r, void (*on_gone)(void *ctx), void *ctx)
{
	struct connection *c = r->connection;
	struct answer *a;

	if (c->answer_count >= c->executor->o.max_requests) {
		reply_error(r, WIRE_INVALID_REQUEST, "too many requests in flight (%u)",
			    c->executor->o.max_requests);
		return NULL;
	}
	a = mem_grow(NULL, sizeof(*a) + r->id.len, 1);
	*a = (struct answer){ .reply = { c, { a->id, r->id.len } },
			      .on_gone = on_gone,
			      .ctx = ctx };
	memcpy(a->id, r->id.at, r->id.len);
	ring_add(&c->answers, &a->in_connection);
	c->answer_count++;
	return a;
}

void answer_free(struct answer *a)
{
	if (a->reply.connection) {
		ring_remove(&a->in_connection);
		a->reply.connection->answer_count--;
	}
	free(a);
}
