/* reply.h - the answer to a request: at once, or later.
 *
 * A reply is borrowed while the request is handled. Who cannot answer yet keeps an answer instead,
 * which is one of the requests in flight of its connection until it is freed. When the connection
 * ends first nobody waits for it any more: on_gone is told, if there is one, and whatever is
 * answered goes nowhere.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/emit.h"
#include "base/json.h"
#include "base/ring.h"

#define REPLY_ID_MAX 512 /* bytes of a request's id, quotes included */

struct connection;

struct reply {
	struct connection *connection; /* NULL: nobody waits */
	struct json id;
};

/* Begin a result: j is open inside of it. False: nobody waits. */
bool reply_begin(const struct reply *r, struct emit *j);
void reply_end(const struct reply *r, struct emit *j);
void reply_error(const struct reply *r, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A process that could not be started; status: how `killick run` would have ended, 0: not known. */
void reply_refused(const struct reply *r, const char *text, int status);

struct answer {
	struct reply reply;
	struct ring in_connection;
	void (*on_gone)(void *ctx); /* may free the answer */
	void *ctx;
	char id[];
};

/* NULL: too many are in flight, and that was the answer. on_gone may be NULL. */
struct answer *answer_new(const struct reply *r, void (*on_gone)(void *ctx), void *ctx);
void answer_free(struct answer *a);
