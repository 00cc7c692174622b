/* pool.h - the running servers of a runtime, and the leases that sessions have on them.
 *
 * A session never has a server, only leases. A server that is not shared has one lease; one that is
 * ("share": "identical") has one for each session whose config says the same. The last lease to go
 * ends the server; the others do not wait for that and have no ending to report.
 *
 *	lease_new -> held [settled: the server is ready or failed]
 *	lease_leave -> leaving: calls may finish
 *	            -> left: what is open ends with KILLICK_ERR_CLOSED
 *	            -> over: the server is gone, or is others' business
 *
 * The pool also lets a bounded number of servers start at once.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "killick/killick.h"
#include "base/loop.h"
#include "config/config.h"
#include "session/report.h"
#include "base/ring.h"

struct server;
struct job;

struct pool {
	struct ring servers; /* all */
	struct ring queue;   /* those that wait for a place to start */
	unsigned starting, starting_max;
	struct loop_timer turn;
};

enum lease_state { LEASE_HELD, LEASE_LEAVING, LEASE_LEFT, LEASE_OVER };
extern const char *const lease_state_names[];

struct lease {
	struct killick_session *session;
	struct ring in_session, on_server;
	enum lease_state state;
	struct config config;    /* of this one server */
	struct server *server;   /* NULL: it is disabled, cannot be placed, or is over */
	char *error;             /* why there is none; NULL: no error */
	bool settled;            /* it was ready or failed since we have it */
	bool failed;             /* the latter */
	bool listed;             /* it is in the session's table */
	bool replaced;           /* by a refresh: its changes are no news */
	enum ending_why why;     /* why it leaves: ENDING_CLOSE or ENDING_REFRESH */
	struct job *job;         /* to which its ending is told; NULL: nobody */
	struct loop_timer timer; /* while leaving */
	unsigned in_flight;      /* calls that the server has, or will have when it runs */
	long tools;              /* -1: not listed yet */
	struct ring asks;
};

void pool_init(struct pool *p, unsigned starting_max);
/* Wait for a place to start. */
void pool_enqueue(struct killick *k, struct server *sv);
void pool_dequeue(struct killick *k, struct server *sv);
/* A server has begun, or is no longer starting. */
void pool_count(struct killick *k, int change);
void pool_done(struct killick *k); /* everything must have ended */

/* A lease on a server for cs, which is moved out of its config. The server is started if need be.
 */
struct lease *lease_new(struct killick_session *s, struct config_server *cs);
const struct config_server *lease_config(const struct lease *l);
const char *lease_name(const struct lease *l);
enum killick_state lease_server_state(const struct lease *l);
/* The server that cs wants is the one we have. */
bool lease_fits(const struct lease *l, const struct config_server *cs);
/* Take over the rest of cs. A server that had failed is tried again. */
void lease_adjust(struct lease *l, struct config_server *cs);
/* Give it back; what is in flight has drain_ms. */
void lease_leave(struct lease *l, enum ending_why why, unsigned drain_ms, struct job *job);
/* One more or one less in flight. */
void lease_count(struct lease *l, int change);
void lease_free(struct lease *l); /* which is over */

/* From the server: it cannot be reached, so what it has of this lease ends with KILLICK_ERR_LOST.
 */
void lease_lose(struct lease *l);
/* It is ready, or failed; and it is gone for good. */
void lease_settle(struct lease *l, bool failed);
void lease_over(struct lease *l, const struct ending *e);
