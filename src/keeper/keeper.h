/* keeper.h - what watch and hold share: made by the watch before they part, used by whichever of
 * them ends the tree.
 *
 *   owner ---- watch ---- hold ---- server ---- whatever it starts
 *
 * Life: keeper_init -> keeper_prepare -> fork -> ... -> keeper_finish, once, in the process that
 * proved the tree empty. Threads: one per process.  Allocates: in keeper_init only.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "control.h"
#include "namespace.h"
#include "options.h"
#include "record.h"
#include "tree.h"

#define KILL_BUDGET_MS  5000 /* for killing and proving; after that survivors are named */
#define ORPHAN_GRACE_MS 500  /* at most, once nobody is there to be graceful for */

/* Words between watch and hold, over a SOCK_SEQPACKET pair. Its hang-up means that the other one is
 * dead. */
enum msg_kind {
	MSG_SIGNAL,  /* to hold; a: signal, b: to the whole group */
	MSG_STARTED, /* to watch; a: the server's pid in the watch's namespace */
	MSG_FAILED,  /* to watch; a: enum failure, b: errno */
	MSG_DONE,    /* to watch; a: wait status or -1, b: survivors */
};
struct msg {
	enum msg_kind kind;
	int a, b;
};

enum failure {
	FAILURE_FORK,
	FAILURE_NAMESPACE,
	FAILURE_CGROUP,
	FAILURE_LIMIT,
	FAILURE_CWD,
	FAILURE_EXEC
};

/* Why the tree had to end. */
enum why { WHY_EXIT, WHY_STDIN, WHY_SIGNAL, WHY_OWNER, WHY_WATCH, WHY_HOLD, WHY_FAILED };

/* The furthest step that was needed to end the main process. */
enum need { NEED_NONE, NEED_EOF, NEED_TERM, NEED_KILL };

#define KEEPER_NOTES  6
#define COMMAND_SHOWN 500 /* bytes of the command in a record */

struct keeper {
	struct options opt;
	char **envp;    /* the server's environment */
	char **sh_argv; /* room for exec_command */
	char id[TREE_ID_LEN + 1];
	struct tree tree;
	struct namespace ns; /* who we were outside, for level namespace */
	unsigned long nproc; /* RLIMIT_NPROC to set on the server; 0: none */
	pid_t owner;         /* 0: nobody but stdin */
	int owner_fd;        /* pidfd, or -1 */
	int record_fd, record_dirfd, report_fd, log_fd; /* -1: none */
	int control_fd;                                 /* -1: none */
	pid_t server;                                   /* as /proc names it; 0 before it runs */
	long long begun_us;                             /* CLOCK_MONOTONIC: when keeper_init ran */
	long long stop_us;                              /* when the end began; 0: running */
	enum why why;
	enum need need;
	int note_count;
	char notes[KEEPER_NOTES][240]; /* what fell back, for the report */
};

/* Take over the options and the environment. 0, or an exit code after one line on stderr. */
int keeper_init(struct keeper *k, const struct options *opt, char **environment);

/* Find the owner, make cgroup and record: everything that has to exist before the first process
 * does. 0, or an exit code after one line on stderr; then nothing is left behind. */
int keeper_prepare(struct keeper *k);

/* The rest of the record, once the server runs. */
void keeper_describe(const struct keeper *k);

/* Remember a fallback for the report; those past KEEPER_NOTES are dropped. */
void keeper_note(struct keeper *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One `key=value ...` line in the log, if there is one. */
void keeper_log(const struct keeper *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The end begins: remember why and when, tell the record. The first reason is the one that counts.
 */
void keeper_stopping(struct keeper *k, enum why why, unsigned budget_ms);

/* Remove cgroup and record; only for a tree that is proved empty, or never began. */
void keeper_clean(struct keeper *k);

/* One line on stderr, with our name in front; the owner hears it through its socket, too. */
void keeper_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
