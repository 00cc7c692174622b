/* run_on.h - `killick run --on`: what its command line means.
 *
 * The words of `killick run` mean the same; those that are about keepers on this machine are
 * refused. Life: until the program ends; the strings are argv's.
 */
#pragma once

#include <stdbool.h>

#include "keeper/options.h"
#include "on.h"

struct run_on_options {
	struct on on;
	struct options run;
	const char *cwd; /* NULL: ours */
	char **envp;     /* what crosses; NULL at the end */
	char **words;    /* those of `killick run` */
};

/* False: it was said why, or help was printed; the verb ends with *out_status. */
bool run_on_options(int argc, char **argv, struct run_on_options *out, int *out_status);
