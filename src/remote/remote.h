/* remote.h - a link to a server on an executor: what environment.c tells it.
 *
 *	waiting -> starting -> running -> [sweeping] -> done
 *
 * - waiting: for the connection. Nothing was sent; whoever stops it now has prevented it.
 * - starting: process/start is not answered. If the connection is lost now nobody knows whether it
 *   runs: it is ended, never started again.
 * - running: from its answer to process/closed, or until the executor does not know it any more.
 * - sweeping: only where the executor is not ours: its processes are looked for (sweep.h).
 * - done: nothing is left to do there; on_ended was told, and it may be freed.
 *
 * on_ended may come before that: while the connection is lost a link that was stopped waits only a
 * moment. It stays with the environment then, which ends the process when it comes back, whether
 * the link was freed or not.
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
	bool internal; /* nobody's: it is no user, and nothing is swept behind it */
};

/* Started at once if the environment is attached, else when it is. */
int remote_open(struct environment *env, const struct remote_spec *spec, struct link **out,
		struct err *e);

/* In the order of environment.remotes. */
struct remote *remote_of(struct ring *in_env);
bool remote_is_waiting(const struct remote *r);
/* There is a new session: start. r may be no more after it. */
void remote_attach(struct remote *r);
/* The connection is lost, and it is back: with the same session. */
void remote_lose(struct remote *r, const char *why);
void remote_resume(struct remote *r);
/* There is no way back (ran: to what was started). r may be no more after it. */
void remote_abandon(struct remote *r, const char *text);
/* There is room for what waits. */
void remote_pump(struct remote *r);

enum remote_push { PUSH_OUTPUT, PUSH_EXITED, PUSH_CLOSED };
/* A notification. NULL, or what is wrong with it (static). */
const char *remote_push(struct environment *env, enum remote_push kind, struct json params);
