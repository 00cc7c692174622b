/* peer.h - our end of a JSON-RPC conversation over a link: ids, answers, deadlines.
 *
 * A request is embedded in whatever made it. It is open from peer_open to peer_close, and its
 * deadline runs all that time. While it is open it may be on the wire, under a new id each time
 * (pages, retries): peer_assign -> peer_line, append one message -> peer_send -> on_answer,
 * on_spoiled, or peer_withdraw. An answer that comes after that is known to be late and dropped.
 *
 * All requests share one timer, which is set to the earliest deadline ever asked for and looks
 * again when it fires: a call that is answered in time costs no timer at all.
 *
 * What the other side sends is not trusted. Lines that are no message, answers to nothing and the
 * like are counted and warned of: the first three of a kind, then each power of ten. Where such a
 * line shows whose answer it was meant to be, that request ends at once instead of at its deadline.
 * Handlers may open, send and close requests, and call peer_stop. They may not call peer_feed or
 * peer_done. Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"
#include "link/link.h"
#include "base/frame.h"
#include "rpc/message.h"

struct peer_node { /* in a ring; alone it points at itself */
	struct peer_node *prev, *next;
};

static inline void peer_ring_init(struct peer_node *ring)
{
	ring->prev = ring->next = ring;
}

static inline bool peer_ring_is_empty(const struct peer_node *ring)
{
	return ring->next == ring;
}

void peer_ring_add(struct peer_node *ring, struct peer_node *n); /* at the end */
/* Out of its ring, alone after that; harmless twice. */
void peer_ring_remove(struct peer_node *ring, struct peer_node *n);

struct peer_request;
struct peer_handler {
	/* A result or an error. The request is off the wire, and open still. */
	void (*on_answer)(struct peer_request *rq, const struct message *m);
	/* The answer came and cannot be read; why is a sentence. Off the wire, and open still. */
	void (*on_spoiled)(struct peer_request *rq, const char *why);
	/* Its time is over. It is on the wire if it was. NULL: it never has a deadline. */
	void (*on_deadline)(struct peer_request *rq);
};

struct peer_request { /* embedded in its owner; zero: not open */
	struct peer_node
		node; /* open ones, the oldest first; free for other use when it is not open */
	const struct peer_handler *handler;
	uint64_t id;                /* on the wire; 0: it is not */
	struct peer_request *chain; /* in its bucket */
	int64_t deadline_us;
	bool standing; /* is answered at the end of the conversation, if ever */
};

enum peer_odd { /* what is counted */
		PEER_NOT_JSON,
		PEER_NOT_RPC,
		PEER_TOO_LONG,
		PEER_UNKNOWN_ID,
		PEER_TWICE,
		PEER_BATCH,
		PEER_UNSENT,
		PEER_USER, /* and more: of the peer's user */
		PEER_ODDITIES = PEER_USER + 8,
};

struct peer_events {
	void (*on_request)(void *ctx, const struct message *m);
	void (*on_notification)(void *ctx, const struct message *m);
	void (*on_warning)(void *ctx, const char *text);
};

struct peer_late { /* a request that was given up while it was on the wire */
	uint64_t id;
	void *tag;
	int64_t at_us;
};

#define PEER_EDGE 64 /* bytes kept of either end of a line that is too long */
struct peer_edges {
	bool open; /* its newline has not come */
	size_t head_len, tail_len;
	char head[PEER_EDGE], tail[PEER_EDGE];
};

struct peer {
	struct loop *loop;
	struct link *link; /* borrowed */
	const struct peer_events *ev;
	void *ctx;
	struct frame frame;
	struct buf line;
	struct peer_node open;
	struct peer_request **buckets; /* of those on the wire, by id */
	size_t bucket_count, on_wire;
	uint64_t last_id;
	struct loop_timer timer;
	int64_t due_us; /* of the timer */
	struct peer_late *late;
	size_t late_count, late_room;
	struct peer_edges edges;
	const char *chunk, *scan, *chunk_end; /* what is being fed, and how far it was searched for
						 lines that are too long */
	size_t chunk_before;                  /* bytes of its first line that came before */
	uint64_t odd[PEER_ODDITIES];
	bool batches; /* an array is a batch, in the one revision that has them */
	bool stopped;
};

#define PEER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

void peer_init(struct peer *p, struct loop *loop, struct link *link, size_t message_limit,
	       const struct peer_events *ev, void *ctx);
/* Nothing is sent or read any more. Requests that are open stay so. */
void peer_stop(struct peer *p);
/* No request may be open. */
void peer_done(struct peer *p);

void peer_feed(struct peer *p, const char *bytes, size_t len);

/* Begin; the deadline counts from now, -1: none. */
void peer_open(struct peer *p, struct peer_request *rq, const struct peer_handler *h,
	       int64_t timeout_ms);
/* The deadline counts from now again. */
void peer_extend(struct peer *p, struct peer_request *rq, int64_t timeout_ms);
/* A new id: from now on an answer to it is expected. */
uint64_t peer_assign(struct peer *p, struct peer_request *rq);
/* It was never sent: nothing is expected any more. */
void peer_unassign(struct peer *p, struct peer_request *rq);
/* Give up what is on the wire; its answer will be late. tag: for peer.late. Returns the id. */
uint64_t peer_withdraw(struct peer *p, struct peer_request *rq, void *tag);
/* No longer open. It must be off the wire. */
void peer_close(struct peer *p, struct peer_request *rq);
/* The request on the wire under this id, or NULL. */
struct peer_request *peer_find(const struct peer *p, uint64_t id);

/* An empty buffer for one message, newline included; then send it. 0, -ENOBUFS or -EPIPE as
 * link_write. */
struct buf *peer_line(struct peer *p);
int peer_send(struct peer *p);
/* The same for answers to the other side, which has itself to blame if they cannot be sent. */
void peer_answer(struct peer *p, struct json id, const char *result, size_t len);
void peer_refuse(struct peer *p, struct json id, int code, const char *text);

void peer_warn(struct peer *p, unsigned kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
