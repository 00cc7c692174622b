/* remote.h - a link to a server on an executor, and the events that environment.c reports to it.
 *
 *	waiting -> starting -> running -> [sweeping] -> done
 *
 * - waiting: for the connection. Nothing was sent; a link that is stopped now never starts its
 *   server.
 * - starting: process/start is not answered. If the connection is lost now, it is not known
 *   whether the process runs: it is ended, never started again.
 * - running: from the answer to process/start until process/closed, or until the executor does not
 *   know the process any more.
 * - sweeping: only if the executor is not killick's: search for processes that are left (sweep.h).
 * - done: nothing is left to do on the executor; on_ended was called, and the link may be freed.
 *
 * on_ended may come before `done`: while the connection is lost, a link that was stopped waits only
 * for a moment. Then the remote stays with the environment, which ends the process when the
 * connection is back, whether the link was freed or not.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "base/ring.h"
#include "remote/environment_internal.h"

struct remote;

struct remote_spec {
	const struct recipe *recipe;
	const struct link_events *ev;
	void *ctx;
	bool internal; /* of the environment itself: counts as no user, and is not swept */
};

/* The server is started at once if the environment is attached, otherwise when it is. */
int remote_open(struct environment *env, const struct remote_spec *spec, struct link **out,
		struct err *e);

/* The remote of a member of environment.remotes. */
struct remote *remote_of(struct ring *in_env);
bool remote_is_waiting(const struct remote *r);
/* There is a new session: start the server. r may be freed by this call. */
void remote_attach(struct remote *r);
/* The connection is lost; the connection is back, with the same session. */
void remote_lose(struct remote *r, const char *why);
void remote_resume(struct remote *r);
/* The session cannot be resumed: end the link. r may be freed by this call. */
void remote_abandon(struct remote *r, const char *text);
/* The connection has room for input that waits. */
void remote_pump(struct remote *r);

enum remote_push { PUSH_OUTPUT, PUSH_EXITED, PUSH_CLOSED };
/* Handle a notification. NULL, or a static text that says what is wrong with it. */
const char *remote_push(struct environment *env, enum remote_push kind, struct json params);
