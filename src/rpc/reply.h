/* reply.h - a request of the other side, and the answer to it: at once, or later.
 *
 * A reply is borrowed while the request is handled. A handler that cannot answer yet makes a struct
 * answer, which counts as a request in flight of its rpc until it is freed. When the connection
 * ends first, or the other side cancels the request, no answer is expected any more: on_gone is
 * called, and replies are dropped.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/emit.h"
#include "base/json.h"
#include "base/ring.h"
#include "rpc/rpc.h"

struct reply {
	struct rpc *rpc; /* NULL: no reply is expected */
	struct json id;  /* as it came; JSON_NONE: of a notification, or it could not be read */
	const struct rpc_method *method;
};

/* Begin a result: j is open inside the result. False: no reply is expected. */
bool reply_begin(const struct reply *r, struct emit *j);
void reply_end(const struct reply *r, struct emit *j);
/* A result that is JSON text already. */
void reply_json(const struct reply *r, const char *json, size_t len);
/* An error object that is JSON text already. */
void reply_json_error(const struct reply *r, const char *json, size_t len);
void reply_error(const struct reply *r, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* An error with more members: j is open inside the error object, behind its message. False: no
 * reply is expected. */
bool reply_begin_error(const struct reply *r, struct emit *j, int code, const char *text);
void reply_end_error(const struct reply *r, struct emit *j);

struct answer {
	struct reply reply;
	struct ring in_rpc;
	void (*on_gone)(void *ctx); /* may free the answer */
	void *ctx;
	char id[];
};

/* NULL: max_answers are in flight, or there is no memory for the id; the request was answered with
 * that error. on_gone may be NULL. */
struct answer *answer_new(const struct reply *r, void (*on_gone)(void *ctx), void *ctx);
void answer_free(struct answer *a);
/* The other side has cancelled the request with this id: no answer is expected any more. False:
 * there is no struct answer for this id. */
bool reply_cancel(struct rpc *rpc, struct json id);
/* The other side is gone: no answer is expected any more. */
void reply_drop_all(struct rpc *rpc);
