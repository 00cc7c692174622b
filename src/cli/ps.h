/* ps.h - the trees of this user, as `killick ps` prints them.
 *
 * The folder of each system reads its trees into this form with ps_read; ps.c reads the options,
 * and ps_view.c prints.
 * Life: ps_read -> look -> ps_trees_done.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "keeper/record_text.h"

struct ps_process {
	int pid, parent;
	char *command; /* owned; text_clean makes it fit for a terminal */
	unsigned long long rss;
	long long cpu_ms;
	bool has_more; /* the system knows the three below */
	char state;
	long threads;
	long long age_ms;
};

struct ps_tree {
	struct record rec;
	char title[sizeof(((struct record *)0)->command)];
	const char *state;            /* the name of the state; static */
	bool is_ending;               /* the state has the reason of the end behind it */
	char owner[300];              /* "4711 claude", "gone" or "-" */
	bool has_owner;               /* the pid of the owner is known and means a process here */
	char *owner_command;          /* owned; NULL: the owner is gone */
	bool has_hold;                /* the system has a second keeper, cgroups and survivors */
	long long due_in_ms;          /* until the tree should have ended */
	bool is_due;                  /* due_in_ms is known */
	struct ps_process *processes; /* owned */
	size_t count;
	unsigned long long rss; /* bytes, of all processes */
	long long cpu_ms, age_ms;
};

struct ps_trees {
	struct ps_tree *list; /* oldest first */
	size_t count;
};
#define PS_TREES_INIT                                                                              \
	{                                                                                          \
		.list = NULL                                                                       \
	}

/* Read the trees; in the folder of the system. False: the reason was printed; exit with
 * *out_status, and *out_trees is unchanged. */
bool ps_read(struct ps_trees *out_trees, int *out_status);
void ps_trees_done(struct ps_trees *ts);
/* Ask the keepers of a tree to end it, as SIGTERM to `killick run` does; in the folder of the
 * system. 0; -ESRCH: the keeper is gone; -ENOSYS: not on this system; -errno. */
int ps_end_tree(const struct ps_tree *t);

/* A sentence behind the answer that there are no trees, with a space in front, or ""; in the folder
 * of the system. */
extern const char ps_hint[];

/* ps_help, which the folder of the system defines with the sentences about its columns and states:
 * the other sentences are the same on every system. */
#define PS_HELP(columns_and_states)                                                                \
	"usage: killick ps [--tree] [--json] [--show-secrets]\n"                                   \
	"       killick ps --on PLACE [--all] [--json] [--config FILE] [--token-env N]\n"          \
	"\n"                                                                                       \
	"List the trees of this user. A tree is a server that `killick run` holds, and\n"          \
	"every process it started.\n"                                                              \
	"\n"                                                                                       \
	"  --tree   draw the processes of each tree\n"                                             \
	"  --json   print all facts as one JSON array; --show-secrets: with secrets\n"             \
	"  --on     list the processes of an executor (see 'killick help run-on');\n"              \
	"           ssh runs `killick ps` there. --all: list ended processes, too\n"               \
	"\n" columns_and_states "\n"                                                               \
	"Exit status: 0, also when there are no trees; 64 usage; with --on 65 config\n"            \
	"refused, 69 the executor does not answer, or the exit status of ssh.\n"
