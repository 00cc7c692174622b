/* session.h - a set of servers for one user of them.
 *
 *	opening -> open <-> (refreshing) -> closing -> closed
 *
 * What a session is asked for as a whole - to open, to refresh, to close - is a job.
 * session_advance looks at the leases and finishes what can be finished. It is run from the loop
 * whenever one of them changed, so no step depends on the order in which servers do things.
 * A session is freed when it is closed, its handle was let go of, and nothing that belongs to it is
 * on its way to the host.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "killick/killick.h"
#include "base/loop.h"
#include "config/config.h"
#include "session/names.h"
#include "session/outbox.h"
#include "session/report.h"
#include "base/ring.h"
#include "session/runtime.h"

enum session_state { SESSION_OPENING, SESSION_OPEN, SESSION_CLOSING, SESSION_CLOSED };
extern const char *const session_state_names[];

struct killick_session {
	struct killick *k;
	unsigned number; /* for traces */
	struct ring in_runtime;
	/* set once */
	char *label; /* NULL: none */
	char *only;  /* NULL: all servers of the config */
	enum killick_wait wait;
	unsigned grace_ms, drain_ms;
	struct killick_handlers handlers;
	unsigned features; /* enum killick_answers: what servers are told that we can answer */

	enum session_state state;
	struct loop_timer turn; /* session_advance is due */
	struct lease **table;   /* the servers it has, in the config's order */
	size_t count;
	struct ring leases; /* all that are not over, also those that come and go */
	struct ring jobs;   /* the first one is under way; closes come last */
	struct names names;
	struct ring calls, asks;

	bool held;       /* the host has the handle */
	bool muted;      /* its handlers are called no more */
	unsigned pins;   /* what else needs it: calls, asks, items in the outbox, waiting threads */
	unsigned news;   /* for its handlers, in the outbox */
	unsigned events; /* of these, and of progress, what may be dropped */
	size_t event_bytes;
	unsigned long dropped; /* not put there because there were too many */
};

enum job_kind { JOB_OPEN, JOB_REFRESH, JOB_CLOSE };

/* What a thread that waits for a job is told; on its stack. The job itself is gone by then. */
struct outcome {
	struct waiter waiter;
	struct killick_session *session;
	struct killick_report *report; /* the waiting thread's; NULL: none */
	struct killick_error error;
};

struct job {
	struct outbox_item item;
	struct killick_session *session;
	struct ring in_session;
	enum job_kind kind;
	bool begun;
	int64_t began_us;
	struct config config; /* the set to be, until it begins */
	struct lease **fresh; /* of a refresh: what is to come into each place; NULL: it is there */
	struct killick_error error;
	struct endings endings;
	struct killick_report *report;
	/* who is told: a thread, a callback, the runtime's close, or nobody */
	struct outcome *outcome;
	killick_opened_fn on_opened;
	killick_ended_fn on_ended;
	void *ctx;
	bool for_runtime;
};

struct job *job_new(struct killick_session *s, enum job_kind kind);
/* The job is over: who waits for it is told. */
void job_finish(struct job *j);
void job_free(struct job *j);
/* It is told to a thread, which waits for out->waiter. */
void job_tell(struct job *j, struct outcome *out);

/* What a session is opened with. The strings are borrowed. */
struct session_spec {
	struct killick_session_options o; /* `handlers` of it is not used, but these: */
	struct killick_handlers handlers;
};
/* Make a session and begin to open it; the job is done when it is open. The config's servers are
 * moved out. */
struct job *session_begin(struct killick *k, const struct session_spec *spec, struct config *c);
/* Something changed: look at it soon. */
void session_poke(struct killick_session *s);
/* Begin the end; job, which may be NULL, is done when it is over. Also when it began before. */
void session_close(struct killick_session *s, struct job *job);
/* Is every server ready or failed, as far as it is waited for? */
bool session_is_settled(const struct killick_session *s);
/* The first required server that failed; NULL: none. */
struct lease *session_failed(const struct killick_session *s);
/* Say what is wrong with it, for the one who opened or refreshed. */
void session_blame(const struct lease *l, struct killick_error *e);
struct lease *session_find(const struct killick_session *s, const char *server);
void session_pin(struct killick_session *s);
void session_unpin(struct killick_session *s);
void session_free(struct killick_session *s); /* closed, and the loop is about to be */

/* refresh.c: the first job of the session is a refresh; do what can be done. */
void refresh_advance(struct killick_session *s, struct job *j);
void refresh_abandon(struct killick_session *s, struct job *j);

/* Read a config from whichever is given. KILLICK_ERR_CONFIG, KILLICK_ERR_USAGE,
 * KILLICK_ERR_NO_SERVER. Without the lock. */
struct config_from {
	const char *text, *file;
	char *const *command;
	const char *only;        /* NULL: all of it */
	struct config_more more; /* of the command */
};
int session_read_config(const struct config_from *from, struct config *out,
			struct killick_error *e);
