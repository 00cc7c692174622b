/* recipe.h - how to start a process: the one description of it, from a config to its keeper.
 *
 *	config, `run --on`
 *	       |
 *	    recipe --> a link on this machine --> words of `killick run` --> recipe of a keeper
 *	       |
 *	       +-----> a link elsewhere --> params of process/start --> recipe of an executor
 *
 * A config fills in a recipe, a session keeps a copy (link/recipe.h), a link is opened with it.
 * Both ways to the keeper are driven by the tables below: recipe_options writes and reads the
 * keeper's command line; recipe_limits also has the keys of a config's "limits" and of the wire. A
 * new limit is a value of enum limit and its row; a new option is a member and its row.
 *
 * This header belongs to the keeper, which includes nothing of the library; the library includes it
 * by link/recipe.h. Threads: any.  Blocking: never.  Allocates: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "option.h"

/* The level at which the tree is held. AUTO: the best level that this machine allows. JOB is the
 * level of Windows, the others are those of Linux: a config may name each of them, and the keeper
 * refuses the levels of the other system. */
enum level { LEVEL_AUTO, LEVEL_NAMESPACE, LEVEL_CGROUP, LEVEL_KEEPER, LEVEL_GROUP, LEVEL_JOB };
#define LEVEL_CHOICE "auto, namespace, cgroup, keeper, group or job" /* for sentences */
extern const char *const level_words[]; /* by enum level; NULL at the end */
const char *level_name(enum level l);

enum limit {
	LIMIT_PROCS,  /* processes and threads, as the kernel counts */
	LIMIT_MEMORY, /* bytes */
	LIMIT_COUNT
};
struct limit_words {
	const char *key;       /* in a config's "limits", and on the wire */
	const char *other_key; /* another key for the same in a config; NULL: none */
	const char *option;    /* of `killick run` */
	const char *noun;      /* "a limit of processes" */
	enum option_kind kind; /* OPTION_COUNT or OPTION_SIZE */
	const char *takes;
};
extern const struct limit_words recipe_limits[LIMIT_COUNT];

enum stdio {
	STDIO_PIPES,    /* stdin, stdout and stderr are pipes */
	STDIO_NULL,     /* stdin is /dev/null */
	STDIO_TERMINAL, /* all three are a terminal of 24 lines and 80 columns; its output is
			   stdout */
};

struct recipe {
	/* What runs. Lists have NULL at the end. */
	char **argv;
	char **envp;             /* the whole environment; for an executor: those that are sent */
	char **remote_names;     /* variables whose values the executor has; NULL: none */
	const char *arg0;        /* the argv[0] that the program gets; NULL: argv[0] */
	const char *cwd;         /* NULL: ours; for an executor required and absolute */
	const char *environment; /* name of the executor; NULL: this machine */
	/* How it is held. */
	const char *name, *session; /* for `killick ps`; session may be NULL */
	enum level contain;
	unsigned long long limits[LIMIT_COUNT]; /* 0: none */
	unsigned grace_ms;
	unsigned linger_ms; /* time for processes that the main process leaves behind; 0: none */
	enum stdio stdio;
	bool sweep; /* look for lost trees; false: another start does it */
	/* Only for the library; not passed to the keeper. */
	const char *keeper; /* path of the program killick */
	size_t write_limit; /* bytes that may wait because the process does not read */
	int users; /* a poller that has a descriptor of each process for which the host holds the
		      server (--users, linux/users.h); 0: none; not for an executor */
};
/* The values when `killick run` has no options. */
#define RECIPE_DEFAULT                                                                             \
	{                                                                                          \
		.grace_ms = 2000, .sweep = true                                                    \
	}

/* The options of `killick run` that are members of a recipe: rows that point into r, and the end of
 * the table. */
#define RECIPE_OPTIONS (9 + LIMIT_COUNT)
void recipe_options(struct recipe *r, struct option out[RECIPE_OPTIONS + 1]);

/* Write the options for a keeper, one word each with its NUL: those that differ from
 * RECIPE_DEFAULT. Returns the bytes that all words need; a word that does not fit is not written.
 */
size_t recipe_write(const struct recipe *r, char *out, size_t size);

bool recipe_is_limited(const struct recipe *r);
