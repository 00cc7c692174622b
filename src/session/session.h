/* session.h - a set of servers that one part of a host uses.
 *
 *	opening -> open <-> (refreshing) -> closing -> closed
 *
 * To open, to refresh and to close a session are jobs. session_advance looks at the leases and
 * finishes the jobs that can be finished. The loop runs session_advance whenever a lease changed,
 * so no step depends on the order in which the servers get ready or end.
 * A session is freed when it is closed, its handle was freed, and no item of the session is left in
 * the outbox.
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
#include "session/sink.h"

enum session_state { SESSION_OPENING, SESSION_OPEN, SESSION_CLOSING, SESSION_CLOSED };
extern const char *const session_state_names[];

struct session_sink;

#define SESSION_OWNERS 2

struct killick_session {
	struct killick *k;
	unsigned number; /* for traces */
	struct ring in_runtime;
	/* set once */
	char *label;     /* NULL: none */
	char *only;      /* NULL: all servers of the config */
	char **user_env; /* of the program that the session is for; NULL: the host's */
	char *user_cwd;  /* the same */
	enum killick_wait_for wait;
	unsigned grace_ms, drain_ms;
	unsigned startup_ms; /* 0: as the config says */
	struct killick_handlers handlers;
	const struct session_sink *sink; /* of the hub; NULL: a session of a host */
	void *sink_ctx;
	bool lazy;
	bool modern;                    /* see session_spec */
	int owners[SESSION_OWNERS];     /* see session_spec */
	long file_owner;                /* see session_spec */
	unsigned shown[SESSION_OWNERS]; /* servers whose keepers watch owners[i] */
	unsigned features;              /* enum killick_answers: declared to servers */
	unsigned max_servers;           /* servers that run at the same time; 0: no limit */
	unsigned long long max_memory;  /* bytes of their trees; 0: no limit */

	enum session_state state;
	struct loop_timer turn; /* session_advance is due */
	struct lease **table;   /* the servers of the session, in the config's order */
	size_t count;
	unsigned writes;    /* stderr files of its servers that are not written yet */
	struct ring leases; /* all leases that are not over, also while a refresh replaces them */
	struct ring jobs;   /* the first job is under way; closes come last */
	struct names names;
	struct ring calls, asks;

	bool held;       /* the host has the handle */
	bool early;      /* the host got the handle before the session was open */
	bool muted;      /* its handlers are not called any more */
	unsigned pins;   /* other users: calls, asks, items in the outbox, waiting threads */
	unsigned news;   /* items for its handlers in the outbox */
	unsigned events; /* items in the outbox that count against EVENTS_MAX, with progress */
	size_t event_bytes;
	unsigned long dropped; /* events that were dropped because too many waited */
};

enum job_kind { JOB_OPEN, JOB_REFRESH, JOB_CLOSE };

/* The outcome of a job, on the stack of the thread that waits for it. The job is freed before the
 * thread reads the outcome. */
struct outcome {
	struct waiter waiter;
	struct killick_session *session;
	struct killick_report *report; /* owned by the waiting thread; NULL: none */
	struct killick_error error;
};

struct job {
	struct outbox_item item;
	struct killick_session *session;
	struct ring in_session;
	enum job_kind kind;
	bool begun;
	int64_t began_us;
	struct config config; /* the new set of servers, until the job begins */
	struct lease **fresh; /* of a refresh: the new lease per table entry; NULL: none, or done */
	struct killick_error error;
	struct endings endings;
	struct killick_report *report;
	/* the receiver of the outcome: a thread, a callback, the runtime's close, or none */
	struct outcome *outcome;
	killick_opened_fn on_opened;
	killick_ended_fn on_ended;
	void *ctx;
	bool for_runtime;
	/* For the hub, in place of the above: called in the loop when the job is over; the receiver
	 * takes `report` by setting it to NULL. The job is freed afterwards. After an open that
	 * failed (error.code) the session must not be used any more. */
	void (*on_finished)(struct job *j);
};

struct job *job_new(struct killick_session *s, enum job_kind kind);
/* The job is over: pass the outcome to the receiver. */
void job_finish(struct job *j);
void job_free(struct job *j);
/* Pass the outcome to a thread, which waits for out->waiter. */
void job_tell(struct job *j, struct outcome *out);

/* The options of a session. The strings are borrowed. */
struct session_spec {
	struct killick_session_options o; /* o.handlers is not used; `handlers` replaces it */
	struct killick_handlers handlers;
	/* For the hub: the sink gets the events of the session. NULL: the handlers get them. */
	const struct session_sink *sink; /* borrowed; must outlive the session */
	void *sink_ctx;
	bool lazy;   /* a server whose catalogue is known is started by its first use */
	bool modern; /* the client is asked in answers to its requests: see gate.h */
	/* Descriptors of the processes (os/process.h) for which this program holds the session;
	 * 0: none. Borrowed until the session is closed. When one of them has ended, close the
	 * session: the keepers of its servers watch whether this is done (keeper/linux/users.h). */
	int owners[SESSION_OWNERS];
	long file_owner; /* in whose name files are used, see struct work; 0: the session's */
};
/* Make a session and begin to open it; the job is done when the session is open. The servers are
 * moved out of the config. */
struct job *session_begin(struct killick *k, const struct session_spec *spec, struct config *c);
/* A lease or a job changed: run session_advance soon. */
void session_poke(struct killick_session *s);
/* Begin to close, unless the close has begun already; job, which may be NULL, is done when the
 * session is closed. */
void session_close(struct killick_session *s, struct job *job);
/* Begin a refresh: *out is done when the servers of c, which is moved out, have replaced those of
 * the session. KILLICK_ERR_CLOSED: the session is not open. */
int session_refresh(struct killick_session *s, struct config *c, struct job **out,
		    struct killick_error *e);
/* The handle is not used any more; the session is closed if it is open, and freed soon. */
void session_release(struct killick_session *s);
/* Is every server that the session waits for ready or failed? */
bool session_is_settled(const struct killick_session *s);
/* The first required server that failed; NULL: none. */
struct lease *session_failed(const struct killick_session *s);
/* Fill in e with the failure of a required server, for the outcome of an open or a refresh. */
void session_blame(const struct lease *l, struct killick_error *e);
struct lease *session_find(const struct killick_session *s, const char *server);
void session_pin(struct killick_session *s);
void session_unpin(struct killick_session *s);
void session_free(struct killick_session *s); /* the session must be closed */

/* refresh.c: the first job of the session is a refresh; take the steps that are possible now. */
void refresh_advance(struct killick_session *s, struct job *j);
void refresh_abandon(struct killick_session *s, struct job *j);

/* Read a config from text, file or command; exactly one must be given. KILLICK_ERR_CONFIG,
 * KILLICK_ERR_USAGE, KILLICK_ERR_NO_SERVER. Without the lock. */
struct config_from {
	const char *text, *file;
	char *const *command;
	const char *only;        /* use only this server; NULL: all servers */
	struct config_more more; /* env and cwd: of the command; startup_ms: of all servers */
	char *const *user_env;   /* as in killick_session_options */
	const char *user_cwd;
};
int session_read_config(const struct config_from *from, struct config *out,
			struct killick_error *e);
