/* client.h - the MCP client on a link: handshake, requests, notifications, both eras.
 *
 * Several owners may use one client (a shared server): each request names its owner, and a message
 * of the server is attributed to the owner that caused it, if this owner can be known.
 *
 * Life: client_new -> client_feed (bytes of the server) ... -> on_ready, once -> client_call ... ->
 * client_fail when the link is gone or is to be ended: every open call ends with this error ->
 * client_free. Each call's on_done comes exactly once, from client_feed, a timer, client_cancel,
 * client_forget or client_fail; never from inside client_call. A handler may make new calls; it
 * must not free the client. on_note and on_warning must not call client_fail, client_forget or
 * client_cancel.
 *
 * Which owner gets a notification or a request of the server:
 *  - progress: the owner of the call, while the call is on the wire.
 *  - log messages and requests: the only owner that has requests in the server; a request that was
 *    given up counts for one more minute. Requests that may belong to an owner that has left are
 *    dismissed. Once an owner has chosen a log level, each owner gets log messages from its level
 *    on, an owner without a level from "info" on, also when the server works for no owner. The
 *    client knows an owner from its first request.
 *  - changes of a subscribed resource, or of a part of it: the owners that subscribed.
 *  - changes of lists: all owners.
 *  - a message that names a task (_meta related-task, taskId), a progress token or an elicitation
 *    in use: the owner of the task, of the call or of the elicitation.
 *  - other notifications: the only owner that has requests in the server.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"
#include "killick/killick.h"
#include "link/link.h"
#include "rpc/rpc.h"

struct client;

enum client_era { ERA_LEGACY, ERA_MODERN, ERA_AUTO };

/* How a call ended. Borrowed for the time of on_done. */
struct client_result {
	/* Of a call with `forward` that the server answered: the answer as written, whose id is the
	 * number of the client. Else NULL. */
	const struct message *line;
	/* KILLICK_OK; KILLICK_ERR_ANSWER: the server answered with an error, which is in json;
	 * _TIMEOUT; _CANCELLED: by the host, or the input that the server asked for was declined;
	 * _PROTOCOL: the answer is not valid, or the server does not offer the method; _BUSY: the
	 * server does not read, or too much is in flight; with `over` the code of client_fail */
	int code;
	bool over;        /* client_fail was called: code and text are its arguments */
	struct json json; /* the result or error as written; for lists one object that has all
			     pages' items */
	const char *text; /* a sentence, when the code is not KILLICK_OK */
	int64_t ttl_ms;   /* of a list: how long the list is valid (ttlMs); 0: not known */
};

enum call_state {
	CALL_IDLE, /* zero: not begun */
	CALL_STARTING,
	CALL_WAITING,   /* for the handshake */
	CALL_SENT,      /* on the wire */
	CALL_ASKING,    /* asks the host for input that the server wants */
	CALL_LISTENING, /* waits until a listen stream is acknowledged */
	CALL_LATER,     /* the result is known; on_done comes from the loop */
	CALL_OVER,      /* on_done was called */
};

struct client_call;

#define CLIENT_FORWARD_ROOM 256

/* A request of another client, which is passed on byte for byte, except:
 *  - the id and, if there is one, params._meta.progressToken become the number of the request.
 *  - params.name becomes `name`, if given.
 *  - to a modern server, for a legacy client: the members that the modern era requires are added to
 *    _meta.
 *  - to a legacy server, for a modern client: these members are removed.
 * A result that asks for input is passed on to a modern client; for a legacy client the questions
 * become asks, and the request is sent again with the answers.
 * Requests about tasks (tasks/...) that do not belong to the owner of the call are answered with an
 * error here, and the result of tasks/list has only tasks of the owner.
 *
 * Life: client_forward_read -> client_call with `forward` -> on_done -> client_forward_done. The
 * struct must not be moved in between. */
struct client_forward {
	/* filled in by the caller after client_forward_read */
	enum client_era era; /* of the client that wrote the request: ERA_LEGACY or ERA_MODERN */
	struct json name;    /* quoted; JSON_NONE: as written. Borrowed as m */
	/* Progress, as the server wrote it, with the number of the request as the token. NULL: not
	 * wanted. */
	void (*on_report)(struct client_call *call, struct json params);

	/* private */
	struct message m; /* borrowed for the time of client_call, unless kept */
	struct json old_name, meta, token, task;
	struct json related;            /* the id of the task that _meta names */
	bool is_tasked;                 /* the request asks for a task */
	bool lists_tasks;               /* tasks/list */
	bool needs_task;                /* tasks/get, ...: the task must belong to the owner */
	char *kept;                     /* the copy of m and name; NULL: none */
	char room[CLIENT_FORWARD_ROOM]; /* for a short copy */
};

/* m: a request that is one line. 0, or -EINVAL: a member occurs twice, so that the server could
 * read another id, name or token than the client wrote last. */
int client_forward_read(struct client_forward *fw, const struct message *m);
/* Copy the message and the name, so that they stay valid until client_forward_done. */
void client_forward_keep(struct client_forward *fw);
void client_forward_done(struct client_forward *fw);

/* A request, embedded in an object of the caller, which fills in the first part and leaves the rest
 * zero. */
struct client_call {
	enum killick_op op;
	const char
		*name; /* tool, uri, prompt, level, method; borrowed for the time of client_call */
	struct json args; /* an object, or JSON_NONE; borrowed for the same time */
	/* further members of _meta: an object, or JSON_NONE; borrowed for the same time */
	struct json meta;
	/* Pass this request on; op is KILLICK_RAW. Lives as long as the call. NULL: none. */
	struct client_forward *forward;
	void *owner;
	int64_t timeout_ms; /* -1: none */
	bool progress_extends;
	bool waits; /* client_lose leaves the call open */
	void (*on_progress)(struct client_call *call,
			    const struct killick_progress *p); /* or NULL */
	/* Exactly once. The caller may then free or reuse the memory of the call. */
	void (*on_done)(struct client_call *call, const struct client_result *r);

	/* private */
	struct rpc_request rq;
	struct ring of_owner;
	struct client *client;
	struct party *party; /* NULL: a request of the client itself (call_own) */
	enum call_state state;
	uint64_t last_id; /* the last id on the wire; for traces */
	bool retried;     /* with another protocol version */
	bool over;        /* CALL_LATER: the client has failed */
	char *kept;       /* copies of name and args, if they are needed later */
	struct pages *pages;
	struct rounds *rounds;
	int level, old_level; /* KILLICK_LOG_LEVEL: on the wire; of the owner before */
	uint64_t generation;  /* CALL_LISTENING: of the set that contains the resource */
	int code;             /* CALL_LATER */
	const char *json;     /* static */
	char *text;
};

/* Has the call begun, and is not over? */
static inline bool client_call_is_open(const struct client_call *call)
{
	return call->state != CALL_IDLE && call->state != CALL_OVER;
}

struct client_events { /* owner NULL: the owner is not known, or all owners */
	/* The handshake is over; e is NULL when it succeeded. Once. */
	void (*on_ready)(void *ctx, const struct err *e);
	/* KILLICK_EVENT_LOG, _TOOLS, _RESOURCES, _PROMPTS, _UPDATED */
	void (*on_note)(void *ctx, enum killick_event_kind kind, void *owner, struct json params);
	/* Any other notification, when the client is ready. NULL: not wanted. */
	void (*on_other)(void *ctx, void *owner, const char *method, struct json params);
	/* The server asks sampling/createMessage, roots/list or elicitation/create. True: the
	 * answer will come through client_answer, client_decline or client_dismiss with this id.
	 * False: the client dismisses the request at once. */
	bool (*on_ask)(void *ctx, void *owner, uint64_t ask, const char *method,
		       struct json params);
	/* An ask for which on_ask returned true is over without an answer: the server has withdrawn
	 * it, its call has ended, its owner has left, or client_fail was called. Must not
	 * call functions of the client. NULL: not wanted. */
	void (*on_ask_over)(void *ctx, void *owner, uint64_t ask);
	void (*on_warning)(void *ctx, const char *text); /* not JSON, too long, an unknown id, ...;
							    bounded by the client */
};

enum client_logs {                     /* the receiver of a log message without a known owner */
		   CLIENT_LOGS_LEVELS, /* as described above */
		   CLIENT_LOGS_OWN, /* the only owner of the client, if no owner has left lately */
		   CLIENT_LOGS_ALL, /* every owner gets every log message, from its level on */
};

struct client_spec {                /* borrowed; must live as long as the client */
	const char *name, *version; /* clientInfo */
	enum client_era era;
	unsigned answers; /* enum killick_answers: capabilities to declare */
	size_t message_limit;
	int64_t probe_ms; /* how long ERA_AUTO waits for an answer to its probe */
	unsigned max_in_flight;
	enum client_logs logs;
};

struct client_facts {        /* after on_ready; borrowed from the client */
	enum client_era era; /* ERA_LEGACY or ERA_MODERN */
	const char *protocol;
	const char *info, *capabilities; /* JSON text; "{}": none */
	const char *instructions;        /* text; "": none */
	bool tells_tools;                /* the server declared tools.listChanged */
};

/* The link must outlive the client's last call. Begins the handshake. */
struct client *client_new(struct loop *loop, struct link *link, const struct client_spec *spec,
			  const struct client_events *ev, void *ctx);
void client_feed(struct client *c, const char *bytes, size_t len);
/* Is the server being probed for its era? A server that ends now may have ended because of the
 * probe. */
bool client_is_probing(const struct client *c);
void client_facts(const struct client *c, struct client_facts *out);
unsigned client_in_flight(const struct client *c, const void *owner); /* owner NULL: all */
/* Has an owner a task in the server, which it may ask for later? */
bool client_has_tasks(const struct client *c);
/* Does a request of the server wait for an answer? */
bool client_has_asks(const struct client *c);

/* Begin a request. Before on_ready the request waits for the handshake. */
void client_call(struct client *c, struct client_call *call);
/* Tell the server; on_done with KILLICK_ERR_CANCELLED comes at once, a late answer is dropped. */
void client_cancel(struct client_call *call);
/* The connection to the server is lost, and may come back: cancel the calls of the owner that do
 * not wait for that. */
void client_lose(struct client *c, void *owner);
/* An owner leaves: its calls are cancelled, its subscriptions ended, its asks dismissed. */
void client_forget(struct client *c, void *owner, const char *why);
void client_answer(struct client *c, uint64_t ask, const char *json, size_t len);
/* A person or the host has decided against it: an elicitation gets "decline", other requests an
 * error. */
void client_decline(struct client *c, uint64_t ask, const char *reason);
/* Nobody has decided: an elicitation gets "cancel", other requests an error. */
void client_dismiss(struct client *c, uint64_t ask, const char *reason);
/* Answer with an error object, as written; a modern server takes no errors: the ask is dismissed.
 */
void client_refuse(struct client *c, uint64_t ask, struct json error);
/* Send a notification. 0; -EAGAIN before on_ready and after client_fail; else why the notification
 * could not be written: -EMSGSIZE, -ENOBUFS (the server does not read), -EPIPE, -ESTALE. */
int client_notify(struct client *c, const char *method, struct json params);
/* Tell a ready legacy server that the roots changed, if KILLICK_ROOTS_CHANGE was declared: 1; 0 if
 * not; or an error as above. */
int client_roots_changed(struct client *c);
/* Every open call ends with this code and text; nothing is sent any more. */
void client_fail(struct client *c, int code, const char *text);
void client_free(struct client *c); /* after client_fail */
