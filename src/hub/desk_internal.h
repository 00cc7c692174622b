/* desk_internal.h - the inside of the desk, for the files desk*.c.
 *
 *	desk.c           the desk: its life, its session, its entry in the list of sessions
 *	desk_backend.c   the servers of the session
 *	desk_offer.c     what the servers together offer to the client
 *	desk_requests.c  a request (struct errand): from the client to the server, and the answer
 *	desk_route.c     which server a request is for
 *	desk_lists.c     lists and other questions to several servers at once (struct gather)
 *	desk_tasks.c     ids of tasks when several servers have tasks
 *	desk_asks.c      requests of servers to the client
 *	desk_notes.c     notifications in both directions, log levels
 *	desk_control.c   requests of the control API
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/ring.h"
#include "base/spare.h"
#include "hub/desk.h"
#include "mcp/face.h"
#include "session/forward.h"
#include "session/names.h"
#include "session/session.h"
#include "session/sink.h"

enum desk_state {
	DESK_WAITING, /* for the client's first message */
	DESK_OPENING,
	DESK_OPEN,
	DESK_CLOSING,
	DESK_CLOSED,
};

/* What a server offers, from its capabilities. */
enum backend_offer {
	OFFER_TOOLS = 1,
	OFFER_PROMPTS = 2,
	OFFER_RESOURCES = 4,
	OFFER_SUBSCRIBE = 8,
	OFFER_LOGGING = 16,
	OFFER_COMPLETE = 32,
	OFFER_TASKS = 64,
};

struct backend_list { /* a list of a server as it wrote it, to find the server of a uri */
	char *text;   /* NULL: not known */
	size_t len;
};

/* What the desk knows about one server of its session; lease->sink_data. Leases end without notice,
 * so a backend does not refer to its lease: backend_lease searches the session. */
struct backend {
	struct ring in_desk;
	unsigned number;     /* in ids of tasks; unique in the desk */
	bool known;          /* `can` is known */
	unsigned can;        /* enum backend_offer */
	bool failed;         /* the client does not see the server, because it failed */
	bool tools, prompts; /* the names of its tools and prompts are known */
	struct backend_list resources, templates;
};

struct desk {
	struct killick *k;
	const struct desk_events *ev;
	void *ctx;
	enum desk_state state;
	struct config config; /* until the session begins */
	char *tag;            /* NULL: none */
	enum killick_wait_for wait;
	unsigned answers, grace_ms;
	int owners[2];                   /* see desk_spec */
	struct face *face;               /* NULL: none */
	bool face_over;                  /* on_closed of the face was called */
	char *client;                    /* clientInfo as JSON; NULL: none */
	struct killick_session *session; /* NULL: not begun, or closed */
	bool held;                       /* the session must be released */
	bool settled;                    /* the outcome of the open is known */
	bool refreshed;                  /* the servers were replaced */
	bool told;                       /* on_open was called */
	char *why;                       /* why the desk closes; NULL: it does not close */
	struct killick_report *report;
	char *kept;
	struct killick_error error; /* why the session could not be opened */

	/* back pressure */
	unsigned holds;          /* readers that are full: the face, and callers of desk_hold */
	bool full;               /* the face is one of them */
	bool stalled;            /* a full reader has read nothing for DESK_STALLED_MS */
	bool cut;                /* the face was closed because the client did not read */
	unsigned stall_ms;       /* without a byte, after which a reader is cut */
	long file_owner;         /* as in session_spec */
	struct loop_timer stall; /* the client is looked at, while its face is full */

	struct loop_timer turn; /* work that must not be done inside an event is due */
	bool look;              /* the state of a server changed */
	struct loop_timer news; /* lists have changed; tell the client */
	unsigned changed;       /* bits of enum killick_event_kind */

	struct ring backends; /* struct backend */
	struct ring errands;  /* struct errand */
	struct ring waiting;  /* struct errand: they begin in the next turn */
	struct ring asks;     /* struct desk_ask */
	uint64_t last_ask;    /* without a face: the number of the last question */
	struct ring watches;  /* struct watch: subscriptions, at most FACE_WATCHES_MAX */
	unsigned watch_count;
	struct names prompts; /* those of the tools are in the session */
	unsigned can;         /* enum backend_offer: offered to the client */
	int level;            /* of log messages, chosen by a legacy client; -1: none */
	struct spare spare;   /* blocks of struct errand */
	struct buf scratch;

	unsigned last_backend, in_flight;
	unsigned long long calls, errors;
	int64_t last_us; /* when the last request came */
};

/* --- desk.c --- */

/* Run the work that is due soon, from the loop. */
void desk_poke(struct desk *d);
void desk_on_state(void *ctx, struct lease *l); /* of the sink */

/* --- desk_backend.c --- */

/* A server that the client may use: enabled by the config, and its config has no error. */
bool desk_uses(const struct lease *l);
/* Walk the servers of the session that the client may use, in the order of the config: start with
 * *at = 0; NULL: no more. */
struct lease *desk_each(const struct desk *d, size_t *at);
/* Has the session one server, so that names are plain? The server, or NULL. */
struct lease *desk_only(const struct desk *d);
struct backend *backend_of(struct desk *d, struct lease *l);
/* The lease in the session's table that has this backend; NULL: none any more. */
struct lease *backend_lease(const struct desk *d, const struct backend *b);
void backend_forget_lists(struct backend *b);
void backend_list_set(struct backend_list *list, struct json text);
/* Forget the servers whose leases are over. */
void backends_sweep(struct desk *d);
void backends_free(struct desk *d);

/* --- desk_offer.c --- */

/* Read what the server offers, if that can be known now. */
void offer_look(struct desk *d, struct lease *l);
/* Tell the face what the servers together offer. */
void offer_make(struct desk *d);
/* Is there no server to offer, because each of them failed? e gets the first reason. */
bool offer_is_void(struct desk *d, struct killick_error *e);
/* Send a log message about each server that failed. */
void offer_log_failures(struct desk *d);

/* --- desk_requests.c --- */

struct gather;

/* A request under way, from the client, from the control API or from the desk itself. */
struct errand {
	struct forward f;
	struct desk *desk;
	struct ring in_desk;
	enum face_method kind;
	/* the receiver of the answer: a client, a program, or (both NULL) none */
	struct face_request *rq;
	desk_answered_fn done;
	void *ctx;
	/* of a request that is not the client's: its text, and the server that it names */
	struct buf text;
	struct message own;
	struct json name, token; /* token: of progress, which a program wants; else JSON_NONE */
	char *server;
	const char *refused; /* why the method or its params cannot be sent; NULL: they can */
	int64_t timeout_ms;
	bool learned;            /* the lists that routing needs were fetched */
	bool silent;             /* not counted: a request of the desk itself */
	unsigned tried;          /* servers that were asked for a resource */
	bool more;               /* another server can be asked, if this one refuses */
	struct backend *backend; /* of the lease, if the server has tasks; else NULL */
	struct gather *gather;   /* servers that are asked before this errand can go on */
};

struct errand *errand_new(struct desk *d, enum face_method kind);
/* A subscription that the desk begins or ends without a request of the client. */
struct errand *errand_new_watch(struct desk *d, const char *uri, bool on);
/* Find the server and pass the request on. */
void errand_begin(struct errand *e);
const struct message *errand_message(const struct errand *e);
/* The name in the request: tool, prompt, uri, task; quoted. */
struct json errand_name(const struct errand *e);
/* Pass the request on to this server. name: quoted JSON in place of the name in the request; NULL:
 * as written. */
void errand_send(struct errand *e, struct lease *l, const char *name);
/* The same for another text of the request. */
void errand_send_message(struct errand *e, struct lease *l, const struct message *m,
			 const char *name);
/* The same with another text in place of the string `name`, which is a piece of the request. */
void errand_send_renamed(struct errand *e, struct lease *l, struct json name, const char *real);
void errand_send_op(struct errand *e, struct lease *l, enum killick_op op, const char *name);
/* Answer and free. The code of a failure is one of JSON-RPC, or an enum killick_code. */
void errand_answer(struct errand *e, const struct message *line, enum client_era from);
void errand_answer_result(struct errand *e, struct json result);
void errand_fail(struct errand *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with the outcome of a forward. */
void errand_finish(struct errand *e, const struct forward_done *done);
/* The answer is not wanted any more: cancel the requests under way and free. */
void errand_drop(struct errand *e);
/* For face_events. */
void desk_on_request(void *ctx, struct face_request *rq);
void desk_on_cancelled(void *ctx, struct face_request *rq);
/* End all errands; why: the reason in their answers. */
void errands_end(struct desk *d, const char *why);

/* --- desk_route.c --- */

/* tools/call, prompts/get, completion/complete, resources/..., tasks/...: find the server, and pass
 * the request on, now or when the needed lists are there. */
void route_errand(struct errand *e);
/* The server that the request names (e->server); NULL: the session has no such server, and the
 * request was answered with this error. */
struct lease *route_given(struct errand *e);

struct watch { /* a subscription of the client */
	struct ring in_desk;
	struct backend *backend;
	char uri[];
};
/* The server has refused the subscription. */
void watch_forget(struct desk *d, const char *uri);
/* Subscribe again, at the new servers, where a refresh has replaced the server. */
void watches_renew(struct desk *d);
/* Forget the subscriptions to this server; NULL: to all servers. */
void watches_drop(struct desk *d, const struct backend *b);

/* --- desk_lists.c --- */

struct piece { /* of a gather: one server */
	struct forward f;
	struct gather *gather;
	struct backend *backend;
	char *server; /* name */
	int code;     /* enum killick_code */
	char *text;   /* the result, or the reason why the server has sent no result */
	size_t len;
	struct buf page; /* tasks/list: the items of all pages */
	unsigned pages;
};

/* The same question to several servers. */
struct gather {
	struct errand *errand;
	enum killick_op op;
	/* Every server has answered. The gather is freed when this returns. */
	void (*on_all)(struct errand *e, struct gather *g);
	bool straight; /* the answer of the only server is the answer */
	bool begun;
	size_t count, left;
	struct piece pieces[];
};

/* Ask each server that offers `can`. name: as in forward_begin_op. m: the request for
 * KILLICK_RAW. */
struct gather_spec {
	enum killick_op op;
	unsigned can; /* enum backend_offer */
	bool straight;
	bool running; /* only servers that run */
	const char *name;
	const struct message *m;
	void (*on_all)(struct errand *e, struct gather *g);
};
void gather_begin(struct errand *e, const struct gather_spec *spec);
void gather_free(struct gather *g); /* cancels the requests under way */
/* tools/list and so on. */
void lists_errand(struct errand *e);
/* Are all lists known that are needed to find the server of a name or uri? */
bool lists_are_known(struct desk *d, enum killick_op op);

/* --- desk_tasks.c --- */

/* Have several servers tasks, so that their ids must differ? */
bool tasks_are_wrapped(struct desk *d);
/* tasks/get, ...: find the server by the task's id and pass the request on. */
void tasks_errand(struct errand *e);
void tasks_list_errand(struct errand *e);
/* Answer with the answer of a server, whose ids of tasks are wrapped. */
void tasks_answer(struct errand *e, const struct backend *b, const struct forward_done *done);
/* Append the tasks of a page of tasks/list, with wrapped ids. 0 or -EMSGSIZE. */
int tasks_add_page(const struct backend *b, struct json result, struct buf *out);
/* Write v to out with wrapped ids; false: v has no id, and nothing was written. */
bool tasks_wrap(const struct backend *b, struct json v, struct buf *out);
/* The id of the task that these params or this result name in _meta; JSON_NONE: none. */
struct json tasks_related(struct json params);

/* --- desk_asks.c --- */

bool desk_on_ask(void *ctx, struct lease *l, uint64_t ask, const char *method, struct json params);
void desk_on_ask_over(void *ctx, struct lease *l, uint64_t ask);
/* The session is open: send the questions of servers that came before. */
void asks_show(struct desk *d);
/* Withdraw the questions of this server; NULL: of all servers. */
void asks_drop(struct desk *d, const struct backend *b);
/* A request of a program is over. If it was cancelled, its questions are withdrawn; else the program
 * may still answer. */
void asks_leave(const struct errand *e, bool cancelled);

/* --- desk_notes.c --- */

void desk_on_note(void *ctx, struct lease *l, enum killick_event_kind kind, struct json params);
void desk_on_other(void *ctx, struct lease *l, const char *method, struct json params);
void desk_on_warning(void *ctx, struct lease *l, const char *text);
/* Of the client. */
void desk_on_notification(void *ctx, const struct message *m);
bool desk_on_watch(void *ctx, const char *uri, bool on);
/* The lists have changed: tell the client within NOTES_MS. */
void notes_all_changed(struct desk *d);
/* A log message of killick itself. */
enum notes_level { NOTES_WARNING = 3, NOTES_ERROR }; /* places among the eight levels of MCP */
void notes_log(struct desk *d, enum notes_level level, const char *text);
/* logging/setLevel of a legacy client. */
void notes_level_errand(struct errand *e);
/* A request wants log messages from this level on: send the level to the server, unless the server
 * has this level or a more verbose one. */
void notes_want_level(struct desk *d, struct lease *l, int level);
/* The server was not known before: send the level of the client. */
void notes_meet(struct desk *d, struct lease *l);

/* --- desk_control.c --- */

/* Begin the requests of the control API that came since the last turn. */
void desk_begin_waiting(struct desk *d);
