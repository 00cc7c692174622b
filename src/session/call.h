/* call.h - a request of the host in flight, and its result.
 *
 *	killick_start -> [parked: its server does not run yet] -> with the client
 *	              -> over: the call has its result
 *	              -> told: a callback or the waiting thread has the result
 *
 * A call is freed when it has been told and its handle was freed.
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
	struct client_call op; /* the request to the client */
	struct killick_call *call;
	struct lease *lease;           /* NULL: the part is over */
	struct killick_result *result; /* if the call has several parts */
	uint64_t drops;                /* of the server's toolcache when this part began */
};

struct killick_call {
	struct outbox_item item;
	struct killick_session *session;
	struct ring in_session, in_park;
	struct loop_timer timer;   /* while the call is parked */
	struct killick_request rq; /* its strings are valid while the call begins or is parked */
	struct json args;
	char *own; /* the block with the strings of rq and args while the call is parked */
	int64_t timeout_ms;
	struct part one, *parts;       /* parts: &one, or a block of several */
	size_t part_count, parts_left; /* left: parts without an answer */
	struct killick_result *result;
	struct waiter *waiter;
	unsigned progress; /* progress reports in the outbox */
	bool held, over, told, waited, cancelled;
};

/* Make a call for a request of the host; args must have been checked. */
struct killick_call *call_new(struct killick_session *s, const struct killick_request *rq,
			      struct json args);
/* Pass the call to its server, or to all servers. */
void call_begin(struct killick_call *c);
/* The server runs: pass a parked call to the client. */
void call_unpark(struct killick_call *c);
/* The server will not run: end a parked call. */
void call_fail_parked(struct killick_call *c, int code, const char *text);
void call_free(struct killick_call *c);
/* Free the call if the host has freed its handle and the call is over. */
void call_free_if_forgotten(struct killick_call *c);

/* route.c: the server of a request that names no tool: the server with this name, or the only
 * server. NULL: e says why there is none. */
struct lease *route_server(const struct killick_session *s, const char *server,
			   struct killick_error *e);
/* The server that a call is for; the tool's own name is put into rq. NULL: e says why. */
struct lease *call_route(struct killick_call *c, const char *server, struct killick_error *e);

/* tools.c: lists of tools as the host gets them. */
struct buf;
/* Add the names of the tools of one server to the session. *out stays empty when the list can be
 * returned unchanged; else *out gets the list without the tools that cannot be used: forbidden by
 * the config, listed twice, or without a name. 0 or -EMSGSIZE. */
int tools_of_one(struct lease *l, struct json list, struct buf *out);
/* Write the lists of several servers to *out as one list, with qualified names. */
int tools_of_all(struct killick_session *s, const struct part *parts, size_t count,
		 struct buf *out);
