/* environment_internal.h - an environment as its links and its tests see it. */
#pragma once

#include "base/ring.h"
#include "remote/environment.h"
#include "rpc/rpc.h"
#include "wire/wire.h"
#include "net/channel.h"
#include "net/url.h"

enum environment_state {
	ENVIRONMENT_IDLE,       /* no connection */
	ENVIRONMENT_CONNECTING, /* the channel is not open yet */
	ENVIRONMENT_GREETING,   /* initialize is not answered yet */
	ENVIRONMENT_ATTACHED,
	ENVIRONMENT_LOST,    /* until the next attempt to come back */
	ENVIRONMENT_CLOSING, /* on_closed is to come */
};
extern const char *const environment_state_names[];

enum environment_close {
	CLOSE_WANTED, /* nobody needs it */
	CLOSE_LOST,   /* it is of no use; the session may be */
	CLOSE_FATAL,  /* nor is the session */
};

struct environment {
	struct loop *loop;
	char *name;
	char title[160]; /* "environment 'far' (ws://10.0.0.1:9)" */
	char *token, *ca_file, *keeper, *label;
	char **program, **program_env; /* NULL: it has a url */
	struct url url;
	struct err unusable; /* the url is none */

	enum environment_state state;
	enum environment_close closing_as; /* while closing */
	struct channel *channel;           /* NULL: idle, or lost */
	struct err why;                    /* of the last loss or close */
	bool recovering;                   /* connecting, greeting, lost, closing: to come back */
	bool freeing;
	char *session_id; /* NULL: never attached */
	bool killick;     /* the executor is ours */
	int64_t lease_ms;
	int64_t lost_us, sent_us;
	int64_t probe_us; /* an answer to what was sent then is waited for; 0: none */
	unsigned paused;  /* links that do not want to read */

	struct rpc rpc; /* for one connection after the other */
	struct rpc_request greeting, probe;
	struct ring remotes; /* that have something to do there yet */
	struct ring lists;
	size_t users; /* links that were not freed, lists that were not answered */
	uint64_t last_number;
	struct buf decoded;
	struct loop_timer timer;    /* of the state */
	struct loop_timer recovery; /* then we give up */
	struct loop_timer beat;
	struct loop_timer idle;
	void (*on_freed)(void *ctx);
	void *freed_ctx;
};

/* --- of environment_talk.c --- */

void environment_talk_init(struct environment *env);
void environment_greet(struct environment *env); /* then environment_attach, or environment_drop */
void environment_hear(struct environment *env, const char *text, size_t len);
void environment_beat(struct environment *env); /* begin to look whether it is there */
/* The executor has greeted us. */
void environment_attach(struct environment *env);

/* --- for links --- */

bool environment_is_attached(const struct environment *env);
/* Is the connection gone, and perhaps to come back? */
bool environment_is_lost(const struct environment *env);
/* Begin a request: j is open inside its params. False: it cannot be sent now. */
bool environment_begin(struct environment *env, struct emit *j, struct rpc_request *rq,
		       const char *method, const struct rpc_handler *h);
extern const struct rpc_handler environment_ignores; /* whatever the answer is */
/* Send it. When that fails the connection is lost; that is told later, from the loop. */
void environment_commit(struct environment *env, struct emit *j);
/* May what can wait be sent now? If not, remote_pump is called when it may. */
bool environment_has_room(const struct environment *env);
/* The connection is of no use. on_lost or on_ended follow, from the loop. */
void environment_drop(struct environment *env, enum environment_close as, int code, const char *fmt,
		      ...) __attribute__((format(printf, 4, 5)));
/* Somebody has left, or has nothing to do there any more. */
void environment_review(struct environment *env);
void environment_pause(struct environment *env, bool paused);
/* When the executor ends by itself what it holds for us, in seconds from now, at least 1. */
int environment_lease_left(const struct environment *env);

/* --- what is said of an error of the other side --- */

#define ENVIRONMENT_TEXT 200
/* The message of an error, on one line. */
void environment_error_text(const struct message *m, char out[ENVIRONMENT_TEXT]);
int64_t environment_error_code(const struct message *m);
