/* face.h - the MCP server on a connection to one client: handshake, requests, notifications, both
 * eras of the protocol.
 *
 * The face knows the protocol and nothing about servers. Its owner (hub/desk.h) says what the face
 * offers, and answers the requests. The counterpart is client.h.
 *
 * Life: face_new -> on_hello -> face_welcome -> on_request ... -> on_closed, exactly once and last
 * -> face_free. Events come from the loop, never from inside a face_ function.
 *
 *	legacy client   initialize; the answer waits until face_welcome. Requests that come before
 *	                wait, too, except ping.
 *	modern client   its first request with the _meta of the modern era; the request waits until
 *	                face_welcome. server/discover is answered by the face.
 *
 * What the face does itself: initialize, server/discover, ping, versions, errors of the protocol,
 * cancellation, log levels of the modern era, subscriptions/listen, the members that a modern
 * result must have (resultType, ttlMs, cacheScope, serverInfo), the codes of errors in each era.
 * The face also asks the client: in the legacy era by requests; in the modern era by results that
 * ask for input, after which the client sends its request again with the answers.
 *
 * Messages are written byte for byte, except:
 *  - the id and the progress token, which become those of the client.
 *  - to a modern client: the members that a modern result must have are added. The error -32002
 *    becomes -32602, with the uri in its data. The error -32042 becomes a result that asks for
 *    input, or the error of a missing capability. A notification on a listen stream gets the _meta
 *    of the stream.
 *  - an answer with a member that occurs twice, also in other upper and lower case (message.h):
 *    only the known members are written.
 *  - an answer of a server that is neither an object nor a valid error becomes an error; null
 *    becomes an empty result.
 * The client also changes requests (it adds and removes keys of _meta) and the result of
 * tasks/list (it removes the tasks of others): see struct client_forward.
 *
 * The era is that of the message: a client may use both. face_era and face_version are those of
 * the first request, and those of initialize from then on.
 * A request whose id is open is refused, as are requests beyond FACE_OPEN_MAX and methods that
 * face_offer does not have (modern). A line that is no message is answered with an error.
 *
 * A modern request that asks for input is answered with the asks, and is parked: on_request is not
 * called for the retry, which continues the parked request under its new id. The owner may answer a
 * parked request: the client gets the answer with its retry.
 *
 * End of input: with two pipes, the face closes when all requests are answered and read, or after
 * FACE_LINGER_MS in which no answer came and the client read nothing; with a socket the face closes
 * at once.
 *
 * A client that reads slowly: while CHANNEL_FULL bytes or more wait for the client, the face reads no
 * messages of the client, starts no request (requests that were read wait), and calls on_full, so
 * that the owner reads no answers of servers. While more than FACE_UNSENT_MAX bytes wait,
 * notifications are dropped, and results become errors. The face never closes a client because of its
 * unread bytes; the owner may (face_cut).
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/ring.h"
#include "killick/killick.h"
#include "mcp/client.h"
#include "rpc/message.h"

struct face;

#define FACE_UNSENT_MAX  (64u << 20) /* bytes */
#define FACE_OPEN_MAX    4096 /* requests of one client that are open at once */
#define FACE_LISTEN_MS   5000
#define FACE_WATCHES_MAX 1024 /* resources of one client; they fit into the queue of a server */
#define FACE_PARKED_MS   (10 * 60 * 1000) /* a request that waits for input of a modern client */
#define FACE_LINGER_MS   2000 /* after the end of input: without an answer, and without a byte read */
#define FACE_SMALL       96

enum face_method { /* methods that the owner answers */
		   FACE_TOOLS,
		   FACE_RESOURCES,
		   FACE_TEMPLATES,
		   FACE_PROMPTS,
		   FACE_CALL,        /* tools/call; name: the tool */
		   FACE_READ,        /* resources/read; name: the uri */
		   FACE_PROMPT,      /* prompts/get; name: the prompt */
		   FACE_COMPLETE,    /* completion/complete */
		   FACE_LEVEL,       /* logging/setLevel, legacy; name: the level */
		   FACE_SUBSCRIBE,   /* resources/subscribe, legacy; name: the uri */
		   FACE_UNSUBSCRIBE, /* resources/unsubscribe, legacy; name: the uri */
		   FACE_TASK,  /* tasks/get, tasks/result, tasks/cancel, ...; name: the taskId */
		   FACE_TASKS, /* tasks/list */
		   FACE_OTHER, /* any other method */
};

/* A request of the client, from on_request until the owner has answered it with one of the
 * face_answer functions, which free it. It is also freed after on_cancelled, and by on_closed. */
struct face_request {
	struct face *face;
	struct ring in_face;
	enum face_method kind;
	enum client_era era; /* of this request: one client may use both */
	/* The message as it came; valid for the time of on_request only, unless face_keep. */
	struct message m;
	struct json name;  /* quoted, in m; JSON_NONE: the method has none */
	struct json token; /* the progress token in m; JSON_NONE: no progress wanted */
	int level;         /* modern: the log level that the request wants; -1: none */
	void *owner;       /* for the owner of the face */
	/* private to face*.c */
	const struct face_row *row;
	struct hash_node by_id;
	bool given;       /* on_request was called */
	bool waits;       /* the bytes of m are counted in face.waiting_bytes */
	bool reported;    /* progress is the last value that was sent */
	unsigned answers; /* modern: what the client declared with this request */
	double progress;
	uint64_t digest;                 /* modern: of the params that a retry repeats */
	char *line;                      /* the copy of face_keep; NULL: none */
	char *texts;                     /* in place of `small`, for long texts; NULL: none */
	struct json id;                  /* the texts as they came: the id, */
	struct json progress_token, uri; /* the token, and modern: the uri of resources/read */
	struct face_park *park;          /* modern: asks of this request; NULL: none */
	struct face_stream *listen;      /* subscriptions/listen; NULL: another method */
	char small[FACE_SMALL];
};

struct face_hello {               /* borrowed for the time of on_hello */
	enum client_era era;      /* ERA_LEGACY or ERA_MODERN */
	const char *version;      /* of the protocol, as negotiated */
	struct json info;         /* clientInfo; JSON_NONE: none */
	unsigned answers;         /* enum killick_answers: what the client declared */
	struct json capabilities; /* as the client wrote them */
};

/* What the face offers to its client. Borrowed for the time of face_welcome, which may be called
 * again when it changes. */
struct face_offer {
	const char *name, *version; /* serverInfo */
	const char *info;         /* serverInfo as JSON, in place of name and version; NULL: none */
	const char *capabilities; /* JSON object, legacy form */
	const char *instructions; /* NULL: none */
};

struct face_events {
	/* The first request came. The owner prepares its servers and calls face_welcome, now or
	 * later, or face_refuse. Once. */
	void (*on_hello)(void *ctx, const struct face_hello *h);
	void (*on_request)(void *ctx, struct face_request *rq);
	/* The client has cancelled the request, is gone, or did not send the input that it was
	 * asked for: the request must not be answered. Asks of the request end first
	 * (face_answered_fn). rq is freed when this returns. */
	void (*on_cancelled)(void *ctx, struct face_request *rq);
	/* A notification that the face does not handle: notifications/roots/list_changed, ... */
	void (*on_notification)(void *ctx, const struct message *m);
	/* A subscriptions/listen stream of a modern client wants, or no longer wants, changes of
	 * this resource. The face counts: `on` comes for the first stream, `off` after the last.
	 * Returns whether face_watched will follow: the stream is acknowledged then, or after
	 * FACE_LISTEN_MS. */
	bool (*on_watch)(void *ctx, const char *uri, bool on);
	/* The client has CHANNEL_FULL or more unread bytes, or half of them again. May be NULL. */
	void (*on_full)(void *ctx, bool full);
	/* The client has gone, or was closed; why is a sentence. All requests are cancelled before
	 * (on_cancelled). */
	void (*on_closed)(void *ctx, const char *why);
};

/* Lines over in and out, which may be the same socket; the face owns them from now on. */
int face_new(struct loop *loop, int in, int out, size_t message_limit, const struct face_events *ev,
	     void *ctx, struct face **out_face, struct err *e);
enum client_era face_era(const struct face *f);
const char *face_version(const struct face *f); /* of the protocol; "" before on_hello */

void face_welcome(struct face *f, const struct face_offer *offer);
/* Answer the first request with this error; the face closes after the answer was sent. */
void face_refuse(struct face *f, int code, const char *text);

/* Copy the message of the request, so that m, name and token stay valid until the answer. */
void face_keep(struct face_request *rq);

/* Answer with a line that a server wrote: its bytes, with the id replaced, and for a modern client
 * the members added that a server of the legacy era did not write. `from` is the era of the server.
 * `line` is a result or an error. */
void face_answer_line(struct face_request *rq, const struct message *line, enum client_era from);
/* Answer with a result or an error that is JSON text (an object). */
void face_answer_result(struct face_request *rq, struct json result);
void face_answer_error(struct face_request *rq, struct json error);
void face_answer_fail(struct face_request *rq, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Progress of the request: params of the server's notification, whose progressToken is replaced. */
void face_progress(struct face_request *rq, struct json params);
/* A notification to the client: KILLICK_EVENT_LOG (legacy: filtered by the owner; modern: sent only
 * while a request that wants logs of this level is open, on behalf of rq if rq is not NULL),
 * _TOOLS, _RESOURCES, _PROMPTS (modern: on each listen stream that wants it), _UPDATED (modern: on
 * the streams that watch the uri). */
void face_note(struct face *f, struct face_request *rq, enum killick_event_kind kind,
	       struct json params);
/* The method of these notifications in MCP. */
const char *face_note_method(enum killick_event_kind kind);
/* Any other notification, as written. */
void face_notify(struct face *f, const char *method, struct json params);

/* Ask the client: sampling/createMessage, elicitation/create, roots/list. params are an object, or
 * JSON_NONE. rq is the request that the ask belongs to: a modern client needs one, a legacy client
 * does not. on_answer is called exactly once unless face_ask_drop is called first: result JSON, or
 * JSON_NONE and an error object, or both JSON_NONE: the client did not answer (gone, cancelled,
 * timed out). Returns a number for face_ask_drop, 0: the client cannot be asked (the feature was
 * not declared; a modern client and no rq), and on_answer is not called. */
typedef void (*face_answered_fn)(void *ctx, uint64_t ask, struct json result, struct json error);
uint64_t face_ask(struct face *f, struct face_request *rq, const char *method, struct json params,
		  face_answered_fn on_answer, void *ctx);
void face_ask_drop(struct face *f, uint64_t ask); /* the server has withdrawn its request */
/* The server has answered the request to watch this resource, or the request has failed. */
void face_watched(struct face *f, const char *uri);

/* For how long the client has read no byte although bytes wait; 0: none wait. */
int64_t face_stalled_ms(const struct face *f);
/* Close: unsent messages have 1 s. on_closed follows. */
void face_close(struct face *f);
/* Close now; unsent messages are lost. why: for on_closed. */
void face_cut(struct face *f, const char *why);
void face_free(struct face *f); /* after on_closed */
