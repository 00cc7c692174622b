/* client_internal.h - structs and functions that the files of the client share.
 *
 *	client.c         life, owners, facts about the server
 *	handshake.c      finds the era of the server: one state, one writer
 *	legacy.c         initialize; log levels
 *	modern.c         server/discover; results that ask for input (rounds)
 *	call.c           a request from client_call to on_done
 *	pages.c          lists, page after page
 *	params.c         the params of our requests
 *	splice.c         requests of other clients that are passed on
 *	edits.c          replacements in a text that is copied; see edits.h
 *	handles.c        which owner has which task and which elicitation
 *	incoming.c       notifications and requests (asks) of the server, and their owners
 *	odd.c            protocol errors of the server: warnings
 *	subscriptions.c  which owner watches which resource
 *	listen.c         the modern stream that brings the notifications of changes
 */
#pragma once

#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/trace.h"
#include "mcp/client.h"
#include "rpc/lines.h"
#include "rpc/reply.h"
#include "rpc/rpc.h"

#define META(name) "io.modelcontextprotocol/" name

/* Is the quoted string, a key or a method, this name? Escapes are rare. Inline, so that the length
 * of a literal is a constant. */
static inline bool json_key_is(struct json key, const char *name)
{
	size_t len = strlen(name);

	if (key.len == len + 2 && memcmp(key.at + 1, name, len) == 0)
		return true;
	return memchr(key.at, '\\', key.len) && json_is(key, name);
}

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
		  CAN_TASKS = 512, /* the extension of the modern era */
};

#define LEVEL_NONE  (-1) /* of a log: 0 is "debug" */
#define LEVEL_UNSET (-2)

struct party { /* one user (owner) of the client, from its first request until client_forget */
	struct ring node, calls;
	void *key;
	unsigned open; /* calls */
	unsigned wire; /* calls on the wire */
	int level;     /* its log level */
	bool modern;   /* its client is modern: each request has a log level of its own */
};

extern const char *const call_state_names[];

struct ask { /* a request that the server made */
	struct ring node;
	struct client *client;
	uint64_t number;
	unsigned kind;            /* ANSWER_ bit */
	struct party *owner;      /* NULL: not known */
	struct client_call *call; /* the ask is part of this call (and of its slot), or */
	size_t slot;
	struct answer *answer; /* it answers a request on the wire */
	bool told;             /* on_ask returned true */
};

struct handles {           /* handles.c */
	struct hash table; /* struct handle */
	struct ring order; /* the oldest first */
	uint64_t seed;
};

struct listen {
	struct rpc_request rq; /* standing */
	struct client *client;
	uint64_t generation;
	bool acknowledged;
	int64_t since_us;
};
#define LISTEN_MAX                                                                                 \
	4 /* the stream in use, its successor, and streams that the server did not acknowledge */

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
	enum client_era era; /* LEGACY or MODERN: the era that is being tried, or was found */
	const char *version; /* static; the protocol version of this era */
	unsigned tries;      /* number of versions tried */
	bool answered;       /* the server has answered a request of the handshake */
	const char *found;   /* a modern version that the server has, while initialize is open */
	struct rpc_request discover, initialize;
	bool ready_due;   /* on_ready with `error` comes from the loop */
	struct err error; /* why the handshake failed */
	char *meta;       /* modern: members of every request's _meta */

	char *info, *capabilities, *instructions; /* NULL: none */
	unsigned can;                             /* enum client_can */

	struct ring owners;
	struct party *last_owner; /* found last */
	bool left;                /* an owner has left; the server may still work for it */
	bool forwards;            /* requests were passed on (struct client_forward) */
	unsigned open;            /* calls of all owners */
	struct ring later;        /* calls in CALL_LATER */
	struct ring telling;      /* calls in CALL_LATER whose on_done is called in this turn */
	struct loop_timer later_timer;

	struct ring asks;
	size_t ask_count;
	uint64_t last_ask;
	struct client_call *asking; /* rounds_begin runs for this call; NULL when the call ended */

	struct ring watches; /* subscriptions.c */
	struct handles handles;
	struct buf splice; /* scratch of splice.c */
	int wire_level;    /* legacy: the log level that was sent to the server */

	struct listen listens[LISTEN_MAX];
	uint64_t generation; /* of the set of watched resources and lists */
	int64_t listen_delay_ms;
	struct loop_timer listen_timer;

	uint64_t odd[ODDITIES]; /* how often each kind occurred */
	int over_code;          /* client_fail */
	char *over_text;
};

/* The only function that writes the state of a call. */
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
void client_go(struct client *c, enum client_state to, const char *why); /* the only writer */
struct party *party_get(struct client *c, void *key);                    /* made if there is none */
/* Store the facts from the answer to initialize or server/discover. */
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
/* The server refused, and named its versions. Try a version that both sides have. */
void handshake_offer(struct client *c, struct json versions);
void handshake_done(struct client *c); /* withdraw the open requests of the handshake */
/* discover or initialize was answered, also with an error: close the request. */
void handshake_answered(struct client *c, struct rpc_request *rq);
/* The first of our versions (NULL at the end) that is in the server's list; NULL: none. */
const char *handshake_choose(const char *const *ours, struct json theirs);
/* The server is not modern, or its answer is not valid: go on with initialize if the era may be
 * legacy. */
void handshake_not_modern(struct client *c, const char *why);

/* legacy.c */
extern const struct rpc_handler legacy_initialize_handler;
const char *legacy_version(struct json v); /* the same as a static string; NULL: not supported */
const char *legacy_choose(struct json versions);
const char *log_level_name(int level);
int level_of(struct json name);
void level_start(struct client_call *call);
void level_settle(struct client_call *call, int code);
void level_forget(struct client *c);

/* modern.c */
extern const struct rpc_handler modern_discover_handler;
const char *modern_choose(struct json versions); /* the best common version; NULL: none */
/* A request failed. True: because of its version, and the call can be sent again with another. */
bool modern_retry(struct client_call *call, struct json error);
/* The value of `resultType`. */
enum result_type { RESULT_COMPLETE, RESULT_INPUT, RESULT_UNKNOWN };
enum result_type modern_type(struct json result);

struct round_item {
	char *key;    /* as written, quoted */
	char *answer; /* NULL: none yet */
};
struct rounds { /* of a request whose result asks for input */
	unsigned count;
	char *state; /* requestState as written; NULL: none */
	struct round_item *items;
	size_t item_count, missing;
};
/* The server wants input: ask the host, then send the request again. */
void rounds_begin(struct client_call *call, struct json result);
void rounds_answer(struct client_call *call, size_t slot, const char *json, size_t len);
void rounds_free(struct rounds *r);

/* call.c */
extern const struct rpc_handler call_handler;
/* Send the call, for the first time or again. If the write fails the call ends, from the loop. */
void call_send(struct client_call *call);
void call_start(struct client_call *call); /* the handshake is over */
/* End the call now. The call must not be used after this. */
void call_finish(struct client_call *call, const struct client_result *r);
void call_fail(struct client_call *call, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* End the call from the loop: json is static, NULL: none; fmt NULL: no text. The call must not be
 * on the wire. */
void call_later(struct client_call *call, int code, const char *json, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Give the call up: tell the server, end the call now. */
void call_abandon(struct client_call *call, int code, const char *reason, const char *text);
/* Make a request of the client itself, whose answer does not matter. */
void call_own(struct client *c, enum killick_op op, const char *name, int level);
void call_run_later(struct client *c);
void call_set_later(struct client *c); /* make the loop run call_run_later */
/* Tell the server that a request was cancelled. */
void call_cancelled(struct client *c, uint64_t id, const char *reason);

/* pages.c */
extern const char *const pages_key[]; /* by op: the member that contains the list */
void pages_add(struct client_call *call, struct json result);
struct json pages_cursor(const struct pages *p); /* of the next page; JSON_NONE: the first page */
void pages_free(struct pages *p);

/* params.c: each function writes the members of the params of a request */
void params_call(struct emit *j, const struct client_call *call);
void params_initialize(struct emit *j, const struct client *c);
void params_discover(struct emit *j, const struct client *c);
void params_listen(struct emit *j, const struct client *c);
const char *params_method(const struct client_call *call);
char *params_meta(const struct client *c); /* for client.meta */

void params_rounds(struct emit *j, const struct rounds *r);

/* splice.c */
/* Write the request of call->forward, with the id of the call. 0, -EMSGSIZE or -ENOMEM. */
int splice_write(struct buf *b, const struct client_call *call);
/* May the result ask for input? */
bool splice_may_ask(const struct client_forward *fw);
/* Write a result of tasks/list with only the tasks of the party. 0, -EMSGSIZE or -ENOMEM. */
int splice_tasks(struct buf *b, const struct client_call *call, struct json result);

/* Write params with another progress token. 0, -EMSGSIZE or -ENOMEM. */
int splice_token(struct buf *b, struct json params, struct json token);

/* handles.c: ids that the server gave to one owner, and numbers of requests that became tasks */
enum handle_kind { HANDLE_TASK, HANDLE_ELICITATION, HANDLE_PROGRESS };
void handles_add(struct client *c, enum handle_kind kind, struct json id, struct party *owner);
/* ttl_ms: how long the server keeps the task; -1: no limit. */
void handles_add_task(struct client *c, struct json id, int64_t ttl_ms, struct party *owner);
/* NULL: not known */
struct party *handles_find(const struct client *c, enum handle_kind kind, struct json id);
/* The progress token of a request whose answer was a task, because such a task reports progress
 * under this token; and the token that the client of this owner wrote. JSON_NONE: not known. */
void handles_add_progress(struct client *c, uint64_t number, struct json token,
			  struct party *owner);
struct json handles_progress(const struct client *c, uint64_t number, struct party **out_owner);
void handles_forget(struct client *c, const struct party *owner);
void handles_done(struct client *c);

/* incoming.c */
extern const struct rpc_role incoming_role;
unsigned ask_kind(struct json method); /* ANSWER_ bit; 0: not a method of an ask */
const char *ask_method(unsigned kind);
/* Ask the host on behalf of a call; params: an object, or JSON_NONE. The call may be over when this
 * returns. */
void ask_of_call(struct client_call *call, size_t slot, unsigned kind, struct json params);
void ask_drop_of(struct client *c, const struct client_call *call); /* silently */
void ask_forget(struct client *c, const struct party *owner, const char *why);
void ask_done(struct client *c);

/* odd.c */
void odd_on_rpc(void *ctx, const struct rpc_odd *odd);
/* Give a warning: for the first three of a kind, then for each power of ten. */
void odd_warn(struct client *c, enum odd kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* subscriptions.c */
void subscriptions_subscribe(struct client_call *call);
void subscriptions_unsubscribe(struct client_call *call);
void subscriptions_settle(struct client_call *call, int code);
void subscriptions_forget(struct client *c, struct party *owner);
void subscriptions_updated(struct client *c, struct json params);
void subscriptions_done(struct client *c);
/* Is uri the watched resource `of`, or a part of it? A server may report a change of a part. */
bool subscriptions_is_part(const char *uri, const char *of);
/* Iterate over the uris, each once; start with *at NULL; NULL: the end. */
const char *subscriptions_each(const struct client *c, const struct ring **at);

/* listen.c */
void listen_changed(struct client *c);   /* the set changed: open a new stream soon */
bool listen_has(const struct client *c); /* is there anything to listen to? */
/* Is the stream that a notification names open? True also if the notification names none. */
bool listen_is_open(struct client *c, struct json params);
void listen_acknowledged(struct client *c, struct json params);
/* The server cancelled the request with this id; false: not a listen stream of this client. */
bool listen_cancelled(struct client *c, struct json id);
void listen_done(struct client *c);
