/* forward.h - a request that the hub passes on from its client to a server, byte for byte.
 *
 *	forward_begin -> [waiting: the server does not run yet]
 *	              -> [queued: too much is in flight, see gate.h]
 *	              -> with the client (mcp/client.h) -> on_done, exactly once
 *
 * on_done comes from the loop, never from inside forward_begin. A forward is embedded in an object
 * of its owner and may be freed in on_done. All forwards of a lease end before the lease is over.
 * on_done may begin and cancel other forwards, and may close its session.
 * The fields that the owner does not fill in are zero; a forward that is over may be used again
 * after its memory was set to zero.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "mcp/client.h"
#include "session/gate.h"
#include "session/parked.h"
#include "session/pool.h"
#include "session/tally.h"

struct forward;

enum forward_state {
	FORWARD_IDLE, /* zero: not begun */
	FORWARD_PARKED,
	FORWARD_QUEUED,
	FORWARD_SENT,  /* with the client */
	FORWARD_LATER, /* the outcome is known; on_done comes from the loop */
	FORWARD_OVER,
};

struct forward_done { /* borrowed for the time of on_done */
	/* KILLICK_OK: line is a result. KILLICK_ERR_ANSWER: line is an error of the server. Other
	 * codes: line is NULL, text is a sentence that names the server. */
	int code;
	const struct message *line; /* the message as the server wrote it; its id is ours */
	enum client_era era;        /* of the server that wrote the line */
	const char *text;
};

struct forward {
	/* filled in by the owner */
	struct lease *lease;
	/* The request as the client wrote it; borrowed for the time of forward_begin. */
	const struct message *m;
	/* Replaces the text of params.name (tools/call, prompts/get), quoted JSON; NULL: as
	 * written. Borrowed for the same time. */
	const char *name;
	enum client_era
		era;        /* of the client that made the request: a modern client gets results
			       that ask for input untouched; for a legacy client they become asks */
	int64_t timeout_ms; /* 0: the server's default; -1: none. Waiting counts. */
	void (*on_progress)(struct forward *f, struct json params); /* NULL: not wanted */
	void (*on_done)(struct forward *f, const struct forward_done *d);

	/* private */
	enum forward_state state;
	bool is_op; /* forward_begin_op */
	bool cancelled;
	bool waits;           /* lease_waits_for_resume */
	enum killick_op kind; /* of an op, */
	char *op_name;        /* and its name, while it waits */
	struct client_call op;
	struct client_forward fw;
	struct parked parked;
	struct gate_entry entry;
	struct loop *loop;
	struct loop_timer timer; /* of a forward that waits, or whose outcome is known */
	int64_t limit_ms;        /* -1: none */
	int64_t began_us;
	size_t kept;    /* bytes that are counted in lease.kept */
	uint64_t drops; /* of the server's toolcache, when the list was requested */
	int code;       /* FORWARD_LATER: the outcome */
	enum client_era from;
	char *text;
	char tool[TALLY_NAME]; /* the tool, or the method; cut */
};

/* Does the server have the request? */
static inline bool forward_is_sent(const struct forward *f)
{
	return f->state == FORWARD_SENT;
}
/* Begin. The forward fails with KILLICK_ERR_CLOSED if the lease was given back. */
void forward_begin(struct forward *f);
/* The client has cancelled: the server gets a cancellation; on_done is not called. Does nothing if
 * the forward is over. */
void forward_cancel(struct forward *f);

/* The same for requests that are not passed on as they are: lists (all pages), log level,
 * subscribe, unsubscribe, ping. op, name as in killick_request. In on_done, line has only kind and
 * result, or error. The list of tools may come from the cache, and has only tools that the config
 * allows; their names are added to session.names. */
void forward_begin_op(struct forward *f, enum killick_op op, const char *name);
