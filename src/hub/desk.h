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
	/* Something changed that `killick hub sessions`, `servers` or `top` shows. */
	void (*on_change)(void *ctx);
};

struct desk_spec {
	struct killick *k;
	struct config *config; /* moved out */
	const char *tag;       /* NULL: none */
	int in, out;       /* of the client, owned by the desk from now on; -1: without a face */
	unsigned answers;  /* without a face: enum killick_answers to declare */
	unsigned wait;     /* without a face: enum killick_wait, what on_open waits for */
	unsigned grace_ms; /* 0: default */
};

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

/* Write the members of the desk's entry in session.list (killick-hub(7)). */
void desk_emit(const struct desk *d, struct emit *j);
struct killick_session *desk_session(const struct desk *d); /* NULL before it opens */
unsigned desk_in_flight(const struct desk *d);
int64_t desk_idle_ms(const struct desk *d); /* since the last request */
