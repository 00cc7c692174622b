/* cli.h - options, usage errors and terminal properties, for all verbs of killick-more.
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
#include "keeper/option.h"

enum { EXIT_CONFIG = 65 }; /* beside those of keeper/exits.h: the config is refused */

int verb_ps(int argc, char **argv);
int verb_top(int argc, char **argv);
int verb_reap(int argc, char **argv);
int verb_doctor(int argc, char **argv);
int verb_demo(int argc, char **argv);
int verb_zoo(int argc, char **argv);
int verb_help(int argc, char **argv);
int verb_version(int argc, char **argv);
int verb_tools(int argc, char **argv);
int verb_resources(int argc, char **argv);
int verb_prompts(int argc, char **argv);
int verb_call(int argc, char **argv);
int verb_read(int argc, char **argv);
int verb_ping(int argc, char **argv);
int verb_status(int argc, char **argv);
int verb_inspect(int argc, char **argv);
int verb_exec_server(int argc, char **argv);
int verb_hub(int argc, char **argv);
int verb_connect(int argc, char **argv);
int verb_wrap(int argc, char **argv);
int verb_unwrap(int argc, char **argv);
int verb_trust(int argc, char **argv);
int verb_run(int argc, char **argv);      /* with --on, and for container engines */
int verb_complete(int argc, char **argv); /* for the completion of shells */
int verb_container_end(int argc, char **argv);

/* The texts of `killick VERB --help`. */
extern const char ps_help[], top_help[], reap_help[], doctor_help[], demo_help[], zoo_help[],
	wrap_help[], unwrap_help[], trust_help[];
extern const char tools_help[], resources_help[], prompts_help[], call_help[], read_help[],
	ping_help[], status_help[], inspect_help[], exec_server_help[], run_on_help[],
	complete_help[], container_end_help[], hub_help[], connect_help[];

struct cli_words {   /* the arguments that are not options */
	char **list; /* borrowed from argv, which is reordered */
	int count;
	char **command; /* the words after "--", NULL at the end; NULL: no "--" */
};

/* Read the options of a verb. False: help or a usage error was printed; exit with *out_status. */
bool cli_options(int argc, char **argv, const char *help, const struct option *options,
		 int *out_status);
/* The same for a verb that takes words, too. */
bool cli_words(int argc, char **argv, const char *help, const struct option *options,
	       struct cli_words *out_words, int *out_status);

/* Is the word --help or -h? */
bool cli_is_help(const char *word);

/* Print the usage error for an option that was refused. Returns EXIT_USAGE. */
int cli_refuse_option(const char *verb, const struct option_reader *r, enum option_result result);

/* Print `killick: VERB: TEXT; try 'killick VERB --help'` to stderr and return EXIT_USAGE. */
int cli_usage(const char *verb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Print a line on stderr, wrapped if stderr is a terminal: lines after the first are indented. */
void cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Print the words of the text, in lines of at most `width` columns (0: one line), without a newline
 * at the end; lines after the first are indented. A word that is longer than a line is not split,
 * so that users can copy it. */
void cli_wrap(FILE *to, const char *text, size_t width);
/* Print `killick: VERB: TEXT` to stderr, wrapped in the same way. */
void cli_say(const char *verb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Flush stdout. If the flush or an earlier write failed, return EXIT_TRY_AGAIN (or `status`, if it
 * is not 0) and print an error, except for a closed pipe. Otherwise return `status`. */
int cli_finish(const char *verb, int status);

/* Find the program `killick` that belongs to this killick-more: in the same directory of a build
 * tree, or in bin when installed. False: not found; link_keeper_path searches further. */
bool cli_find_keeper(char *out, size_t size);

/* --show-secrets: print commands with the secrets in them. */
extern bool cli_show_secrets;
/* Hide the secrets in a command that is one text, unless cli_show_secrets. */
void cli_conceal(char *text, size_t size);

/* argv[0] of this program: the path of the `killick` that executed it, or any other name */
extern const char *cli_program;

/* Returns the config file: `given`, else $KILLICK_CONFIG, else one of the usual files in the
 * working directory. NULL: not found. *out_project: the file is one of a project, which may not be
 * used before trust_allows (trust.h); false for a file in the home directory. */
const char *cli_find_config(const char *given, bool *out_project);

/* Find the directory for files that can be made again: eras of servers, names of tools. False:
 * there is no home directory. */
bool cli_find_cache(char *out, size_t size);

/* All variables as "NAME=value", and NULL at the end; valid until the next call. */
char **cli_environment(void);

/* Read locale, terminal and NO_COLOR, once, before any output. */
void cli_start(void);

bool cli_is_tty(void); /* is stdout a terminal? */
bool cli_has_colour(void);
size_t cli_width(void);  /* columns of the terminal; 0: stdout is not a terminal, no limit */
size_t cli_height(void); /* lines of the terminal; 24 when unknown */
