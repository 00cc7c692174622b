/* pool.h - the running servers of a runtime, and the leases that sessions have on them.
 *
 * A session owns no server, only leases. A server that is not shared has one lease; a shared server
 * ("share": "identical") has one lease for each session whose config defines the same server. The
 * last lease that leaves ends the server; the other leases do not wait for the end of the server
 * and have no ending to report.
 *
 *	lease_new -> held [settled: the server is ready or failed]
 *	lease_leave -> leaving: calls may finish
 *	            -> left: open calls end with KILLICK_ERR_CLOSED
 *	            -> over: the server is gone, or other leases keep it
 *
 * The pool also limits how many servers start at the same time.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "killick/killick.h"
#include "base/loop.h"
#include "config/config.h"
#include "session/gate.h"
#include "session/report.h"
#include "base/ring.h"
#include "session/tally.h"

struct server;
struct job;

struct pool {
	struct ring servers; /* all servers of the runtime */
	struct ring queue;   /* servers that wait for their turn to start */
	unsigned starting, starting_max;
	struct loop_timer turn;
	bool blocked; /* a server waits because of a limit (limits.h) */
	/* Limits of all sessions together; 0: none. */
	unsigned max_servers;
	unsigned long long max_memory;
	int64_t measured_us; /* when the memory of the servers was read; 0: never */
};

#define FAILURES_MAX 5 /* in a row */

enum lease_state { LEASE_HELD, LEASE_LEAVING, LEASE_LEFT, LEASE_OVER };
extern const char *const lease_state_names[];

struct lease {
	struct killick_session *session;
	struct ring in_session, on_server;
	enum lease_state state;
	struct config config;    /* of this one server */
	struct server *server;   /* NULL: disabled, cannot be placed, or the lease is over */
	char *error;             /* why there is no server; NULL: no error */
	bool settled;            /* the server was ready or failed since lease_new */
	bool failed;             /* the server failed */
	bool listed;             /* the lease is in the session's table */
	bool replaced;           /* replaced by a refresh: changes of the server make no events */
	enum ending_why why;     /* why the lease leaves: ENDING_CLOSE or ENDING_REFRESH */
	struct job *job;         /* gets the ending; NULL: none */
	struct loop_timer timer; /* while leaving */
	unsigned in_flight;      /* calls that the server has, or gets when it runs */
	long tools;              /* -1: not listed yet */
	struct ring asks;
	char *level;    /* the log level of the session; NULL: none. For replay.h */
	char **watched; /* resources that the session subscribed to; NULL: none */
	int owners[2];  /* of the session, as the keepers of the server watch them; 0: none */
	struct gate_lease gate;
	size_t kept;  /* bytes of requests that wait: see forward.c */
	bool full;    /* the reader of the answers does not keep up: see server_look_full */
	bool stalled; /* and has read nothing for a moment */
	bool slow;    /* and does not hold up other sessions any more */
	struct tally_lease tally;
	/* The server ended so often in a row during requests of this session; with FAILURES_MAX the
	 * session is refused for a pause, see lease_refuses. */
	unsigned crashes;
	int64_t crashed_us;
	bool answered; /* the server has answered the session since its last end */
	char crash_tool[TALLY_NAME];
	void *sink_data; /* of the session's sink, about this server; NULL at first */
};

void pool_init(struct pool *p, unsigned starting_max);
/* Put sv into the queue; server_place is called when the server may start. */
void pool_enqueue(struct killick *k, struct server *sv);
void pool_dequeue(struct killick *k, struct server *sv);
/* Something has changed that lets a waiting server start. */
void pool_look(struct killick *k);
/* Count a server that begins to start (1), or that is no longer starting (-1). */
void pool_count(struct killick *k, int change);
void pool_done(struct killick *k); /* every server must have ended */

/* A lease on a server for cs, which is moved out of its config. Starts the server if necessary. */
struct lease *lease_new(struct killick_session *s, struct config_server *cs);
const struct config_server *lease_config(const struct lease *l);
const char *lease_name(const struct lease *l);
enum killick_state lease_server_state(const struct lease *l);
/* The code that belongs to the error of the server; KILLICK_OK: no error. */
int lease_code(const struct lease *l);
/* Does cs define the server that the lease has? */
bool lease_fits(const struct lease *l, const struct config_server *cs);
/* Take over the rest of cs. A server that had failed is tried again. */
void lease_adjust(struct lease *l, struct config_server *cs);
/* Give the lease back; calls in flight have drain_ms to finish. */
void lease_leave(struct lease *l, enum ending_why why, unsigned drain_ms, struct job *job);
/* One more or one less call in flight. */
void lease_count(struct lease *l, int change);
void lease_free(struct lease *l); /* the lease must be over */

/* After FAILURES_MAX failures in a row an attempt is allowed after a pause; the pause doubles with
 * each further failure. 0: no pause. */
unsigned pool_pause_ms(unsigned failures);
/* May the session use the server? After crashes in a row during its requests the session must
 * pause; then it has one request at a time, until the server answers. KILLICK_OK, or an error. */
int lease_refuses(const struct lease *l, struct killick_error *e);
/* The server has answered a request of the session, with a result or an error. */
void lease_note_answer(struct lease *l);
/* The server ended during this request of the session: remember the name. */
void lease_note_crash(struct lease *l, const char *tool);

/* The server reports: it cannot be reached, so its calls of this lease end with KILLICK_ERR_LOST.
 */
void lease_lose(struct lease *l);
/* Does a request in flight wait for the resume when the connection to its executor is lost? The
 * answer is not lost then. If the connection is not resumed, the server ends, and the request fails
 * with the reason. tool: of KILLICK_CALL; NULL: not known. */
bool lease_waits_for_resume(const struct lease *l, enum killick_op op, const char *tool);
/* The server reports: it is ready, or failed. */
void lease_settle(struct lease *l, bool failed);
/* End the lease. e: how the server ended; NULL: there is no ending to report. */
void lease_over(struct lease *l, const struct ending *e);
