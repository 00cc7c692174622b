/* share.h - may several sessions share one process of a server? The rule of the hub in pure
 * functions, and the sentences that explain its answers.
 *
 * The rule; the first line that applies decides:
 *  1. the config: "never" and "identical".
 *  2. the server: capabilities.experimental["x-mux"].sharing or capabilities["x-mux"].sharing is
 *     "shared" (yes), "isolated" or "session-aware" (no).
 *  3. a server that is known to keep state (a list of packages): no.
 *  4. modern era: yes, unless the name of a tool has a word for state.
 *  5. legacy era: no. With "auto": yes if the session declares no feature, every tool is marked
 *     as read-only or the server is known to keep no state, no name of a tool has a word for state,
 *     and the server has never sent a request of its own.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"
#include "config/config.h"
#include "mcp/client.h"
#include "os/metadata.h"

enum share_answer {
	SHARE_UNKNOWN, /* more must be known: the handshake, or the list of tools */
	SHARE_YES,
	SHARE_NO,
};
enum share_state { /* does the server keep state between requests? */
		   SHARE_STATE_UNKNOWN,
		   SHARE_STATE_NONE, /* no sign of state was found */
		   SHARE_STATE_KEPT,
};

struct share_facts {
	enum config_share word;
	char *const *argv;
	const char *capabilities; /* JSON text; NULL: the handshake is not over */
	enum client_era era;      /* ERA_LEGACY or ERA_MODERN, if capabilities are known */
	struct json tools;        /* the result of tools/list; JSON_NONE: not known */
	unsigned features;        /* enum killick_answers: declared to a shared server */
	bool asked;               /* the server has sent a request of its own */
};

struct share_verdict {
	enum share_answer answer;
	enum share_state state; /* from lines 2 to 4 of the rule, whatever the answer is */
	char why[200];          /* a sentence without a full stop that explains the answer */
};

struct share_verdict share_judge(const struct share_facts *f);
/* The word for state in the name of a tool: a static text; NULL: none. */
const char *share_stateful_word(const char *name);

/* The features that are declared to a server that sessions share: all except roots, because a
 * server may take the roots of one session for the limits of all. */
unsigned share_features(unsigned features);

/* What must be equal for two sessions to share a process. The pointers are borrowed. */
struct share_key {
	const struct recipe *recipe;
	const char *place; /* fingerprint of the environment's definition; NULL: this machine */
	enum config_era era;
	unsigned features;       /* enum killick_answers: declared to the server */
	struct metadata program; /* device and inode of argv[0]; zero: not known */
	enum config_stateful stateful;
	bool logs_all;
};
/* Name the first difference: "environment variable TOKEN differs". Values of variables are not
 * shown. False: there is no difference, and out is "". */
bool share_difference(const struct share_key *a, const struct share_key *b, char *out, size_t size);
