/* cli.h - what all verbs of the second program share: options, usage errors, and what the terminal
 * can do.
 *
 * A verb is `int verb_x(int argc, char **argv)`; argv[0] is the verb's own name and the result is
 * the exit status.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "keeper/exits.h"

int verb_ps(int argc, char **argv);
int verb_reap(int argc, char **argv);
int verb_doctor(int argc, char **argv);
int verb_demo(int argc, char **argv);
int verb_help(int argc, char **argv);
int verb_tools(int argc, char **argv);
int verb_resources(int argc, char **argv);
int verb_prompts(int argc, char **argv);
int verb_call(int argc, char **argv);
int verb_read(int argc, char **argv);
int verb_ping(int argc, char **argv);
int verb_status(int argc, char **argv);
int verb_inspect(int argc, char **argv);
int verb_exec_server(int argc, char **argv);
int verb_run(int argc, char **argv); /* --on: elsewhere */

/* The texts of `killick VERB --help`. */
extern const char ps_help[], reap_help[], doctor_help[], demo_help[];
extern const char tools_help[], resources_help[], prompts_help[], call_help[], read_help[],
	ping_help[], status_help[], inspect_help[], exec_server_help[], run_on_help[];

struct cli_option {
	const char *name;   /* without dashes; NULL ends the list */
	bool *flag;         /* set when given, or */
	const char **value; /* takes a value: --name V or --name=V */
	char letter;        /* of a flag: -v does as well; 0: none */
};

struct cli_words {   /* what is no option */
	char **list; /* count of them, wherever they stood; borrowed from argv, which is put
			into another order */
	int count;
	char **command; /* what stands behind "--", NULL at the end; NULL: no "--" */
};

/* Read the options of a verb. True: go on. False: stop with *out_status (help was printed, or a
 * usage error). */
bool cli_options(int argc, char **argv, const char *help, const struct cli_option *options,
		 int *out_status);
/* The same for a verb that takes words too. */
bool cli_words(int argc, char **argv, const char *help, const struct cli_option *options,
	       struct cli_words *out_words, int *out_status);

/* Print `killick: VERB: TEXT; try 'killick VERB --help'` to stderr and return EXIT_USAGE. */
int cli_usage(const char *verb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Print `killick: VERB: TEXT` to stderr. */
void cli_say(const char *verb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Flush stdout; when that or an earlier write failed (disk full, not a closed pipe) say so and
 * return EXIT_TRY_AGAIN. */
int cli_finish(const char *verb, int status);

/* The small program that belongs to this one: beside it in a build tree, in bin when installed.
 * False: link_keeper_path shall look. */
bool cli_find_keeper(char *out, size_t size);

/* The config that is meant: `given`, else $KILLICK_CONFIG, else the usual one in this directory.
 * NULL: there is none. */
const char *cli_find_config(const char *given);

/* Look at locale, terminal and NO_COLOR, once, before any output. */
void cli_start(void);

bool cli_is_tty(void); /* stdout */
bool cli_has_colour(void);
size_t cli_width(void);  /* columns of the terminal; 0 when stdout is none: as wide as needed */
size_t cli_height(void); /* lines of the terminal; 24 when unknown */
