/* top_model.h - what `killick top` shows: servers and sessions of the hub, and the trees of
 * `killick run` beside them.
 *
 * A pure function of the answers of the control API and of the trees of `killick ps`.
 * Life: top_model_build -> look -> top_model_done. The model borrows the texts of the answers and
 * the trees. Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "ps.h"

enum top_sort { TOP_BY_MEMORY, TOP_BY_CALLS, TOP_BY_NAME, TOP_BY_STATE, TOP_SORTS };

struct top_answers { /* results of the control API; JSON_NONE: there is no hub */
	struct json status, servers, sessions;
};

enum top_health {
	TOP_FAILED,  /* needs a look */
	TOP_MOVING,  /* starts or ends */
	TOP_WORKS,   /* ready */
	TOP_RESTING, /* ended to save memory, and started by the next call */
};

struct top_server { /* a number that is not known is -1 */
	char id[40];
	char mark[12];              /* a short id, for servers of the same name */
	const struct ps_tree *tree; /* a tree without the hub; NULL: a server of the hub */
	struct json raw;            /* the server in the answer; JSON_NONE: a tree */
	char name[100], state[24], level[24];
	char reason[300]; /* without the place in the config and the name of the server */
	char place[300];  /* FILE:LINE of an error in the config; "": not known */
	char users[1024]; /* ids of the sessions, with spaces between them */
	bool twin;        /* another server has the same name */
	/* An error in its config: there is nothing to stop or to start. One row stands for all
	 * sessions with this error. */
	bool refused;
	enum top_health health;
	long long leases; /* uses by sessions: a session may use equal servers under two names */
	long long sessions, in_flight, queued, calls, errors, restarts, processes, memory, age_ms;
	double p50_ms, p99_ms;
};

struct top_session {
	char id[40], tag[64], client[100], era[24];
	long long age_ms, idle_ms, servers, in_flight, calls;
};

struct top_totals {
	bool has_hub;
	long long hub_pid, hub_age_ms;
	long long servers, resting, processes, memory, saved;
	/* The proof that nothing is lost: trees with a record, trees whose keepers are gone or
	 * late, and the processes of the latter. */
	long long trees, lost_trees, leaks;
};

struct top_model {
	struct top_server *servers;
	size_t server_count;
	struct top_session *sessions; /* the oldest first */
	size_t session_count;
	bool has_tags; /* of sessions */
	struct top_totals totals;
};
#define TOP_MODEL_INIT                                                                             \
	{                                                                                          \
		.servers = NULL                                                                    \
	}

void top_model_build(const struct top_answers *a, const struct ps_trees *trees, enum top_sort sort,
		     struct top_model *out);
void top_model_done(struct top_model *m);

/* Copy a string member, cleaned for a terminal; "" if there is none. */
void top_model_text(struct json v, const char *key, char *out, size_t size);
/* Write the strings of an array, cleaned, each once, with spaces between them. Returns
 * how many different ones there are. */
long long top_model_words(struct json v, char *out, size_t size);
/* The part of a reason behind "FILE:LINE: server 'NAME': " or "server 'NAME' ". out_place gets
 * FILE:LINE, or "". */
const char *top_model_cause(const char *reason, const char *name, char *out_place, size_t size);
/* Is the word among those of the text, which have spaces between them? */
bool top_model_has_word(const char *text, const char *word);
/* A number member, or -1. */
long long top_model_number(struct json v, const char *key);
double top_model_time(struct json v, const char *key);
