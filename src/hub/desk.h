/* desk.h - one session of the hub: a session of the library (session/session.h) and the MCP client
 * that uses it through a face, or a program that uses it through the control API.
 *
 * The desk merges the servers of its session into one MCP server: names of tools and prompts are
 * plain when there is one server, and qualified (session/names.h) when there are several; lists are
 * answered whole, without cursors; each request is routed to its server as a forward; notifications
 * and requests of the servers reach the client.
 *
 *	desk_open -> [opening: servers start, or their catalogue is known] -> on_open
 *	          -> desk_close, or the client is gone -> on_closed, once and last -> desk_free
 *
 * With a face the session is opened after the client's first request, because the rule for sharing
 * needs the features that the client declares.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "base/emit.h"
#include "base/err.h"
#include "base/json.h"
#include "config/config.h"
#include "killick/killick.h"

struct desk;

struct desk_events {
	/* The session is open (e->code is 0), or could not be opened, or was closed before it was
	 * open; then on_closed follows. Exactly once. */
	void (*on_open)(void *ctx, const struct killick_error *e);
	/* Closed: every server that only this session used is proved gone, or named in the report.
	 * `kept`: servers that other sessions keep, as a JSON array of {"server", "sessions"}. The
	 * report belongs to the receiver; NULL: the session was never opened. */
	void (*on_closed)(void *ctx, struct killick_report *report, const char *kept_json,
			  const char *why);
	/* Without a face: a server asks, and desk_answer answers. ask: unique in this desk. False:
	 * nobody can answer now. NULL: never. */
	bool (*on_ask)(void *ctx, uint64_t ask, const char *server, const char *method,
		       struct json params);
	/* The question is over without an answer. */
	void (*on_ask_over)(void *ctx, uint64_t ask);
	/* Without a face: a notification of MCP. server NULL: a list of the session has changed.
	 * NULL: not wanted. */
	void (*on_note)(void *ctx, const char *server, const char *method, struct json params);
	/* Progress of a request of desk_request that has a progress token, which this is. request:
	 * its ctx. NULL: never. */
	void (*on_progress)(void *request, const char *server, struct json token,
			    struct json params);
	/* Something changed that `killick hub sessions`, `servers` or `top` shows. */
	void (*on_change)(void *ctx);
};

struct desk_spec {
	struct killick *k;
	struct config *config; /* moved out */
	const char *tag;       /* NULL: none */
	int in, out;       /* of the client, owned by the desk from now on; -1: without a face */
	unsigned answers;  /* without a face: enum killick_answers to declare */
	unsigned wait;     /* without a face: enum killick_wait_for, what on_open waits for */
	unsigned grace_ms; /* 0: default */
	int owners[2];     /* as in session_spec; borrowed until on_closed */
	unsigned stall_ms; /* 0: DESK_STALL_MS */
	long file_owner;   /* as in session_spec */
};

/* Back pressure. While a client or program has CHANNEL_FULL unread bytes, the servers of its
 * session are not read (session/server.h), so that the memory of the hub is bounded and no answer
 * is lost. A reader that reads is never cut, however slow it is. A reader that has read no byte for
 * DESK_STALL_MS is cut: its session is closed.
 *
 * A reader that has read no byte for DESK_STALLED_MS, or that has held up an answer of a shared
 * server to another session for SERVER_HOLD_MS, does not hold up other sessions any more until it
 * has read half of its bytes: while another session waits for an answer of the server, the server
 * is read on, and answers for a reader with more than FACE_UNSENT_MAX unread bytes become errors.
 */
#define DESK_STALLED_MS 1000
#define DESK_STALL_MS   30000
#define DESK_LOOK_MS    200 /* how often a full reader is looked at */

int desk_open(const struct desk_spec *spec, const struct desk_events *ev, void *ctx,
	      struct desk **out, struct err *e);
/* Replace the servers by those of another config, which is moved out; unchanged servers stay. The
 * client gets notifications of changed lists. done gets the report, or the error. */
typedef void (*desk_refreshed_fn)(void *ctx, struct killick_report *report,
				  const struct killick_error *e);
void desk_refresh(struct desk *d, struct config *config, desk_refreshed_fn done, void *ctx);
/* Begin to close; on_closed follows. Idempotent. */
void desk_close(struct desk *d, const char *why);
void desk_free(struct desk *d); /* after on_closed */

/* For the control API. method: "tools/call", "tools/list", or any other request of MCP; params: a
 * JSON object. server NULL: names are qualified, or there is one server. done is called exactly
 * once, from the loop: the result, or an error object {"code","message"}; the other one is
 * JSON_NONE. Requests that come before the session is open wait. */
typedef void (*desk_answered_fn)(void *ctx, struct json result, struct json error);
void desk_request(struct desk *d, const char *server, const char *method, struct json params,
		  int64_t timeout_ms, desk_answered_fn done, void *ctx);
/* done is not called any more for requests with this ctx; the server gets a cancellation. */
void desk_forget(struct desk *d, void *ctx);

/* Answer a question of on_ask with a result, or with an error object; the other one is JSON_NONE.
 * False: there is no such question (any more). */
bool desk_answer(struct desk *d, uint64_t ask, struct json result, struct json error);
/* Cancel the open questions: no process can answer them any more. */
void desk_drop_asks(struct desk *d);
/* A reader of the session's answers that is not the face of this desk is full, or no longer full;
 * the calls are counted. */
void desk_hold(struct desk *d, bool full);
/* A full reader has read nothing for stalled_ms. Returns whether the reader is to be cut. */
bool desk_stalls(struct desk *d, int64_t stalled_ms);
/* Write why a reader is cut: for how long it read nothing. */
void desk_stall_text(int64_t stalled_ms, char *out, size_t size);
/* Was the client cut? Valid in on_closed. */
bool desk_was_cut(const struct desk *d);

/* Write the members of the desk's entry in session.list (killick-hub(7)). */
void desk_emit(const struct desk *d, struct emit *j);
struct killick_session *desk_session(const struct desk *d); /* NULL before it opens */
unsigned desk_in_flight(const struct desk *d);
int64_t desk_idle_ms(const struct desk *d); /* since the last request */
