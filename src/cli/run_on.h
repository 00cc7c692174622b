/* run_on.h - the parsed command line of `killick run --on`.
 *
 * The options of `killick run` have the same meaning; options for keepers on this machine are
 * refused. Life: until the program ends; the strings are borrowed from argv.
 */
#pragma once

#include <stdbool.h>

#include "keeper/options.h"
#include "on.h"

struct run_on_options {
	struct on on;
	struct options run; /* cwd NULL: the path of the working directory of killick */
	char **words;       /* the options of `killick run` */
};

/* `killick run --on`. argv[0] is the verb; returns the exit status. */
int run_on(int argc, char **argv);

/* False: help or an error was printed; exit with *out_status. */
bool run_on_options(int argc, char **argv, struct run_on_options *out, int *out_status);
