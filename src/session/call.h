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
#include "session/parked.h"
#include "session/result.h"
#include "session/tally.h"
#include "base/ring.h"

struct lease;
struct names;
struct waiter;

struct part {                  /* of a call, for one server */
	struct client_call op; /* the request to the client */
	struct killick_call *call;
	struct lease *lease;           /* NULL: the part is over */
	struct killick_result *result; /* if the call has several parts */
	uint64_t drops;                /* of the server's toolcache when this part began */
	int64_t began_us;
};

struct killick_call {
	struct outbox_item item;
	struct killick_session *session;
	struct ring in_session;
	struct parked parked;
	struct loop_timer timer;   /* while the call is parked */
	struct killick_request rq; /* its strings are valid while the call begins or is parked */
	struct json args, meta;
	char *own; /* the block with the strings of rq, args and meta while the call is parked */
	int64_t timeout_ms;
	struct part one, *parts;       /* parts: &one, or a block of several */
	size_t part_count, parts_left; /* left: parts without an answer */
	struct killick_result *result;
	struct waiter *waiter;
	unsigned progress; /* progress reports in the outbox */
	bool held, over, told, waited, cancelled;
	char tool[TALLY_NAME]; /* the tool, or the method of a raw request, cut; "": another one */
};

/* Make a call for a request of the host; args and meta must have been checked. */
struct killick_call *call_new(struct killick_session *s, const struct killick_request *rq,
			      struct json args, struct json meta);
/* Pass the call to its server, or to all servers. */
void call_begin(struct killick_call *c);
void call_free(struct killick_call *c);
/* Free the call if the host has freed its handle and the call is over. */
void call_free_if_forgotten(struct killick_call *c);

/* route.c: the server of a request that names no tool: the server with this name, or the only
 * server. NULL: e says why there is none. */
struct lease *route_server(const struct killick_session *s, const char *server,
			   struct killick_error *e);
/* The server that a call is for; the tool's own name is put into rq. NULL: e says why. */
struct lease *call_route(struct killick_call *c, const char *server, struct killick_error *e);

/* May this request be passed to the server of the lease? tool: the tool that the request calls;
 * NULL: none. KILLICK_OK: the server is used, and its client takes the request now or later; else e
 * says why not. */
int route_use(struct lease *l, const char *tool, struct killick_error *e);

/* tools.c: lists of tools as the host gets them. */
struct buf;
/* Cache the list of tools that the server of the lease has sent. drops: of the toolcache when the
 * list was requested. */
void tools_keep(struct lease *l, const struct client_result *r, uint64_t drops);
/* Add the names of the tools of one server to the session. *out stays empty when the list can be
 * returned unchanged; else *out gets the list without the tools that cannot be used: forbidden by
 * the config, listed twice, or without a name. 0 or -EMSGSIZE. */
int tools_of_one(struct lease *l, struct json list, struct buf *out);
/* No model can use more tools, and to make names for a million tools would delay the other
 * servers. */
#define NAMED_MAX 10000
/* A tool with a longer name gets no qualified name, because all names are kept in memory. The
 * protocol allows 128. */
#define TOOL_NAME_MAX 1024
/* Append the items of a list of one server, with qualified names; items without a qualified name
 * are left out. *first: no item was written yet. 0 or -EMSGSIZE. */
int tools_add_items(struct buf *out, const struct names *names, const char *server,
		    struct json items, bool *first);
/* Write the lists of several servers to *out as one list, with qualified names. */
int tools_of_all(struct killick_session *s, const struct part *parts, size_t count,
		 struct buf *out);
