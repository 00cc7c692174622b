/* client_internal.h - what the files of the client share.
 *
 *	client.c         life, owners, what was learnt of the server
 *	handshake.c      which era, and when it is settled: one state, one writer
 *	legacy.c         initialize; log levels
 *	modern.c         server/discover; results that ask for input (rounds)
 *	call.c           a request from client_call to on_done
 *	pages.c          lists, page after page
 *	params.c         the params we write
 *	incoming.c       notifications; requests of the server (asks), and whose they are
 *	odd.c            what the server should not do: warnings
 *	subscriptions.c  which owner watches which resource
 *	listen.c         the modern stream that brings what is watched
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "base/trace.h"
#include "mcp/client.h"
#include "rpc/lines.h"
#include "rpc/reply.h"
#include "rpc/rpc.h"

#define META(name) "io.modelcontextprotocol/" name

enum odd { /* kinds of warnings */
	   ODD_NOT_JSON,
	   ODD_NOT_RPC,
	   ODD_TOO_LONG,
	   ODD_UNKNOWN_ID,
	   ODD_TWICE,
	   ODD_BATCH,
	   ODD_UNSENT,
	   ODD_PROGRESS,
	   ODD_NOTE,
	   ODD_ASK,
	   ODD_ANSWER,
	   ODD_LISTEN,
	   ODD_FACTS,
	   ODDITIES,
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
	struct ring node, calls;
	void *key;
	unsigned open; /* calls */
	unsigned wire; /* of these, on the wire */
	int level;     /* of its log */
};

extern const char *const call_state_names[];

struct ask { /* a request that the server made */
	struct ring node;
	struct client *client;
	uint64_t number;
	unsigned kind;            /* ANSWER_ bit */
	struct party *owner;      /* NULL: nobody in particular */
	struct client_call *call; /* it is part of that call, or */
	size_t slot;
	struct answer *answer; /* a request on the wire */
};

struct listen {
	struct rpc_request rq; /* standing */
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
	struct rpc rpc;
	struct lines lines;
	struct loop *loop;
	const struct client_spec *spec;
	const struct client_events *ev;
	void *ctx;

	enum client_state state;
	enum client_era era; /* LEGACY or MODERN: of what is being tried, or was settled */
	const char *version; /* static; of the same */
	unsigned tries;      /* of versions */
	bool answered;       /* the server has answered something of the handshake */
	const char *found;   /* a modern version that the server has, while initialize is open */
	struct rpc_request discover, initialize;
	bool ready_due;   /* on_ready with `error` comes from the loop */
	struct err error; /* of the handshake, as far as it failed */
	char *meta;       /* modern: members of every request's _meta */

	char *info, *capabilities, *instructions; /* NULL: none */
	unsigned can;                             /* enum client_can */

	struct ring owners;
	struct party *last_owner; /* found last */
	unsigned open;            /* calls of all owners */
	struct ring later;        /* calls in CALL_LATER, */
	struct ring telling;      /* and those of them whose turn it is */
	struct loop_timer later_timer;

	struct ring asks;
	size_t ask_count;
	uint64_t last_ask;
	struct client_call *asking; /* rounds_begin runs for it; NULL when it ended */

	struct ring watches; /* subscriptions.c */
	int wire_level;      /* legacy: what the server was told */

	struct listen listens[LISTEN_MAX];
	uint64_t generation; /* of the set that is to be listened to */
	int64_t listen_delay_ms;
	struct loop_timer listen_timer;

	uint64_t odd[ODDITIES]; /* how often */
	int over_code;          /* client_fail */
	char *over_text;
};

/* The one writer of the state of a call. */
static inline void call_go(struct client_call *call, enum call_state to)
{
	if (to == call->state)
		return;
	TRACE(TRACE_CALL, "link=%s tree=%s id=%llu: %s -> %s", call->client->lines.link->id,
	      call->client->lines.link->tree, (unsigned long long)call->last_id,
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
void handshake_answered(struct client *c, struct rpc_request *rq);
/* The first of ours (NULL at the end) that is in their list; NULL: none. */
const char *handshake_choose(const char *const *ours, struct json theirs);
/* No modern server, or none that could be understood: go on with initialize if that may be. */
void handshake_not_modern(struct client *c, const char *why);

/* legacy.c */
extern const struct rpc_handler legacy_initialize_handler;
const char *legacy_version(struct json v); /* our own name of it; NULL: not ours */
const char *legacy_choose(struct json versions);
const char *log_level_name(int level);
int level_of(struct json name);
void level_start(struct client_call *call);
void level_settle(struct client_call *call, int code);
void level_forget(struct client *c);

/* modern.c */
extern const struct rpc_handler modern_discover_handler;
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
extern const struct rpc_handler call_handler;
/* Put it on the wire, for the first time or again. When that cannot be done it ends, later. */
void call_send(struct client_call *call);
void call_start(struct client_call *call); /* the handshake is over */
/* End it now. The call is gone after this. */
void call_finish(struct client_call *call, const struct client_result *r);
void call_fail(struct client_call *call, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* End it from the loop: json is static, NULL without; fmt NULL for no text. It may not be on the
 * wire. */
void call_later(struct client_call *call, int code, const char *json, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Give it up: tell the server, end it now. */
void call_abandon(struct client_call *call, int code, const char *reason, const char *text);
/* A request of our own whose answer does not matter. */
void call_own(struct client *c, enum killick_op op, const char *name, int level);
void call_run_later(struct client *c);
void call_set_later(struct client *c); /* make the loop run them */
/* Tell the server that a request is of no interest any more. */
void call_cancelled(struct client *c, uint64_t id, const char *reason);

/* pages.c */
extern const char *const pages_key[]; /* by op: the member that has the list */
void pages_add(struct client_call *call, struct json result);
struct json pages_cursor(const struct pages *p); /* JSON_NONE: of the first page */
void pages_free(struct pages *p);

/* params.c: each writes the members of the params of a request */
void params_call(struct emit *j, const struct client_call *call);
void params_initialize(struct emit *j, const struct client *c);
void params_discover(struct emit *j, const struct client *c);
void params_listen(struct emit *j, const struct client *c);
const char *params_method(const struct client_call *call);
char *params_meta(const struct client *c); /* for client.meta */

/* incoming.c */
extern const struct rpc_role incoming_role;
unsigned ask_kind(struct json method); /* ANSWER_ bit; 0: nothing that can be asked */
const char *ask_method(unsigned kind);
/* Ask our side on behalf of a call. The call may be over when this returns. */
void ask_of_call(struct client_call *call, size_t slot, unsigned kind, struct json params);
void ask_drop_of(struct client *c, const struct client_call *call); /* silently */
void ask_forget(struct client *c, const struct party *owner, const char *why);
void ask_done(struct client *c);

/* odd.c */
void odd_on_rpc(void *ctx, const struct rpc_odd *odd);
/* Warn of something: the first three of a kind, then each power of ten. */
void odd_warn(struct client *c, enum odd kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* subscriptions.c */
void subscriptions_subscribe(struct client_call *call);
void subscriptions_unsubscribe(struct client_call *call);
void subscriptions_settle(struct client_call *call, int code);
void subscriptions_forget(struct client *c, struct party *owner);
void subscriptions_updated(struct client *c, struct json params);
void subscriptions_done(struct client *c);
/* Every uri once; start with *at NULL. */
const char *subscriptions_each(const struct client *c, const struct ring **at);

/* listen.c */
void listen_changed(struct client *c);                     /* another set from now on */
bool listen_has(const struct client *c);                   /* is there anything to listen to? */
bool listen_is_open(struct client *c, struct json params); /* the stream of a notification */
void listen_acknowledged(struct client *c, struct json params);
bool listen_cancelled(struct client *c, struct json id); /* by the server; false: none of ours */
void listen_done(struct client *c);
