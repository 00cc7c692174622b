/* connection.h - one channel to a client: the handshake, its requests, and what is in flight.
 *
 *	fresh --initialize--> greeted --initialized--> ready --> ended
 *
 * A breach of the rules (an unexpected notification, an answer without a request, a peer that does
 * not read) ends the connection, and nothing else: its owner keeps its lease. Until `initialize`
 * succeeds, the connection is a greeting (net/seats.h): its messages must be short, it has
 * WIRE_INITIALIZE_MS, and it may be dropped for another greeting. An owner that comes back is
 * always accepted.
 *
 * Life: connection_new -> the channel's on_closed, which frees it.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/ring.h"
#include "executor/files.h"
#include "net/channel.h"
#include "rpc/reply.h"
#include "rpc/rpc.h"

struct executor;
struct owner;
struct scan;

enum connection_state {
	CONNECTION_FRESH,
	CONNECTION_GREETED, /* initialize was answered */
	CONNECTION_READY,
	CONNECTION_ENDED, /* no message is sent or read any more */
};
extern const char *const connection_state_names[];

struct connection {
	struct rpc rpc;
	struct executor *executor;
	unsigned number; /* for traces */
	struct channel *channel;
	struct owner *owner; /* from initialize on */
	enum connection_state state;
	bool last;
	bool mute;      /* nothing can be sent any more; messages are still read */
	bool lost;      /* the peer fell silent: the lease runs from its last message */
	bool heartbeat; /* the client promised a heartbeat */
	void (*on_gone)(void *ctx);
	void *on_gone_ctx;
	struct ring in_executor;
	struct ring reads; /* process/read requests that wait for room in the channel */
	struct files_line files;
	struct loop_timer silence;
	struct loop_timer greeting; /* until initialize */
	struct scan *scan;          /* a long message is being read; the channel is paused */
	struct buf later;           /* messages that came after it, each behind its length */
	bool closed;                /* the channel has ended meanwhile: */
	struct err why;
};

struct connection *connection_new(struct executor *x, struct channel *c, bool last);
/* Does silence on this connection mean that the other side is gone? */
bool connection_is_heard(const struct connection *c);
/* May output be sent? */
bool connection_has_room(const struct connection *c);
/* The connection that waits for a reply; NULL: it is gone. */
static inline struct connection *connection_of(const struct reply *r)
{
	return r->rpc ? CONTAINER_OF(r->rpc, struct connection, rpc) : NULL;
}
/* A long message was read. The scan is freed. */
void connection_scanned(struct connection *c, struct scan *s);
/* End the connection now, with a line in the log. */
void connection_drop(struct connection *c, const char *why);
/* Send all queued messages, then end the connection. */
void connection_finish(struct connection *c);
