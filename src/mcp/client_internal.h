/* client_internal.h - what the files of the client share.
 *
 *	client.c         life, owners, what was learnt of the server
 *	handshake.c      which era, and when it is settled: one state, one writer
 *	legacy.c         initialize; log levels
 *	modern.c         server/discover; results that ask for input (rounds)
 *	call.c           a request from client_call to on_done
 *	pages.c          lists, page after page
 *	params.c         the lines we write
 *	incoming.c       notifications; requests of the server (asks), and whose they are
 *	subscriptions.c  which owner watches which resource
 *	listen.c         the modern stream that brings what is watched
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "base/spare.h"
#include "base/trace.h"
#include "mcp/client.h"
#include "rpc/peer.h"

/* Bits of client_spec.answers: enum killick_answers. */
enum { ANSWER_SAMPLING = 1, ANSWER_ELICITATION = 2, ANSWER_ROOTS = 4, ANSWER_ROOTS_CHANGE = 8 };

#define CODE_METHOD_NOT_FOUND   (-32601)
#define CODE_INTERNAL           (-32603)
#define CODE_REJECTED           (-1) /* a person said no to sampling */
#define CODE_MISSING_CAPABILITY (-32021)
#define CODE_HEADER_MISMATCH    (-32020)
#define CODE_VERSION            (-32022)

#define META(name) "io.modelcontextprotocol/" name

enum { /* kinds of warnings beside the peer's own */
       ODD_PROGRESS = PEER_USER,
       ODD_NOTE,
       ODD_ASK,
       ODD_ANSWER,
       ODD_LISTEN,
       ODD_FACTS,
};

enum client_can { /* what the server offers */
		  CAN_TOOLS = 1,
		  CAN_TOOLS_CHANGE = 2,
		  CAN_PROMPTS = 4,
		  CAN_PROMPTS_CHANGE = 8,
		  CAN_RESOURCES = 16,
		  CAN_RESOURCES_CHANGE = 32,
		  CAN_SUBSCRIBE = 64,
		  CAN_COMPLETE = 128,
		  CAN_LOG = 256,
};

#define LEVEL_NONE  (-1) /* of a log: 0 is "debug" */
#define LEVEL_UNSET (-2)

struct party { /* one that made a request; until client_forget */
	struct peer_node node, calls;
	void *key;
	unsigned open; /* calls */
	unsigned wire; /* of these, on the wire */
	int level;     /* of its log */
};

enum call_state {
	CALL_STARTING,
	CALL_WAITING,   /* for the handshake */
	CALL_SENT,      /* on the wire */
	CALL_ASKING,    /* for input that the server wants, of our side */
	CALL_LISTENING, /* for a listen stream to be acknowledged */
	CALL_LATER,     /* decided; on_done comes from the loop */
	CALL_OVER,      /* on_done runs */
};
extern const char *const call_state_names[];

struct client_call {
	struct peer_request rq;
	struct peer_node of_owner;
	struct client *client;
	struct party *owner; /* NULL: our own, nobody waits for it */
	enum client_op op;
	enum call_state state;
	uint64_t last_id; /* that it had on the wire; for traces */
	bool wants_progress, progress_extends;
	bool retried;  /* with another protocol version */
	bool kept_all; /* name and args are ours */
	int64_t timeout_ms;
	void *ctx;
	void (*on_progress)(void *ctx, double progress, double total, const char *message);
	void (*on_done)(void *ctx, const struct client_result *r);
	const char *name; /* our copy behind the struct, or borrowed while client_call runs */
	struct json args;
	struct pages *pages;
	struct rounds *rounds;
	int level, old_level;        /* OP_LOG_LEVEL: on the wire; of the owner before */
	uint64_t generation;         /* CALL_LISTENING: of the set that has it */
	enum client_outcome outcome; /* CALL_LATER */
	const char *json;            /* static */
	char *text;
	char kept[];
};

struct ask { /* a request that the server made */
	uint64_t number;
	unsigned kind;            /* ANSWER_ bit */
	struct party *owner;      /* NULL: nobody in particular */
	struct client_call *call; /* it is part of that call, or */
	size_t slot;
	char *id; /* a request on the wire: its id as written */
};

struct listen {
	struct peer_request rq; /* standing */
	struct client *client;
	uint64_t generation;
	bool acknowledged;
	int64_t since_us;
};
#define LISTEN_MAX                                                                                 \
	4 /* the one in use, its successor, and those of a server that does not acknowledge */

/*	PROBING --- discovered ---------------------> READY
 *	   | \--- refused, or silent (auto) --> INITIALIZING --> READY
 *	   \--- refused (modern) --> FAILED <-------'
 *	any --- client_fail --> OVER
 */
enum client_state { CLIENT_PROBING, CLIENT_INITIALIZING, CLIENT_READY, CLIENT_FAILED, CLIENT_OVER };
extern const char *const client_state_names[];

struct client {
	struct peer peer;
	struct loop *loop;
	const struct client_spec *spec;
	const struct client_events *ev;
	void *ctx;

	struct spare spare; /* struct client_call without room behind it */
	enum client_state state;
	enum client_era era; /* LEGACY or MODERN: of what is being tried, or was settled */
	const char *version; /* static; of the same */
	unsigned tries;      /* of versions */
	bool answered;       /* the server has answered something of the handshake */
	const char *found;   /* a modern version that the server has, while initialize is open */
	struct peer_request discover, initialize;
	bool ready_due;   /* on_ready with `error` comes from the loop */
	struct err error; /* of the handshake, as far as it failed */
	char *meta;       /* modern: members of every request's _meta */

	char *info, *capabilities, *instructions; /* NULL: none */
	unsigned can;                             /* enum client_can */

	struct peer_node owners;
	struct party *last_owner; /* found last */
	unsigned open;            /* calls of all owners */
	struct peer_node later;   /* calls in CALL_LATER */
	struct loop_timer later_timer;

	struct ask *asks;
	size_t ask_count, ask_room;
	uint64_t last_ask;
	struct client_call *asking; /* rounds_begin runs for it; NULL when it ended */

	struct peer_node watches; /* subscriptions.c */
	int wire_level;           /* legacy: what the server was told */

	struct listen listens[LISTEN_MAX];
	uint64_t generation; /* of the set that is to be listened to */
	int64_t listen_delay_ms;
	struct loop_timer listen_timer;

	int over_code; /* client_fail */
	char *over_text;
};

/* The one writer of the state of a call. */
static inline void call_go(struct client_call *call, enum call_state to)
{
	if (to == call->state)
		return;
	TRACE(TRACE_CALL, "link=%s tree=%s id=%llu: %s -> %s", call->client->peer.link->id,
	      call->client->peer.link->tree, (unsigned long long)call->last_id,
	      call_state_names[call->state], call_state_names[to]);
	call->state = to;
}

/* client.c */
void client_go(struct client *c, enum client_state to, const char *why); /* the one writer */
struct party *party_get(struct client *c, void *key);                    /* made if there is none */
struct party *party_find(const struct client *c, const void *key);
/* Of the answer to initialize or server/discover. */
void facts_read(struct client *c, const char *version, struct json info, struct json capabilities,
		struct json instructions);

/* handshake.c */
void handshake_begin(struct client *c);
void handshake_ready(struct client *c, enum client_era era, const char *version);
/* The server is modern; its facts were read. */
void handshake_discovered(struct client *c, const char *version);
void handshake_fail(struct client *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Try initialize with this version. */
void handshake_initialize(struct client *c, const char *version);
/* The server refused, and named the versions it has. Of a version that both have, if it was not
 * tried. */
void handshake_offer(struct client *c, struct json versions);
void handshake_done(struct client *c); /* close what is open of it */
/* One of the two questions was answered, however badly: it is closed. */
void handshake_answered(struct client *c, struct peer_request *rq);
/* The first of ours (NULL at the end) that is in their list; NULL: none. */
const char *handshake_choose(const char *const *ours, struct json theirs);
/* No modern server, or none that could be understood: go on with initialize if that may be. */
void handshake_not_modern(struct client *c, const char *why);

/* legacy.c */
extern const struct peer_handler legacy_initialize_handler;
const char *legacy_version(struct json v); /* our own name of it; NULL: not ours */
const char *legacy_choose(struct json versions);
const char *log_level_name(int level);
int level_of(struct json name);
void level_start(struct client_call *call);
void level_settle(struct client_call *call, enum client_outcome outcome);
void level_forget(struct client *c);

/* modern.c */
extern const struct peer_handler modern_discover_handler;
const char *modern_choose(struct json versions); /* the best that both have; NULL: none */
/* A request was refused because of its version: true when another one is in use now. */
bool modern_retry(struct client_call *call, struct json error);
/* What `resultType` says. */
enum result_type { RESULT_COMPLETE, RESULT_INPUT, RESULT_UNKNOWN };
enum result_type modern_type(struct json result);

struct round_item {
	char *key;    /* as written, quoted */
	char *answer; /* NULL: none yet */
};
struct rounds { /* of a request whose results ask for input */
	unsigned count;
	char *state; /* requestState as written; NULL: none */
	struct round_item *items;
	size_t item_count, missing;
};
/* The server wants input: ask our side, then send the request again. */
void rounds_begin(struct client_call *call, struct json result);
void rounds_answer(struct client_call *call, size_t slot, const char *json, size_t len);
void rounds_free(struct rounds *r);

/* call.c */
extern const struct peer_handler call_handler;
/* Put it on the wire, for the first time or again. When that cannot be done it ends, later. */
void call_send(struct client_call *call);
void call_start(struct client_call *call); /* the handshake is over */
/* End it now. The call is gone after this. */
void call_finish(struct client_call *call, const struct client_result *r);
void call_fail(struct client_call *call, enum client_outcome outcome, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* End it from the loop: json is static, NULL without; fmt NULL for no text. It may not be on the
 * wire. */
void call_later(struct client_call *call, enum client_outcome outcome, const char *json,
		const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Give it up: tell the server, end it now. */
void call_abandon(struct client_call *call, enum client_outcome outcome, const char *reason,
		  const char *text);
/* A request of our own whose answer does not matter. */
void call_own(struct client *c, enum client_op op, const char *name, int level);
void call_run_later(struct client *c);
void call_set_later(struct client *c); /* make the loop run them */
/* Tell the server that a request is of no interest any more. */
void call_cancelled(struct client *c, uint64_t id, const char *reason);

/* pages.c */
extern const char *const pages_key[]; /* by op: the member that has the list */
void pages_add(struct client_call *call, struct json result);
struct json pages_cursor(const struct pages *p); /* JSON_NONE: of the first page */
void pages_free(struct pages *p);

/* params.c: each appends a line; 0 or -EMSGSIZE */
int params_call(struct buf *b, const struct client_call *call, uint64_t id);
int params_initialize(struct buf *b, const struct client *c, uint64_t id);
int params_discover(struct buf *b, const struct client *c, uint64_t id);
int params_listen(struct buf *b, const struct client *c, uint64_t id);
int params_cancelled(struct buf *b, uint64_t id, const char *reason);
int params_initialized(struct buf *b);
char *params_meta(const struct client *c); /* for client.meta */

/* incoming.c */
extern const struct peer_events incoming_events;
unsigned ask_kind(struct json method); /* ANSWER_ bit; 0: nothing that can be asked */
const char *ask_method(unsigned kind);
/* Ask our side on behalf of a call. The call may be over when this returns. */
void ask_of_call(struct client_call *call, size_t slot, unsigned kind, struct json params);
void ask_drop_of(struct client *c, const struct client_call *call); /* silently */
void ask_forget(struct client *c, const struct party *owner, const char *why);
void ask_done(struct client *c);

/* subscriptions.c */
void subscriptions_subscribe(struct client_call *call);
void subscriptions_unsubscribe(struct client_call *call);
void subscriptions_settle(struct client_call *call, enum client_outcome outcome);
void subscriptions_forget(struct client *c, struct party *owner);
void subscriptions_updated(struct client *c, struct json params);
void subscriptions_done(struct client *c);
/* Every uri once; start with *at NULL. */
const char *subscriptions_each(const struct client *c, const struct peer_node **at);

/* listen.c */
void listen_changed(struct client *c);                     /* another set from now on */
bool listen_has(const struct client *c);                   /* is there anything to listen to? */
bool listen_is_open(struct client *c, struct json params); /* the stream of a notification */
void listen_acknowledged(struct client *c, struct json params);
bool listen_cancelled(struct client *c, struct json id); /* by the server; false: none of ours */
void listen_done(struct client *c);
