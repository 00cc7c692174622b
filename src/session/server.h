/* server.h - a running instance of a configured server: its process, its client, and its state.
 *
 * The pool owns the servers. Sessions use a server through leases (pool.h) and keep no pointer to
 * the server itself.
 *
 *	server_new -> server_use: starting, handshaking, ready
 *	           -> server_unleased: draining, stopping, gone
 *	           -> the leases get the ending, and the server is freed
 *
 * In between the server may end by itself and be started again, as its config says.
 * The promise: "gone" comes after the proof that no process of the tree exists, and no failure is
 * reported before the proof.
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
#include "session/catalogue.h"
#include "session/gate.h"
#include "session/report.h"
#include "session/share.h"
#include "base/ring.h"
#include "link/recipe.h"
#include "session/tally.h"
#include "session/toolcache.h"
#include "base/tail.h"

struct lease;
struct look;
struct site;
struct stderr_file;
struct survey;

enum server_event {
	EV_USE,     /* a lease needs the server */
	EV_PLACE,   /* the server may start now */
	EV_STARTED, /* its process runs */
	EV_SHOOK,   /* the handshake succeeded */
	EV_REFUSED, /* the handshake failed */
	EV_EOF,     /* the server closed its stdout or its stdin */
	EV_LOST,    /* the connection to the executor is lost */
	EV_BACK,    /* the connection is back */
	EV_ENDED,   /* its tree is proved gone */
	EV_LEAVING, /* every session is leaving, but calls may finish */
	EV_LEFT,    /* no lease is left */
	EV_TIME,    /* the deadline of the state has passed */
	EV_ORDER,   /* end the server for the reason `ordered` */
};

/* In KILLICK_STOPPING: how far the end has come. */
enum server_stop {
	STOP_LINGER, /* stdin or stdout is closed: wait a moment for the server to exit by itself */
	STOP_EXITED, /* the same, and its main process is gone: wait for the exit status */
	STOP_ASKED,  /* link_stop was called */
	STOP_FORCED, /* the tree did not end in time: link_stop was called with LINK_STOP_KILL */
};

struct server {
	struct killick *k;
	unsigned number; /* for traces */
	struct ring in_pool, in_queue;
	enum killick_state state;
	enum server_event event; /* the last event; for traces */
	struct loop_timer timer; /* the deadline of the state */

	/* what the server is */
	struct recipe recipe; /* session: the label of the session that made the server */
	struct site *site;    /* where the server runs; NULL: on this machine */
	char fingerprint[FINGERPRINT_SIZE];
	enum config_era era;
	unsigned answers; /* enum killick_answers: declared to the server */
	bool shared;      /* other sessions may join */

	/* sharing: attach.c, survey.c */
	bool hub; /* made for a session with a sink */
	enum config_share word;
	enum config_stateful stateful;
	unsigned max_instances;
	struct share_verdict verdict; /* of a server of the hub, or one that may rest */
	bool asked;                   /* the server has sent a request of its own */
	struct metadata program;      /* as in struct share_key */
	char key[CATALOGUE_KEY_SIZE], stamp[CATALOGUE_STAMP_SIZE]; /* in the catalogue */
	struct look *look; /* a thread finds out `stamp`, and then the survey begins; NULL: none */
	struct server *awaits; /* not started before the verdict of this server is known; NULL: the
				  server may start */
	struct survey *survey[CATALOGUE_KINDS]; /* lists that are being read; NULL: none */

	/* what a refresh may change */
	int64_t startup_ms;
	int64_t idle_ms; /* 0: the tree is not checked for signs of life */
	enum config_restart restart;
	char *stderr_file;
	long file_owner; /* in whose name files are used, see struct work */
	bool logs_all;
	unsigned long long max_memory; /* of all processes of servers like this; 0: no limit */
	int64_t rest_ms;               /* the server rests after this time without use; 0: never */

	/* leases and calls that use the server */
	struct ring leases; /* struct lease; the last one stays until the server has ended */
	unsigned holders;   /* leases that have not left */
	unsigned active;    /* leases that have not left and are not leaving */
	struct ring parked; /* struct parked: requests that wait until the server runs */
	struct gate gate;   /* forwards (forward.h) in flight and in the queue */
	struct tally tally; /* of calls and forwards */

	/* while the server runs */
	struct link *link;
	bool paused; /* its output is not read: see server_look_full */
	struct server_pauses pauses;
	bool deaf; /* its stdin is closed */
	bool lost; /* the connection to the executor is lost; `error` says why */
	struct client *client;
	struct client_spec spec;
	bool failed_client; /* client_fail was called */
	bool assumed;       /* the era was taken from the cache */
	struct toolcache tools;
	unsigned long long life; /* changes with each sign of life during the start */
	int64_t alive_us;        /* the last sign of life that was seen */
	int pid;
	char level[16];
	char link_id[LINK_ID_SIZE], tree[LINK_TREE_SIZE]; /* of the last link; for traces */
	int64_t started_us, stop_us;                      /* 0: not yet */
	int64_t ready_us; /* the handshake succeeded, maybe before EV_STARTED; 0: not yet */
	enum server_stop stop;
	enum ending_why why; /* why we end the server; ENDING_NOT_YET: we do not end it */
	struct stderr_file *stderr_open; /* NULL: none */
	struct buf stderr_part;          /* the incomplete last line */

	/* rest.c, order.c */
	int64_t used_us; /* when the last request ended, or the server got ready */
	struct loop_timer rest;
	enum ending_why ordered; /* with EV_ORDER: ENDING_REST, ENDING_STOP or ENDING_RESTART */
	struct ring orders;      /* struct server_order */

	/* limits.c */
	unsigned long long memory;      /* bytes of the tree at the last look */
	unsigned long long last_memory; /* the same while the server ran last */
	unsigned processes;
	bool over_limit; /* the start failed because of a limit */

	/* history */
	unsigned rests, wakes;     /* wakes: starts after a rest */
	unsigned starts, failures; /* failures: in a row, without those of `blamed` */
	int64_t failed_us;         /* the last of `failures` */
	unsigned backoff_ms;
	bool blamed;         /* the last end is a failure of sessions whose requests were open, */
	unsigned open_calls; /* so many */
	bool tried;          /* the server was started; a refresh resets this */
	bool again;   /* start again at once: the probe or a wrong era may have ended the server */
	bool doubted; /* `again` was used; reset when the server is ready */
	unsigned long long bytes_in, bytes_out; /* bytes_out: without the current link */
	unsigned long long bytes_stderr;
	struct killick_error error; /* why the server is not ready, or last ended; server_error.c */
	size_t reason_at, quoted;   /* parts of error.text, as in killick_server_status */
	struct ending ending;
	bool has_ended; /* `ending` says how */
	bool mixed;     /* several sessions have used the server since its start */
	struct tail tail;
};

struct server *server_new(struct killick *k, const struct config_server *cs, unsigned grace_ms,
			  unsigned answers, const char *label);
/* Does cs define this server? */
bool server_is(const struct server *sv, const struct config_server *cs, unsigned answers);
/* Are the settings equal that sessions which share the server must agree on? */
bool server_has_policy(const struct server *sv, const struct config_server *cs);
/* Take over the settings that need no restart: times, restart, stderr. */
void server_adjust(struct server *sv, const struct config_server *cs);
/* The last step of the state machine: pass the ending to the leases that wait for it, and free the
 * server. */
void server_free(struct server *sv);

/* Start the server if it does not run. KILLICK_OK: calls can be made, or parked until the server
 * runs; else an error that says why not. */
int server_use(struct server *sv, struct killick_error *e);
/* Does the client take calls now? */
bool server_has_client(const struct server *sv);
/* Can a list of tools be had now: from the server, or, while it rests, from the cache? */
bool server_has_list(const struct server *sv);
/* A call could not be written: check whether the server's stdin is closed. */
void server_check(struct server *sv);
/* Back pressure. lease.full or lease.stalled, the leases of the server, or their requests have
 * changed, or time has passed: the output of the server is read, unless answers to a full lease may
 * come. A full lease is slow when its reader is stalled, or when pauses have held up an answer to
 * another session for SERVER_HOLD_MS in total. While another session waits for an answer, the
 * server is read although it has answers to a slow lease. */
#define SERVER_HOLD_MS 5000
void server_look_full(struct server *sv);
/* For how long the pauses of the server, or of the connection to its executor, have lasted so far.
 */
int64_t server_held_us(struct server *sv);
/* `holders` or `active` became 0. */
void server_unleased(struct server *sv);
/* The server waits in the queue because of a limit: the start fails after startup_ms, counted from
 * the first call. */
void server_begin_wait(struct server *sv);
/* The server's turn to start has come. */
void server_place(struct server *sv);

/* Has the server ended, or does it end, because of EV_ORDER? */
static inline bool server_is_ordered(const struct server *sv)
{
	return sv->why >= ENDING_REST && sv->why <= ENDING_RESTART;
}
/* How often the server was started again, without the starts after a rest. */
static inline unsigned server_restarts(const struct server *sv)
{
	return sv->starts ? sv->starts - 1 - sv->wakes : 0;
}
/* The only function that steps the state machine: for server_link.c, rest.c and order.c. */
void server_step(struct server *sv, enum server_event ev);
/* server_link.c: open a link in the environment of the server, never in another place. 0, or -errno
 * with a sentence: -ENOTCONN while the connection to the environment is lost. */
int server_open_link(struct server *sv, struct err *e);
void server_open_client(struct server *sv);
/* Milliseconds until the start must be checked: its deadline, or the next check for signs of
 * life. */
int64_t server_start_wait_ms(const struct server *sv);
/* Has the tree of a starting server done something since the last call? True also if the tree
 * cannot be checked. */
bool server_is_alive(struct server *sv);

/* attach.c: `answers` was set: set `key`. */
void server_identify(struct server *sv);
/* survey.c: the server has sent a request of its own. */
void server_note_ask(struct server *sv);

/* server_error.c: set `error`, to a sentence or to "server 'NAME' " and the rest of a sentence. */
void server_error_clear(struct server *sv);
void server_error_set(struct server *sv, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void server_error_of(struct server *sv, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Append the last lines of the server's stderr, unless several sessions have used the server: the
 * lines may have secrets of any of them. */
void server_error_quote_stderr(struct server *sv);
/* One more session uses the server: it gets no lines of stderr from before. */
void server_error_unquote(struct server *sv);
/* The server could not be started. Only the first line of `why` is shown. */
void server_error_not_started(struct server *sv, const char *why);
/* No sign of life for idle_ms; no handshake within startup_ms; failed too often in a row. */
void server_error_quiet(struct server *sv);
void server_error_slow(struct server *sv);
void server_error_often(struct server *sv);
/* The error of a request of l that was open when the server ended: names the tool or method. */
void server_error_of_call(const struct lease *l, const char *tool, char *out, size_t size);
/* No room for the server within startup_ms. */
void server_error_limit(struct server *sv, const char *limit);
/* The server has closed its stdin or stdout and kept running; or has exited (STOP_EXITED), and its
 * keeper does not say how. */
void server_error_closed(struct server *sv);

/* report.c: the tree is gone; fills in `error`, `ending` and `again`. */
void server_note_end(struct server *sv, const struct link_end *end);

/* pool.c: the server failed once more. */
void server_count_failure(struct server *sv);
/* Before the open requests fail: the server has ended by itself. If it was ready, this counts
 * against the sessions with open requests; if there are several, only against those that the server
 * has not answered since its last end. */
void server_blame(struct server *sv);
/* After FAILURES_MAX failures in a row a request starts the server only after a pause. */
bool server_failed_often(const struct server *sv);
/* The server was not started because the connection to its environment is lost. This is not counted
 * as a failure; the environment reconnects by itself. */
void server_await_way(struct server *sv);
/* May the server be started? KILLICK_OK, or an error that says why not. */
int server_refuses(const struct server *sv, struct killick_error *e);
/* How long the server must wait before its next start. */
int64_t server_backoff_ms(const struct server *sv);
/* Forget the failures, so that the server can be used again. */
void server_forgive(struct server *sv);
/* The same for the crashes that count against its sessions. */
void server_forgive_sessions(struct server *sv);
