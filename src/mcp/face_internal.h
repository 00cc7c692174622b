/* face_internal.h - structs and functions that the files of the face share.
 *
 *	face.c           life, the connection, messages that are no requests
 *	face_hello.c     initialize, server/discover, what the face offers
 *	face_requests.c  the table of methods; a request from its message to its end
 *	face_params.c    the members of params that the face reads
 *	face_answer.c    results and errors, with the members that each era needs
 *	face_notes.c     notifications to the client
 *	face_ask.c       requests to the client
 *	face_park.c      modern: requests that wait for the client's input
 *	face_listen.c    modern: subscriptions/listen
 */
#pragma once

#include <string.h>

#include "base/buf.h"
#include "base/emit.h"
#include "base/spare.h"
#include "mcp/client_internal.h"
#include "mcp/face.h"
#include "net/channel.h"

#define FACE_MODERN_VERSION "2026-07-28"
#define FACE_ASKS_MAX       256        /* asks of one client that are open at once */
#define FACE_URL            (1u << 16) /* beside enum killick_answers: elicitation in url mode */

enum face_state {
	FACE_NEW,     /* no request came yet */
	FACE_GREETED, /* on_hello was called */
	FACE_READY,   /* face_welcome was called */
	FACE_CLOSING, /* nothing is read or written any more, except what is queued */
	FACE_CLOSED,  /* on_closed was called */
};

enum face_row_flags {
	FACE_LEGACY_ONLY = 1,
	FACE_MODERN_ONLY = 2,
	FACE_CACHED = 4, /* a modern result has ttlMs and cacheScope */
	FACE_INPUT = 8,  /* a modern result may ask for input */
};

struct face_row { /* a method */
	const char *name;
	size_t len;
	enum face_method kind;
	const char *key; /* the member of params that is the request's name; NULL: none */
	unsigned flags;
	unsigned can; /* enum client_can: a modern client may use the method if it is offered */
	/* The face answers itself; NULL: the owner answers. */
	void (*fn)(struct face_request *rq);
};
extern const struct face_row face_initialize_row;

struct face_params { /* borrowed from a message; absent members are JSON_NONE */
	struct json name, meta, state, responses;
	struct json version, info, capabilities, level, token; /* of _meta */
};

struct face_ask {
	struct ring in_face;    /* face.asks, or face.over */
	struct ring in_request; /* request->park->asks, modern */
	struct face *face;
	struct face_request *request; /* NULL: none */
	uint64_t number;
	face_answered_fn on_answer;
	void *ctx;
	struct rpc_request rq; /* legacy */
	unsigned kind;         /* ANSWER_ bit */
	char *params;          /* modern: as written; NULL: none */
	bool shown;            /* modern: the client has this ask */
	struct json answer;    /* modern: borrowed, between the message and on_answer */
};

struct face_park { /* of a modern request that has asked for input */
	struct ring asks;
	bool parked; /* the client has the asks, and must send the request again */
	uint64_t serial;
	unsigned round;
	int64_t until_us;
	bool answered; /* by the owner; the client gets it when it sends the request again */
	struct buf stored;
	size_t id_at; /* where the id belongs */
};

struct face_watch { /* a resource that streams watch */
	struct hash_node by_uri;
	unsigned count;
	bool pending; /* the server has not answered yet */
	char uri[];
};

struct face_stream {  /* of a subscriptions/listen */
	unsigned can; /* CAN_..._CHANGE: what was accepted */
	struct face_watch **watches;
	size_t count;
	bool opened; /* all its watches are there */
	bool acknowledged;
};

struct face {
	struct loop *loop;
	const struct face_events *ev;
	void *ctx;
	struct channel *channel;
	struct rpc rpc;
	enum face_state state;
	size_t message_limit;

	enum client_era era;               /* of the hello */
	const char *version;               /* static; of the hello; "" before */
	bool initialize_came, initialized; /* legacy: the request came; it was answered */
	const char *legacy_version;        /* static; NULL before initialize */
	unsigned answers;                  /* legacy: what the client declared */

	/* the offer */
	char *info, *capabilities, *modern_capabilities; /* JSON */
	char *instructions;                              /* text; NULL: none */
	char *meta_member; /* "_meta":{serverInfo}, with a comma behind */
	char *info_member; /* the serverInfo alone, with a comma behind */
	size_t meta_len, info_len;
	unsigned can; /* enum client_can */

	struct ring requests, waiting, parked, streams; /* face_request.in_face */
	unsigned count;                                 /* of all of them */
	unsigned loggers;                               /* modern requests that want logs */
	size_t waiting_bytes; /* of the requests that wait; at most FACE_UNSENT_MAX */
	struct hash by_id;
	uint64_t seed; /* of the digests */
	struct spare spare;
	struct loop_timer run_timer; /* requests that waited for face_welcome */
	bool in_batch;

	struct ring asks, over; /* over: on_answer is due */
	unsigned ask_count;
	uint64_t last_ask, last_serial;
	uint64_t nonce; /* in the seals */
	struct loop_timer ask_timer, park_timer, listen_timer;
	size_t stored; /* bytes of answers to parked requests, at most FACE_UNSENT_MAX */

	struct hash watches; /* by the digest of the uri */
	size_t watch_count;  /* of all streams */

	bool eof;         /* no further message will come */
	int64_t ended_us; /* after that: when it came, or the last request ended */
	struct loop_timer linger_timer;
	char why[240]; /* why the face closed the connection; "": the face did not close it */
};

/* face.c */
void face_go(struct face *f, enum face_state to); /* the only writer of the state */
/* A buffer for one message; NULL: closed. face_commit follows. */
struct buf *face_begin(struct face *f);
void face_commit(struct face *f);
/* An error without a request: id JSON_NONE: it could not be read. */
void face_send_error(struct face *f, struct json id, int code, const char *text);
/* A request is over: after the end of input the face may close now. */
void face_check_end(struct face *f);

/* face_params.c */
void face_read_params(const struct message *m, const char *key, struct face_params *out);
unsigned face_read_answers(struct json capabilities);
/* The digest of the params that a retry repeats: all except _meta and the answers. */
uint64_t face_digest_params(const struct face *f, struct json params);
uint64_t face_digest(uint64_t seed, const char *bytes, size_t len);

/* face_requests.c */
void face_on_request(struct face *f, const struct message *m);
void face_on_cancel(struct face *f, struct json id);
void face_unset_id(struct face_request *rq);
/* rq, which has no id, takes the texts of another request. */
void face_move_texts(struct face_request *rq, struct face_request *from);
void face_release(struct face_request *rq);
/* End the request without an answer; on_cancelled is called. */
void face_abandon(struct face_request *rq);
void face_run_waiting(struct loop_timer *t);

/* face_hello.c */
void face_answer_initialize(struct face_request *rq);
void face_answer_discover(struct face_request *rq);
void face_read_initialize(struct face *f, struct json params);
/* Call on_hello. modern: of the first request; NULL: params are those of initialize. */
void face_say_hello(struct face *f, struct json params, const struct face_params *modern);
void face_offer_done(struct face *f);

/* face_answer.c: parts of an answer that is written member by member */
struct buf *face_answer_begin(struct face_request *rq, struct emit *j); /* NULL: closed; freed */
void face_answer_end(struct face_request *rq, struct emit *j);

/* face_ask.c */
void face_ask_end(struct face_ask *a, struct json result, struct json error); /* calls on_answer */
/* The asks of this request end: at once, or from the loop. */
void face_end_asks(struct face_request *rq, bool at_once);
void face_ask_close(struct face *f);

/* face_park.c */
void face_park_show(struct face_request *rq);
/* Is rq the retry of a parked request? Then rq is freed, and the parked request goes on. */
bool face_park_resume(struct face_request *rq, const struct face_params *p);
void face_park_free(struct face_request *rq);

/* face_listen.c */
void face_listen_open(struct face_request *rq);
void face_listen_free(struct face_request *rq);
void face_listen_end_all(struct face *f);
/* can: the CAN_ bit of the notification. */
void face_listen_note(struct face *f, const char *method, unsigned can, struct json params);
