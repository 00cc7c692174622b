/* call.h - a request of the host on its way, and its result.
 *
 *	killick_start -> [parked: its server does not run yet] -> with the client
 *	              -> over: it has its result -> told: to a callback, or to the thread that waits
 *
 * A call is freed when it has been told and its handle was let go of.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "killick/killick.h"
#include "base/loop.h"
#include "mcp/client.h"
#include "session/outbox.h"
#include "session/result.h"
#include "base/ring.h"

struct lease;
struct waiter;

struct part {                  /* of a call, for one server */
	struct client_call op; /* what its client does */
	struct killick_call *call;
	struct lease *lease;           /* NULL: it is over */
	struct killick_result *result; /* of one of several */
	uint64_t drops;                /* of the server's toolcache when this was begun */
};

struct killick_call {
	struct outbox_item item;
	struct killick_session *session;
	struct ring in_session, in_park;
	struct loop_timer timer;   /* while it is parked */
	struct killick_request rq; /* its strings are valid while it begins or is parked */
	struct json args;
	char *own; /* the block that holds both while it is parked */
	int64_t timeout_ms;
	struct part one, *parts;       /* parts: &one, or a block of several */
	size_t part_count, parts_left; /* left: without an answer */
	struct killick_result *result;
	struct waiter *waiter;
	unsigned progress; /* items in the outbox */
	bool held, over, told, waited, cancelled;
};

/* A request of the host, with its args checked; then hand it to its server, or to all of them. */
struct killick_call *call_new(struct killick_session *s, const struct killick_request *rq,
			      struct json args);
void call_begin(struct killick_call *c);
/* The server runs: a parked call goes its way. */
void call_unpark(struct killick_call *c);
/* It never will. */
void call_fail_parked(struct killick_call *c, int code, const char *text);
void call_free(struct killick_call *c);
void call_free_if_forgotten(struct killick_call *c); /* by the host, and over */

/* route.c: the server that is meant when no tool says which: the one of that name, or the only one.
 * NULL: e says why there is none. */
struct lease *route_server(const struct killick_session *s, const char *server,
			   struct killick_error *e);
/* The server that a call is for; the tool's own name is put into rq. NULL: e says why. */
struct lease *call_route(struct killick_call *c, const char *server, struct killick_error *e);

/* tools.c: what the host gets of a list of tools. */
struct buf;
/* A list of one server: learn its names. *out stays empty when the list can be given as it is, else
 * it has what may be used of it. 0 or -EMSGSIZE. */
int tools_of_one(struct lease *l, struct json list, struct buf *out);
/* The lists of several, under qualified names. */
int tools_of_all(struct killick_session *s, const struct part *parts, size_t count,
		 struct buf *out);
