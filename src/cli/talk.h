/* talk.h - the session of a client verb with its servers.
 *
 * Shared by the client verbs: common options, finding and opening the config, requests that Ctrl-C
 * cancels, error messages, and the end with its proof.
 *
 * Life: TALK_INIT -> talk_options -> talk_open -> requests ... -> talk_close, which returns the
 * exit status. The first SIGINT, SIGTERM or SIGHUP cancels the requests in flight (and notifies the
 * servers) and closes the session. A second signal ends the program at once; the keepers then end
 * the servers.
 *
 * Threads: one; the callbacks of the library run in it.  Blocking: until done, timed out or a
 * signal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <killick/killick.h>

#include "base/json.h"
#include "bar.h"
#include "cli.h"

enum { EXIT_REFUSED = 1 };

/* The options that every client verb has, and their part of the help. */
#define TALK_USAGE "[OPTION]... [-- CMD [ARG]...]"
#define TALK_HELP(json_)                                                                           \
	"  --config FILE   config of any MCP client; else $KILLICK_CONFIG, .mcp.json,\n"           \
	"                  mcp.json or .vscode/mcp.json here, or that of a client\n"               \
	"  --server NAME   start and use only this server\n"                                       \
	"  --timeout TIME  give up a start or a request after this time: 500ms, 30s, 5m\n"         \
	"  --json          " json_ "\n"                                                            \
	"  -v, --verbose   print the config, stderr of servers, and how they ended\n"              \
	"  -- CMD ARG...   use this one server, without any config\n"                              \
	"  --env NAME[=VALUE], --clean-env   with CMD: set a variable; pass only a few\n"
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
	char **env; /* NAME=VALUE of each --env, NULL at the end; NULL: none */
	bool json, verbose, clean_env;
	char *chosen;    /* owned: the server that a tool's name selects; `server` points to it */
	long timeout_ms; /* 0: not given */
	/* the session */
	struct killick *k;
	struct killick_session *s;
	struct killick_status *status; /* as of talk_open, or talk_look */
	bool changed;                  /* a server has changed its state since this was cleared */
	bool opened;                   /* the open call has finished; on failure `error` is set */
	struct killick_error error;
	const char *source; /* the config file in use; NULL: a command */
	char *config_path;  /* owned: `source`, if it was found */
	char *config_text;  /* owned: a translated config, or that of a project; NULL: use the file */
	int signals;        /* interrupt.h; -1: none */
	int caught;         /* the signal that ends the verb; 0: none */
	int exit_status;    /* the first exit status that was not 0 */
	bool warnings;      /* print the library's warnings */
	bool any_state;     /* the verb also handles servers that failed */
	bool names_only;    /* the verb starts no server: the config needs no trust (trust.h) */
	/* Called by talk_open once for each server that is ready; NULL: none. Must not wait. */
	void (*on_ready)(struct talk *t, const struct killick_server_status *sv);
	void *ready_ctx;
	struct bar bar;
};
#define TALK_INIT(argv)                                                                            \
	{                                                                                          \
		.verb = (argv)[0], .signals = -1                                                   \
	}

enum { TALK_ANY_WORDS = 1 << 30 };
/* Read the command line: the common options and the options in `more` (ended by a NULL name). At
 * most max_words words. False: exit with *out_status. */
bool talk_options(struct talk *t, int argc, char **argv, const char *help,
		  const struct option *more, int max_words, int *out_status);

/* Start the servers and wait until each is ready or has failed, or until the timeout. False: no
 * server is ready; an error was printed; call talk_close. With any_state the result is true in this
 * case, too. */
bool talk_open(struct talk *t);
/* talk_wait.c: wait for the servers of an open session. A line on the terminal names the servers
 * that are not ready yet. At `until_us` (0: no limit) these servers are reported. False:
 * interrupted. */
bool talk_wait(struct talk *t, long long until_us);
/* Returns the environment of a command; the caller gives it to strings_free. */
char **talk_environment(const struct talk *t);
/* Print which servers failed, for a verb that is about all servers. */
void talk_missing_all(struct talk *t);

/* Read t->status again. */
void talk_look(struct talk *t);
/* Can the server be used? */
bool talk_is_ready(const struct killick_server_status *sv);
/* Is the server disabled or remote, so that it is never started? */
bool talk_is_off(const struct killick_server_status *sv);
/* Does the server have this capability: "tools", "resources", "prompts"? */
bool talk_offers(const struct killick_server_status *sv, const char *capability);
/* Returns the only server, in any state; NULL when there are several. */
const struct killick_server_status *talk_only(const struct talk *t);

struct talk_ask {
	struct killick_request rq;
	struct killick_result *result; /* out: the caller frees it */
};
/* Send count requests at once, with the time limit of the command line, and wait for all. True:
 * every result is set, and the caller reports the failed results. False: interrupted or not
 * possible; an error was printed, and there is nothing to free. */
bool talk_all(struct talk *t, struct talk_ask *asks, size_t count);
/* Send one request. NULL: the request failed; the error was printed and the exit status set. */
struct killick_result *talk_do(struct talk *t, const struct killick_request *rq);

/* Print a line on stderr, with the name of the verb. */
void talk_say(struct talk *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Print why a request failed, with the last lines of its server's stderr; sets the exit status. */
void talk_refused(struct talk *t, const struct killick_result *r);
/* Print the same for a server that is not ready. */
void talk_missing(struct talk *t, const struct killick_server_status *sv);
/* Set the exit status, unless it is set already. */
void talk_fail(struct talk *t, int status);
/* Returns the exit status for a code of the library. */
int talk_exit_of(int code);

/* Returns the JSON of a successful result. */
struct json talk_json(const struct killick_result *r);

/* Run callbacks until *done. False: timed out (until_us of clock_us; 0: no limit), or a signal
 * arrived and is in t->caught. */
bool talk_pump(struct talk *t, const bool *done, long long until_us);

/* From now on a signal ends the program at once. */
void talk_release(struct talk *t);

/* Close the session, prove that its servers are gone, and free everything. Returns the exit status.
 * May be called in any state, also if talk_open was not called. */
int talk_close(struct talk *t);
