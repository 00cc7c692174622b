/* rpc.h - one end of a JSON-RPC conversation: our requests, and requests of the other side.
 *
 * The engine knows ids, deadlines and limits. The transport knows the bytes, the role knows the
 * methods. Messages come in by rpc_feed and leave through the transport.
 *
 *	MCP client      lines.h over a link         role in mcp/incoming.c
 *	executor        a channel                   role in executor/connection.c
 *	its client      a channel                   role in remote/environment_talk.c
 *
 * Our requests. A request is embedded in its owner. On the wire: rpc_begin, members of its params,
 * rpc_send -> on_answer or on_lost, or we give the request up (rpc_withdraw, rpc_drop). A request
 * may be sent again, under a new id each time (pages, retries). Its deadline runs from rpc_open to
 * rpc_close, whether the request is on the wire or not. All requests share one timer, which stays
 * at the earliest deadline that was requested and is set anew when it fires: a request that is
 * answered in time costs no timer. Memory is allocated only when a table grows.
 *
 * Requests of the other side. The role has a table of methods; reply.h sends the answer, at once or
 * later.
 *
 * The other side is not trusted. on_odd reports each breach of the rules: the role decides whether
 * to warn or to end the connection.
 *
 * Life: rpc_init -> rpc_feed, rpc_begin ... -> rpc_stop -> rpc_done. Handlers may call all
 * functions except rpc_feed and rpc_done. Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/emit.h"
#include "base/hash.h"
#include "base/loop.h"
#include "base/ring.h"
#include "rpc/message.h"

struct reply;
struct rpc;

/* --- requests of ours --- */

struct rpc_request;
struct rpc_handler {
	/* A result or an error. The request is off the wire. */
	void (*on_answer)(struct rpc_request *rq, const struct message *m);
	/* No answer that can be read will come; why is a sentence. The request is off the wire.
	 * NULL: nobody calls rpc_lose. */
	void (*on_lost)(struct rpc_request *rq, const char *why);
	/* The deadline has passed. The request stays on the wire if it was there. NULL: the request
	 * never has a deadline. */
	void (*on_deadline)(struct rpc_request *rq);
};

struct rpc_request {           /* zero except the handler: not on the wire, not open */
	struct hash_node wire; /* by id, while it is on the wire */
	struct ring node;      /* open ones, the oldest first; free for other use when not open */
	const struct rpc_handler *handler;
	int64_t deadline_us;
	bool standing; /* is answered at the end of the conversation, if ever */
};

/* The id on the wire; 0: the request is not on the wire. */
static inline uint64_t rpc_id(const struct rpc_request *rq)
{
	return rq->wire.key;
}

static inline bool rpc_is_open(const struct rpc_request *rq)
{
	return ring_is_in(&rq->node);
}

/* --- the two sides of the engine --- */

/* How messages leave. */
struct rpc_transport {
	/* Return a buffer to which one message is appended; NULL: no message can be sent. Without
	 * this function messages are written into a buffer of the engine. */
	struct buf *(*begin)(void *ctx);
	/* Send the message that is in b: 0; -ENOBUFS: the queue is full; -EPIPE: closed; or another
	 * -errno. On failure no part of the message is sent. */
	int (*send)(void *ctx, struct buf *b);
};

struct rpc_method {
	const char *name; /* NULL: the end of the table */
	unsigned flags;   /* of the role */
	void (*fn)(void *ctx, const struct reply *r, struct json params);
};

enum rpc_oddity {
	RPC_BROKEN,   /* no message: text, error, reason */
	RPC_TOO_LONG, /* dropped by the transport: error is -EMSGSIZE or -ENOMEM */
	RPC_BATCH,    /* an array, but batches are off */
	RPC_NAMELESS, /* m is an error without an id: the peer could not read our request */
	RPC_UNASKED,  /* m answers a request that was never made */
	RPC_TWICE,    /* m answers a request that was answered, or dropped with rpc_drop */
	RPC_UNSENT,   /* a reply could not be sent: error */
};
struct rpc_odd { /* borrowed */
	enum rpc_oddity kind;
	const struct message *m;
	struct json text;
	int error;
	const char *reason;
};

struct rpc_role {
	const struct rpc_method *requests, *notifications; /* NULL: none */
	/* True: call the handler. False: admit has answered the request, or the notification is
	 * ignored. r->method is NULL when the table does not have the method. Without this function
	 * all known methods are called; unknown requests are refused, unknown notifications are
	 * ignored. */
	bool (*admit)(void *ctx, const struct reply *r, const struct message *m);
	void (*on_odd)(void *ctx, const struct rpc_odd *odd);
};

enum { RPC_DROPPED = 2 };
struct rpc_late { /* a request that was withdrawn while it was on the wire */
	uint64_t id;
	void *tag;
	int64_t at_us;
};

struct rpc_spec { /* borrowed for the time of rpc_init; what it points to lives as long as the rpc
		   */
	struct loop *loop;
	const struct rpc_transport *transport;
	void *transport_ctx;
	const struct rpc_role *role;
	void *ctx;            /* of the role */
	size_t message_limit; /* of the engine's own buffer */
	unsigned max_answers; /* requests of the other side that wait; 0: any number */
	bool bare;            /* messages without "jsonrpc" */
};

struct rpc {
	struct rpc_spec is;
	struct buf line;
	struct ring open;
	struct hash wire; /* requests on the wire, by id */
	uint64_t last_id;
	struct loop_timer timer;
	int64_t due_us; /* of the timer */
	struct rpc_late *late;
	size_t late_count, late_room;
	/* Withdrawn requests that were removed from `late` because the list was full: the newest
	 * one for each of the last two tags. They count as long as an older request counts. */
	struct rpc_late dropped[RPC_DROPPED];
	struct ring answers; /* reply.h */
	unsigned answer_count;
	bool batches; /* an array is a batch */
	bool stopped;
};

void rpc_init(struct rpc *rpc, const struct rpc_spec *spec);
/* Nothing is sent or read any more. Requests that are open stay open. */
void rpc_stop(struct rpc *rpc);
/* The other side is gone: requests on the wire are dropped, and on_gone of each answer that waits
 * is called. The rpc may be used for the next connection. */
void rpc_lost(struct rpc *rpc);
/* No request may be open or on the wire, no answer may wait. */
void rpc_done(struct rpc *rpc);

/* One message came. */
void rpc_feed(struct rpc *rpc, const char *text, size_t len);

/* Open the request. Its deadline counts from now; -1: none. */
void rpc_open(struct rpc *rpc, struct rpc_request *rq, const struct rpc_handler *h,
	      int64_t timeout_ms);
/* The deadline counts from now again. */
void rpc_extend(struct rpc *rpc, struct rpc_request *rq, int64_t timeout_ms);
/* Close the request: its deadline ends. The request must be off the wire. */
void rpc_close(struct rpc_request *rq);

/* Begin a request, which gets its id, or a notification (rq NULL): j is open inside its params. 0,
 * or -EPIPE: nothing can be sent. */
int rpc_begin(struct rpc *rpc, struct rpc_request *rq, const char *method, struct emit *j);
/* Send the message. On failure the request is off the wire: -EMSGSIZE: longer than message_limit;
 * -ENOMEM; else as the transport's send. */
int rpc_send(struct rpc *rpc, struct rpc_request *rq, struct emit *j);
/* Begin a request whose text the caller writes: the request gets its id, and the text, which must
 * have this id and be one line, is appended to **out. 0 or -EPIPE. rpc_send_text sends it, as
 * rpc_send does; built: 0, or why the text could not be written. */
int rpc_begin_text(struct rpc *rpc, struct rpc_request *rq, struct buf **out);
int rpc_send_text(struct rpc *rpc, struct rpc_request *rq, struct buf *b, int built);
/* A notification whose params are JSON already; JSON_NONE: without. */
int rpc_notify(struct rpc *rpc, const char *method, struct json params);
/* Give up a request that is on the wire; a late answer is not odd then. tag: kept in rpc.late.
 * Returns the id. */
uint64_t rpc_withdraw(struct rpc *rpc, struct rpc_request *rq, void *tag);
/* Take a request off the wire, if it is on the wire. */
void rpc_drop(struct rpc *rpc, struct rpc_request *rq);
/* The same, and call on_lost. */
void rpc_lose(struct rpc *rpc, struct rpc_request *rq, const char *why);
/* The request on the wire under this id, or NULL. */
struct rpc_request *rpc_find(const struct rpc *rpc, uint64_t id);
/* The only request on the wire that will be answered; NULL: there is none, or several. */
struct rpc_request *rpc_find_only(const struct rpc *rpc);
/* Give this answer to the request. */
void rpc_deliver(struct rpc *rpc, struct rpc_request *rq, const struct message *m);

/* --- for reply.c and transports --- */

/* A buffer for one message; NULL: nothing can be sent. */
struct buf *rpc_buffer(struct rpc *rpc);
/* Send the message in b. built: the result of message_end. 0, or as rpc_send. */
int rpc_commit(struct rpc *rpc, struct buf *b, int built);
void rpc_tell_odd(struct rpc *rpc, const struct rpc_odd *odd);
