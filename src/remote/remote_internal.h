/* remote_internal.h - the parts of a remote link: remote.c (its life), remote_in.c (output of the
 * server), remote_out.c (input of the server).
 */
#pragma once

#include "base/buf.h"
#include "remote/plan.h"
#include "remote/remote.h"
#include "remote/sweep.h"

#define REMOTE_WRITES      32u          /* process/write requests in flight */
#define REMOTE_WRITE_MAX   (256u << 10) /* bytes of one request */
#define REMOTE_WRITE_BYTES (1u << 20)   /* bytes of all requests in flight */
#define REMOTE_EARLY       256u         /* events that came before their turn, */
#define REMOTE_EARLY_BYTES (1u << 20)   /* and bytes of them */

enum remote_state {
	REMOTE_WAITING,
	REMOTE_STARTING,
	REMOTE_RUNNING,
	REMOTE_SWEEPING,
	REMOTE_DONE,
};
extern const char *const remote_state_names[];

enum event_kind { EVENT_STDOUT, EVENT_STDERR, EVENT_EXITED, EVENT_CLOSED };
struct event { /* borrowed */
	uint64_t seq;
	enum event_kind kind;
	const char *bytes; /* output; of EVENT_CLOSED the report, NULL: none */
	size_t len;
	int exit_code;
};

struct remote_chunk { /* input that was sent and not yet acknowledged in order */
	struct rpc_request rq;
	struct remote *remote;
	size_t len;
	bool accepted;
};

struct remote_out {
	struct buf queue; /* [gone, sent) is in chunks, [sent, len) waits */
	size_t limit;     /* of the bytes that wait */
	size_t gone, sent;
	struct remote_chunk chunks[REMOTE_WRITES]; /* a ring of count, from first on */
	unsigned first, count;
	uint64_t first_id; /* writeId of the first */
	bool closed;       /* the stdin of the process is closed */
	bool full;         /* bytes waited: call on_room when none wait */
	struct loop_timer retry;
};

struct remote_in {
	uint64_t last; /* all events up to this seq were handed on */
	struct ring early;
	unsigned early_count;
	size_t early_bytes;
	struct rpc_request read;
	bool again;      /* send another read when `read` is answered */
	bool resyncing;  /* call on_back when a read brings nothing new */
	unsigned rounds; /* reads in a row */
	struct loop_timer retry;
};

struct remote {
	struct link link;
	struct environment *env;
	struct ring in_env; /* until it is done */
	enum remote_state state;
	uint64_t number;
	char id[24];             /* processId */
	char tag[PLAN_TAG_SIZE]; /* in its environment, if the executor is not killick's */
	struct recipe recipe;    /* our copy, until it is started */
	enum stdio stdio;
	unsigned grace_ms, linger_ms;
	bool internal;
	bool windows; /* its machine has Windows: no script can look for what it leaves */
	bool lost;    /* on_lost was called, or would have been */
	bool told;    /* on_ended was called */
	bool freed;   /* by its owner */
	bool exited;  /* the main process has */
	bool paused;

	bool stopping;
	enum link_stop how;
	int64_t stop_us;
	bool denied;      /* the answer to terminate: the process does not run */
	bool group_ended; /* the answer to terminate: the process ran, and was ended */
	struct rpc_request start, terminate, signal;
	struct loop_timer late;   /* gives up waiting: on_ended with what is known */
	struct loop_timer settle; /* exited, but not closed; or stuck */

	struct remote_in in;
	struct remote_out out;
	struct sweep *sweep;
	struct link_end end;
	char *report;
};

/* remote.c */
void remote_exited(struct remote *r, int code);
/* The process is closed; report: JSON text or NULL. r may be freed by this call. */
void remote_closed(struct remote *r, const char *report, size_t len);
/* The executor does not know the process (any more). r may be freed by this call. */
void remote_vanished(struct remote *r);
/* An error that cannot be repaired: kill the process; its link_end has the text. */
void remote_break(struct remote *r, const char *text);

/* remote_in.c */
void remote_in_done(struct remote *r);
/* Handle an event: now, or in its turn. r may be freed by this call. */
void remote_event(struct remote *r, const struct event *ev);
/* Handle the events that came before process/start was answered. r may be freed by this call. */
void remote_in_begin(struct remote *r);
/* Fetch the events that follow the last one. */
void remote_read(struct remote *r);

/* remote_out.c */
int remote_write(struct link *link, const char *bytes, size_t len);
size_t remote_unwritten(const struct link *link);
void remote_out_lost(struct remote *r);
/* Send the input again that was not acknowledged. */
void remote_out_resume(struct remote *r);
/* Nothing is written any more. */
void remote_out_close(struct remote *r);
void remote_out_done(struct remote *r);
