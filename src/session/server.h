/* server.h - a running copy of a configured server: its process, the client that speaks to it, and
 * the state they are in.
 *
 * A server is used through leases (pool.h) and belongs to the pool; nobody else keeps a pointer to
 * one.
 *
 *	server_new -> server_use: starting, handshaking, ready
 *	           -> server_unleased: draining, stopping, gone
 *	           -> the leases are told how it ended, and it is freed
 *
 * In between it may end by itself and be started again, as its config says.
 * The promise: "gone" comes after the proof that no process of its tree exists, and nothing that
 * failed is reported before.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "killick/killick.h"
#include "base/buf.h"
#include "base/loop.h"
#include "link/link.h"
#include "mcp/client.h"
#include "config/config.h"
#include "session/report.h"
#include "base/ring.h"
#include "link/recipe.h"
#include "session/toolcache.h"
#include "base/tail.h"

struct lease;
struct site;

enum server_event {
	EV_USE,     /* somebody needs it */
	EV_PLACE,   /* it may start now */
	EV_STARTED, /* its process runs */
	EV_SHOOK,   /* the handshake succeeded */
	EV_REFUSED, /* the handshake failed */
	EV_EOF,     /* its stdout is closed, or its stdin: there is nothing to talk to */
	EV_LOST,    /* the way to it is interrupted */
	EV_BACK,    /* and it is back */
	EV_ENDED,   /* its tree is proved gone */
	EV_LEAVING, /* every session is leaving, but calls may finish */
	EV_LEFT,    /* nobody has a lease any more */
	EV_TIME,    /* the deadline of its state */
};

/* In KILLICK_STOPPING: how far the end has come. */
enum server_stop {
	STOP_LINGER, /* it is about to exit, or has a mind not to */
	STOP_ASKED,  /* link_stop was called */
	STOP_FORCED, /* and did not help in time */
};

struct server {
	struct killick *k;
	unsigned number; /* for traces */
	struct ring in_pool, in_queue;
	enum killick_state state;
	enum server_event event; /* the last one; for traces */
	struct loop_timer timer; /* the deadline of the state */

	/* what it is */
	struct recipe recipe; /* session: the label of the session that made it */
	struct site *site;    /* where it runs; NULL: on this machine */
	char fingerprint[FINGERPRINT_SIZE];
	enum config_era era;
	unsigned answers; /* what it is told that we can answer */
	bool shared;

	/* what may change by a refresh */
	int64_t startup_ms;
	enum config_restart restart;
	char *stderr_file;

	/* who uses it */
	struct ring leases; /* struct lease; those that have left last wait for its end */
	unsigned holders;   /* leases that have not left, */
	unsigned active;    /* and are not about to */
	struct ring parked; /* calls that wait for it to run */

	/* while it runs */
	struct link *link;
	bool deaf; /* its stdin is closed */
	bool lost; /* the way to it is interrupted; `error` says why */
	struct client *client;
	struct client_spec spec;
	bool shook;         /* the handshake succeeded before we were told that it runs */
	bool failed_client; /* client_fail was called */
	bool assumed;       /* its era was remembered */
	struct toolcache tools;
	pid_t pid;
	char level[16];
	char link_id[LINK_ID_SIZE], tree[LINK_TREE_SIZE]; /* of the last link; for traces */
	int64_t started_us, ready_us, stop_us;            /* 0: not */
	enum server_stop stop;
	enum ending_why why; /* why we end it; ENDING_NOT_YET: we do not */
	int stderr_fd;       /* -1: none */
	struct own stderr_id;
	struct buf stderr_part; /* of a line */

	/* what has been */
	unsigned starts, failures; /* failures: in a row */
	unsigned backoff_ms;
	bool tried;  /* it was started */
	bool broken; /* it failed too often; this and `tried` until a refresh */
	bool again; /* it may have died of our question, or we took it for another era: once more */
	bool doubted;                           /* that was done, and did not help yet */
	unsigned long long bytes_in, bytes_out; /* out: by links that are no more */
	struct killick_error error;             /* why it is not ready, or last ended */
	struct ending ending;
	bool has_ended; /* and `ending` says how */
	struct tail tail;
};

struct server *server_new(struct killick *k, const struct config_server *cs, unsigned grace_ms,
			  unsigned answers, const char *label);
/* Is cs what this server runs? */
bool server_is(const struct server *sv, const struct config_server *cs, unsigned answers);
/* Take over what a running server can take over: times, restart, stderr. */
void server_adjust(struct server *sv, const struct config_server *cs);

/* Make it run if it does not. 0: its client can be called, or will call for those who are parked;
 * else why not. */
int server_use(struct server *sv, struct killick_error *e);
/* May it be asked now? */
bool server_has_client(const struct server *sv);
/* A call could not be written: see whether any can. */
void server_check(struct server *sv);
/* `holders` or `active` became 0. */
void server_unleased(struct server *sv);
/* Its turn to start has come. */
void server_place(struct server *sv);

/* The one function that steps it: for server_link.c. */
void server_step(struct server *sv, enum server_event ev);
/* server_link.c: where it is placed, and nowhere else. 0, or -errno with a sentence: -ENOTCONN
 * while the connection to its environment is lost. */
int server_open_link(struct server *sv, struct err *e);
void server_open_client(struct server *sv);

/* It could not be started; why is one line, and more that is not shown. */
void server_not_started(struct server *sv, const char *why);

/* report.c: the tree is gone; fills in `error`, `ending` and `again`. */
void server_note_end(struct server *sv, const struct link_end *end);

/* pool.c: it failed once more. */
void server_count_failure(struct server *sv);
/* It was not started because its environment is lost, which others mend: that is no failure of it.
 */
void server_await_way(struct server *sv);
/* Is it left alone? KILLICK_OK, or an error that says why. */
int server_refuses(const struct server *sv, struct killick_error *e);
/* How long it has to wait before its next start. */
int64_t server_backoff_ms(const struct server *sv);
/* Forget that it failed, so that it can be used again. */
void server_forgive(struct server *sv);
