/* hub_internal.h - the inside of the hub, for the files of this folder.
 *
 *	hub.c             the hub: its life, its end
 *	hub_session.c     a session: its desk, its lease, its end
 *	hub_source.c      where the servers of a session come from
 *	hub_load.c        reads them without blocking
 *	caller.c          a connection that speaks the control API, and its messages
 *	caller_session.c  methods session.*, tool.*, mcp.request
 *	caller_server.c   method server.list
 *	caller_order.c    methods server.restart, server.stop, server.rest
 *	caller_hub.c      methods hub.*
 *	caller_params.c   params of requests
 *	news.c            events.subscribe, and the events
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/emit.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/ring.h"
#include "config/config.h"
#include "hub/desk.h"
#include "hub/hub.h"
#include "killick/killick.h"
#include "net/channel.h"
#include "net/listen.h"
#include "rpc/reply.h"
#include "rpc/rpc.h"

struct server;
struct tally_call;

/* --- the hub --- */

struct hub {
	struct hub_spec o;
	struct killick *k;
	struct loop *loop;
	struct listener *listener; /* NULL: stdio, or the hub is ending */
	char socket[160];          /* path; "": stdio */
	int64_t started_us;
	struct ring callers, sessions;
	unsigned last_session;
	unsigned long long calls; /* that have ended */
	struct loop_timer idle;
	struct loop_timer quiet; /* a session has ended: free memory is given back */
	struct loop_watch requests, orphans;
	/* While the hub ends: the endings of all sessions. */
	bool closing, over;
	struct buf ended; /* JSON objects with commas between them */
	int survivors;
	bool unproved;
	struct ring shutdowns; /* struct hub_wait: answers to hub.shutdown */
};

/* Begin to end the hub: no connection is accepted, every session is closed. Idempotent. */
void hub_end(struct hub *h, const char *why);
/* A session or a connection is gone: take the steps that are possible now. */
void hub_settle(struct hub *h);
/* The hub is used or not: start or stop its idle timer. */
void hub_check_idle(struct hub *h);
void hub_log(struct hub *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- where the servers of a session come from --- */

struct hub_source {
	char *file;      /* absolute path; NULL: text */
	char *digest;    /* of the bytes that `file` must have, see config_source; NULL: any */
	char *text;      /* a config; NULL: file or command */
	char **command;  /* of one server, which gets all of environ_ and cwd; NULL: a config */
	char *name;      /* of the server of `command`; NULL: none */
	unsigned share;  /* of the server of `command`: enum config_share */
	int64_t rest_ms; /* of the server of `command`: config_server.rest_ms */
	char **environ_; /* NULL: the hub's own */
	char *cwd;       /* NULL: the hub's own */
	char **only;     /* names of servers; NULL: all */
	long owner;      /* pid of the process that asks, for struct work; 0: not known */
	bool alone;      /* no server is shared with other sessions; see caller_tree */
};

/* Read the members config, mcpServers, environments, command, name, share, idleMs, only,
 * environ, cwd and configDigest of a request. 0, or e is set (a code for the answer), and *out is
 * untouched. */
int hub_source_read(struct hub *h, struct json params, struct hub_source *out, struct err *e);
void hub_source_done(struct hub_source *s);
enum hub_source_code { /* in struct err: caller_refuse answers HUB_FAILED with data.reason */
		       HUB_SOURCE_CONFIG = -31001, /* "config": the config was refused */
		       HUB_SOURCE_SERVER = -31002, /* "no-server": `only` has an unknown name */
};
/* Read and parse the config, with these variables. 0, or -errno and e, which has a code of
 * hub_source_code. Threads: any.  Blocking: reads s->file. */
int hub_source_parse(const struct hub_source *s, char *const *variables, struct config *out,
		     struct err *e);
/* Remove what killick has put in front of commands, and all servers but s->only. The same errors.
 */
int hub_source_narrow(const struct hub_source *s, struct config *c, struct err *e);

/* Do all of that without blocking, and look at the programs of the servers (session/look.h). done
 * is called once, from the loop, not inside of hub_load_begin: e NULL, and a config that the
 * receiver may move out; or e. Nothing of s is used later. */
struct hub_load;
typedef void (*hub_loaded_fn)(void *ctx, struct config *config, const struct err *e);
struct hub_load *hub_load_begin(struct hub *h, const struct hub_source *s, hub_loaded_fn done,
				void *ctx);
void hub_load_cancel(struct hub_load *l); /* done is not called */

/* --- a session --- */

struct caller;

struct hub_session {
	struct hub *hub;
	unsigned number;
	struct ring in_hub;
	char *tag;            /* NULL: none */
	struct hub_tree tree; /* of the process that made the session */
	long maker_pid;       /* of the process that connected; 0: not known */
	long pid;             /* of the program that uses the session; 0: not known */
	int64_t began_us;
	struct desk *desk; /* NULL: could not be opened */
	struct hub_source source;
	/* Processes with which the session ends; their descriptors are in `owners`, 0: none. */
	struct loop_watch maker;  /* the process that connected to the hub */
	struct loop_watch client; /* attached: its parent, the MCP client */
	int owners[2];
	struct caller *caller; /* the session ends with this connection; NULL: it has a lease */
	struct ring in_caller;
	struct caller *asked_at; /* gets the questions and notifications of servers: the connection
				    that made the session; NULL: none, or it is closed */
	bool notified;           /* that connection wants notifications */
	bool attached;           /* by `killick connect`: the connection ends with the session */
	int64_t lease_ms;        /* 0: none */
	struct loop_timer lease;
	/* bytes of answers that `reader` got since its queue was nearly empty (caller.fill) */
	const struct caller *reader; /* never followed */
	unsigned fill;
	size_t unread;
	bool opened, closing;
	bool asked;      /* a request or a failure ended the session, not the client */
	bool bad_config; /* each server has an error in its config */
	char why[512];
	struct answer *opening; /* of session.create; NULL: answered */
	struct ring closers;    /* struct hub_wait: answers to session.destroy */
	struct ring calls;      /* struct hub_wait: requests to its servers */
	struct ring refreshes;  /* struct hub_wait: of session.refresh and hub.reload */
	/* after the desk has closed: */
	struct loop_timer end;
	struct killick_report *report; /* NULL: never opened */
	char *kept;                    /* JSON */
};

struct hub_session_spec {
	char *tag;                /* moved */
	struct hub_source source; /* moved */
	struct caller *caller;
	long pid;
	int in, out; /* -1: none */
	unsigned answers, wait;
	bool notified;
	int64_t lease_ms;
	struct config *config; /* of the source; moved */
};

/* An answer that is due. */
struct hub_wait {
	struct ring in_session;
	struct hub_session *session;
	struct answer *answer; /* NULL: no caller waits */
	void *more;            /* of the request; the handler of its outcome frees it */
	bool held;             /* its session is held, because its caller is full */
	/* of a refresh: */
	struct hub_load *load; /* its config is being read; NULL: read */
	desk_refreshed_fn refreshed;
};

/* 0, or e is set: nothing was made, and the descriptors are closed. */
int hub_session_open(struct hub *h, struct hub_session_spec *spec, struct hub_session **out,
		     struct err *e);
void hub_session_close(struct hub_session *s, const char *why, bool asked);
/* The session was named in a request: its lease begins again. */
void hub_session_touch(struct hub_session *s);
/* The number in an id such as "s1" or "v2"; 0: not an id with this letter. */
unsigned hub_id_read(struct json v, char letter);
/* The session with the id in v ("s1"); NULL: none. */
struct hub_session *hub_session_find(struct hub *h, struct json v);
/* The session of the hub that has this session of the library; NULL: none. */
struct hub_session *hub_session_of(struct hub *h, const struct killick_session *s);
/* Write members: ended, survivors, proved, ms. */
void hub_report_emit(struct emit *j, const struct killick_report *r);
/* Write members: session, tag. */
void hub_session_emit_names(struct emit *j, const struct hub_session *s);
/* Write the member servers: their names and states. */
void hub_session_emit_servers(struct emit *j, const struct hub_session *s);
/* Answer this request, which belongs to the session from now on, when the session is open. */
void hub_session_await(struct hub_session *s, struct answer *a);
/* Replace the servers of the session by those of the source; w is in s->refreshes. done gets w and
 * the outcome, as from desk_refresh. */
void hub_session_refresh(struct hub_session *s, struct hub_wait *w, const struct hub_source *source,
			 desk_refreshed_fn done);

struct hub_wait *hub_wait_new(struct hub_session *s, struct ring *list, const struct reply *r,
			      void (*on_gone)(void *ctx));
void hub_wait_free(struct hub_wait *w);
/* The caller that waits is full, or no longer full (desk_hold). */
void hub_wait_hold(struct hub_wait *w, bool full);

/* --- a connection --- */

enum news_kind {
	NEWS_OPENED = 1,
	NEWS_CLOSED = 2,
	NEWS_STATE = 4,
	NEWS_STDERR = 8,
	NEWS_CALL = 16,
	NEWS_ALL = 31,
};

struct caller {
	struct hub *hub;
	struct ring in_hub;
	struct channel *channel;
	struct rpc rpc;
	struct ring sessions; /* that end with this connection */
	struct hub_session *attached;
	bool attaching;          /* the config of a session to attach is being read */
	bool full;               /* CHANNEL_FULL bytes wait for the peer */
	unsigned fill;           /* how often its queue was nearly empty when an answer came */
	struct loop_timer stall; /* the peer is looked at, while its queue is full */
	int64_t cut_us;          /* when a session was closed because the peer does not read */
	long pid;                /* of the peer; 0: not known */
	struct hub_tree tree;
	bool has_tree;    /* `tree` is known; see caller_tree */
	unsigned events;  /* enum news_kind */
	unsigned dropped; /* events that were dropped since the peer stopped reading */
	bool last;        /* the hub ends with this connection */
	bool let_in;
	bool ended; /* nothing is sent any more */
};

struct caller *caller_new(struct hub *h, struct channel *c, bool last);
/* The session that `killick connect` attached is over: tell it, and close the connection. */
void caller_tell_over(struct caller *c, const struct hub_session *s);
/* Every session is closed: answer the requests for hub.shutdown. */
void caller_hub_closed(struct hub *h);
/* on_gone of a request to a server: the caller does not want the answer any more. */
void caller_on_requester_gone(void *ctx);
/* The caller gets an answer of this session. */
void caller_count(struct caller *c, struct hub_session *s, size_t bytes);
/* The caller is full: hold the session of this request, if its answers are a part of the reason. */
void caller_look_full(struct caller *c, struct hub_wait *w);
/* Send the unsent bytes, then close. */
void caller_close(struct caller *c, bool now);

/* Handlers of the methods; ctx is the struct caller. */
#define CALLER_METHOD(name) void name(void *ctx, const struct reply *r, struct json params)
CALLER_METHOD(caller_on_ping);
CALLER_METHOD(caller_on_status);
CALLER_METHOD(caller_on_shutdown);
CALLER_METHOD(caller_on_reload);
CALLER_METHOD(caller_on_create);
CALLER_METHOD(caller_on_attach);
CALLER_METHOD(caller_on_renew);
CALLER_METHOD(caller_on_answer);
CALLER_METHOD(caller_on_refresh);
CALLER_METHOD(caller_on_destroy);
CALLER_METHOD(caller_on_sessions);
CALLER_METHOD(caller_on_tools);
CALLER_METHOD(caller_on_call);
CALLER_METHOD(caller_on_request);
CALLER_METHOD(caller_on_servers);
CALLER_METHOD(caller_on_restart);
CALLER_METHOD(caller_on_stop);
CALLER_METHOD(caller_on_rest);
CALLER_METHOD(caller_on_subscribe);

/* The tree that the peer runs in. A server could otherwise use the hub to outlive its owner. So for
 * such a caller: its sessions share no server with other sessions if a server of this hub may have
 * started the caller, because that server would keep itself; and the caller can name no session of
 * processes outside of its tree, whose servers it could replace by programs of its own. */
const struct hub_tree *caller_tree(struct caller *c);
/* Answer a request whose error is in e. */
void caller_refuse(const struct reply *r, const struct err *e);
/* Answer a request of a peer that has more than CALLER_UNREAD_MAX unread bytes. */
#define CALLER_UNREAD_MAX (64u << 20)
void caller_refuse_unread(const struct reply *r);

/* --- events --- */

void news_session(struct hub_session *s, enum news_kind kind);
/* For struct runtime_watcher; ctx is the hub. */
void news_state(void *ctx, struct server *sv);
void news_stderr(void *ctx, struct server *sv, const char *bytes, size_t len);
void news_call(void *ctx, struct server *sv, const struct tally_call *call);
/* The peer reads again. */
void news_room(struct caller *c);

/* --- params --- */

struct caller_param {
	const char *name;
	enum json_type type; /* JSON_ABSENT: any */
	bool required;
	struct json value; /* out; JSON_NONE: absent or null */
};
int caller_params(struct json params, struct caller_param *list, size_t count, struct err *e);
/* A time or number from least to most; *out is untouched if absent. */
int caller_number(const struct caller_param *p, int64_t least, int64_t most, int64_t *out,
		  struct err *e);
/* An array of strings, or NULL if absent. */
int caller_strings(const struct caller_param *p, char ***out, struct err *e);
/* An object of strings as "NAME=value"; NULL if absent. */
int caller_variables(const struct caller_param *p, char ***out, struct err *e);

/* --- servers --- */

/* Write the members of one call: session, tool, ms, ok. */
void caller_emit_call(struct hub *h, struct emit *j, const struct tally_call *call);
/* The state in words: that of the library, "failed" or "resting". */
const char *caller_server_state(const struct server *sv);
struct hub_totals {
	unsigned servers, running, resting, processes;
	unsigned long long memory, saved;
};
void caller_totals(struct hub *h, struct hub_totals *out);
