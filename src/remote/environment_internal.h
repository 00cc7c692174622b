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
	ENVIRONMENT_LOST,    /* until the next attempt to reconnect */
	ENVIRONMENT_CLOSING, /* waits for on_closed */
};
extern const char *const environment_state_names[];

enum environment_close {
	CLOSE_WANTED, /* the connection is not needed */
	CLOSE_LOST,   /* the connection is unusable; the session may be usable */
	CLOSE_FATAL,  /* the session is unusable, too */
};

/* A login shell, ssh or a script may print lines before the executor runs. On a program's stdout the
 * lines before the first message are skipped, up to these limits. */
#define ENVIRONMENT_SKIP_LINES 64
#define ENVIRONMENT_SKIP_BYTES (16u << 10)

struct environment_skipped {
	bool over;      /* the first message has come */
	unsigned lines; /* that no user was told of */
	size_t bytes;
	char last[48]; /* the last of the lines, cut */
};

struct environment {
	struct loop *loop;
	char *name;
	char title[160]; /* "environment 'far' (ws://10.0.0.1:9)" */
	char *token, *ca_file, *keeper, *label;
	char **program, **program_env; /* NULL: it has a url */
	struct url url;
	struct err unusable; /* set if the url is invalid */

	enum environment_state state;
	enum environment_close closing_as; /* while closing */
	struct channel *channel;           /* NULL: idle, or lost */
	struct err why;                    /* of the last loss or close */
	bool recovering;                   /* connecting, greeting, lost, closing: to resume */
	bool freeing;
	char *session_id; /* NULL: never attached */
	bool killick;     /* the executor is killick's */
	int64_t lease_ms;
	int64_t lost_us, sent_us;
	int64_t probe_us; /* when the unanswered heartbeat was sent; 0: none */
	unsigned paused;  /* links that are paused */

	struct environment_skipped skipped;

	struct rpc rpc; /* used by one connection after the other */
	struct rpc_request greeting, probe;
	struct ring remotes; /* that are not done */
	struct ring lists;
	size_t users; /* links that were not freed, lists that were not answered */
	uint64_t last_number;
	struct buf decoded;
	struct loop_timer timer;    /* of the state */
	struct loop_timer recovery; /* the give-up timeout */
	struct loop_timer beat;
	struct loop_timer idle;
	void (*on_freed)(void *ctx);
	void *freed_ctx;
};

/* --- of environment_talk.c --- */

void environment_talk_init(struct environment *env);
void environment_greet(struct environment *env); /* then environment_attach, or environment_drop */
void environment_hear(struct environment *env, const char *text, size_t len);
void environment_beat(struct environment *env); /* start the heartbeat */
/* The executor has greeted us. */
void environment_attach(struct environment *env);

/* --- for links --- */

/* Tell the user of a link, as a line of its stderr, which lines were skipped; once. */
void environment_tell_skipped(struct environment *env, const struct link *l);

bool environment_is_attached(const struct environment *env);
/* Is the connection lost, and may it come back? */
bool environment_is_lost(const struct environment *env);
/* Begin a request: j is open inside its params. False: it cannot be sent now. */
bool environment_begin(struct environment *env, struct emit *j, struct rpc_request *rq,
		       const char *method, const struct rpc_handler *h);
extern const struct rpc_handler environment_ignores; /* for requests whose answer is not needed */
/* Send the request. If that fails, the connection is lost; the loss is reported later, from the
 * loop. */
void environment_commit(struct environment *env, struct emit *j);
/* Is there room for messages that can wait? If not, remote_pump is called when there is. */
bool environment_has_room(const struct environment *env);
/* Close the connection. on_lost or on_ended follow, from the loop. */
void environment_drop(struct environment *env, enum environment_close as, int code, const char *fmt,
		      ...) __attribute__((format(printf, 4, 5)));
/* A user has left, or a remote is done: close the connection if it is not needed any more. */
void environment_review(struct environment *env);
void environment_pause(struct environment *env, bool paused);
/* Seconds until the executor ends our processes by itself, at least 1. */
int environment_lease_left(const struct environment *env);

/* --- texts of an error of the executor --- */

#define ENVIRONMENT_TEXT 200
/* The message of an error, on one line. */
void environment_error_text(const struct message *m, char out[ENVIRONMENT_TEXT]);
int64_t environment_error_code(const struct message *m);
