/* talk.h - a session between a command line and the servers it means.
 *
 * What the client verbs share: their options, which config is meant, opening it, requests that
 * Ctrl-C cancels, what is said when something fails, and the end with its proof.
 *
 * Life: TALK_INIT -> talk_options -> talk_open -> requests ... -> talk_close, which gives the exit
 * status. The first SIGINT, SIGTERM or SIGHUP cancels what is under way (servers are told) and ends
 * the session in good order; a second one ends the program at once, and the keepers the servers.
 * Threads: one; the callbacks of the library run in it.  Blocking: until done, time over or signal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <killick/killick.h>

#include "base/json.h"
#include "bar.h"
#include "cli.h"

enum { EXIT_REFUSED = 1, EXIT_CONFIG = 65 };

/* The options every client verb has, and their part of its help. */
#define TALK_USAGE "[OPTION]... [-- CMD [ARG]...]"
#define TALK_HELP(json_)                                                                           \
	"  --config FILE   file that names the servers; else $KILLICK_CONFIG, .mcp.json,\n"        \
	"                  mcp.json or .vscode/mcp.json in this directory\n"                       \
	"  --server NAME   start and use only this server\n"                                       \
	"  --timeout TIME  give up after this time: 500ms, 30s, 5m\n"                              \
	"  --json          " json_ "\n"                                                            \
	"  -v, --verbose   print the config, stderr of servers, and how they ended\n"              \
	"  -- CMD ARG...   use this one server, without any config\n"
#define TALK_EXITS                                                                                 \
	"\n"                                                                                       \
	"Exit status: 0 success; 1 the server or tool reported an error; 64 usage;\n"              \
	"65 config refused; 69 a server is not available; 75 timed out, or a process\n"            \
	"survived; 130 interrupted.\n"

struct talk {
	const char *verb;
	struct cli_words words;
	/* as given */
	const char *config, *server, *timeout;
	bool json, verbose;
	long timeout_ms; /* 0: not given */
	/* the session */
	struct killick *k;
	struct killick_session *s;
	struct killick_status *status; /* as of talk_open, or talk_look */
	bool opened;                   /* the library has said how opening went: */
	struct killick_error error;
	const char *source; /* the config that is used; NULL: a command */
	int signals;        /* signalfd; -1: none */
	int caught;         /* the signal that ends us; 0: none */
	int exit_status;    /* the first that was not 0 */
	bool warnings;      /* show what the library warns of */
	bool any_state;     /* servers that failed are what the verb is about */
	struct bar bar;
};
#define TALK_INIT(argv)                                                                            \
	{                                                                                          \
		.verb = (argv)[0], .signals = -1                                                   \
	}

enum { TALK_ANY_WORDS = 1 << 30 };
/* Read the command line: the common options and those in `more` (ended by a NULL name). At most
 * max_words words. False: stop with *out_status. */
bool talk_options(struct talk *t, int argc, char **argv, const char *help,
		  const struct cli_option *more, int max_words, int *out_status);

/* Start the servers and wait until each is ready or has failed. False: none is ready; it was said
 * why; go to talk_close. With any_state it is true then, too. */
bool talk_open(struct talk *t);
/* Say which servers failed while others run, for a verb that is about all of them. */
void talk_missing_all(struct talk *t);

/* Read t->status anew. */
void talk_look(struct talk *t);
/* Is it there to be used? */
bool talk_is_ready(const struct killick_server_status *sv);
/* Does it say that it has this: "tools", "resources", "prompts"? */
bool talk_offers(const struct killick_server_status *sv, const char *capability);
/* The only server there is, whatever its state; NULL when there are several. */
const struct killick_server_status *talk_only(const struct talk *t);

struct talk_ask {
	struct killick_request rq;
	struct killick_result *result; /* out: the caller's to free */
};
/* Make count requests at once and wait for all. Failed ones are the caller's to report: every
 * result is set then. False: interrupted or impossible; it was said, and nothing is to be freed.
 * The time limit of the command line is put in. */
bool talk_all(struct talk *t, struct talk_ask *asks, size_t count);
/* One, and NULL unless it went well: a failure is reported and sets the exit status. */
struct killick_result *talk_do(struct talk *t, const struct killick_request *rq);

/* Say something on stderr, under the name of the verb. */
void talk_say(struct talk *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Say why a request failed, with the last words of its server; sets the exit status. */
void talk_refused(struct talk *t, const struct killick_result *r);
/* The same for a server that is not ready. */
void talk_missing(struct talk *t, const struct killick_server_status *sv);
/* Remember an exit status; the first one counts. */
void talk_fail(struct talk *t, int status);
/* The exit status for a code of the library. */
int talk_exit_of(int code);

/* The JSON of a good result. */
struct json talk_json(const struct killick_result *r);

/* Run callbacks until *done. False: the time is over (until_us, of clock_us; 0: none) or a signal
 * came, which is t->caught then. */
bool talk_pump(struct talk *t, const bool *done, long long until_us);

/* From now on a signal ends the program at once. */
void talk_release(struct talk *t);

/* End the session, prove it gone, let go of everything. The exit status. May be called in any
 * state, also when nothing was opened. */
int talk_close(struct talk *t);
