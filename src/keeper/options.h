/* options.h - the parsed command line of `killick run`.
 *
 * Parsing has no side effects: a command line is either accepted or refused with one sentence.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <sys/types.h>

#include "line.h"
#include "recipe.h"

enum owner_kind {
	OWNER_PARENT, /* the process that started killick */
	OWNER_STDIN,  /* only the process at the other end of stdin */
	OWNER_PID,
};

struct options { /* strings are borrowed from argv */
	/* name is never NULL: by default the command's last path component. envp and what only the
	 * library knows are not set. */
	struct recipe recipe;
	enum owner_kind owner;
	pid_t owner_pid;          /* for OWNER_PID */
	const char *log, *report; /* NULL: not given */
	int control;              /* descriptor of the owner's socket (control.h); -1: none */
	int users;                /* descriptor of the owner's epoll (linux/users.h); -1: none */
	bool has_container;       /* only for main: CONTAINER_VARIABLE has the spec */
	const char *container;    /* the spec (container.h); NULL: none */
	bool no_container; /* only for main: do not recognise the commands of container engines */
};

/* Write the options of `killick run` to `out`; their values go to o. */
enum { OPTIONS_COUNT = 7 + RECIPE_OPTIONS };
void options_table(struct options *o, struct option out[OPTIONS_COUNT + 1]);
/* Parse argv[0..argc), the words after `run`. On refusal returns -EINVAL and `why` is the sentence.
 */
int options_parse(int argc, char **argv, struct options *out, struct line *why);
