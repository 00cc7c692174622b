/* keeper.h - the state that watch and hold share: the watch makes it before the fork, and the
 * keeper that ends the tree uses it.
 *
 *   owner ---- watch ---- hold ---- server ---- processes that the server starts
 *
 * Life: keeper_init -> keeper_prepare -> fork -> keeper_stopping -> keeper_kill -> keeper_clean,
 * the last only in a process that proved the tree empty. There is nothing to free: each of the two
 * processes exits. Threads: one per process.  Allocates: in keeper_init only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "container.h"
#include "control.h"
#include "keeper/notes.h"
#include "keeper/options.h"
#include "keeper/report_text.h"
#include "namespace.h"
#include "record.h"
#include "tree.h"
#include "users.h"

#define KILL_BUDGET_MS  5000 /* for killing and proving; after that survivors are named */
#define ORPHAN_GRACE_MS 500  /* the most, once the owner or the watch is dead */

/* A keeper that is stopped, traced or frozen cannot run, but can be killed. So each keeper waits
 * for an answer of the other one for these times, and then sends SIGKILL to it. */
#define HOLD_ANSWER_MS  1000 /* for the hold to answer a request to end the tree (MSG_STOPPING) */
#define HOLD_LATE_MS    500  /* for the hold to finish after the stated time and KILL_BUDGET_MS */
#define WATCH_ANSWER_MS 1000 /* for the watch to answer MSG_DONE with MSG_SEEN */

/* Messages between watch and hold, over a SOCK_SEQPACKET pair. A hang-up means that the other
 * keeper is dead. The hold sends few messages, so the socket always has room for them. The watch
 * passes on every signal; signals for which the socket has no room are kept in a bit set and sent
 * later. */
enum msg_kind {
	MSG_SIGNALS,  /* to hold; one, group: sets of signals for main and for its group */
	MSG_STDIN,    /* to hold; the client hung up */
	MSG_OWNER,    /* to hold; the owner is gone; a: 1: it lives, but counts as gone (users.h) */
	MSG_SEEN,     /* to hold; MSG_DONE has arrived */
	MSG_FORKED,   /* to watch, by the server's process before exec; a: its pid */
	MSG_STARTED,  /* to watch; a: the server's pid in the watch's namespace */
	MSG_FAILED,   /* to watch; a: enum failure, b: errno */
	MSG_STOPPING, /* to watch; a: milliseconds until killing begins, at most;
			 b: those that the engine of a container has afterwards */
	MSG_REPORTING, /* to watch; the hold is about to write the report; size: report_size */
	MSG_REPORTED,  /* to watch; a: 0, or the errno with which that failed */
	MSG_DONE,      /* to watch; a: wait status or -1, b: survivors */
};
struct msg {
	enum msg_kind kind;
	int a, b;
	union {
		struct {
			uint64_t one, group; /* bit n-1 is signal n */
		};
		long long size;
	};
};

enum failure {
	FAILURE_FORK,
	FAILURE_KERNEL, /* the kernel refuses the hold a system call that both keepers need */
	FAILURE_NAMESPACE,
	FAILURE_CGROUP,
	FAILURE_LIMIT,
	FAILURE_CWD,
	FAILURE_EXEC
};

#define COMMAND_SHOWN 500 /* bytes of the command in a record */

struct keeper {
	struct options opt;
	char **envp;    /* the server's environment */
	char **sh_argv; /* room for exec_command */
	char id[TREE_ID_LEN + 1];
	char mark[sizeof(TREE_ENV) + 1 + TREE_ID_LEN]; /* "KILLICK_TREE=ID" */
	struct tree tree;
	struct container container;     /* spec NULL: none */
	struct namespace ns;            /* the user outside of the namespace, for level namespace */
	unsigned long nproc;            /* RLIMIT_NPROC to set on the server; 0: none */
	pid_t owner;                    /* 0: only stdin */
	int owner_fd;                   /* pidfd, or -1 */
	unsigned long long owner_start; /* without a pidfd, of an owner that is not the parent: its
					 * start time, and it is polled; 0: not polled */
	pid_t parent; /* the parent, when it is the owner; -1: the owner is not the parent */
	int watch_fd; /* pidfd of the watch, or -1 */
	int stdin_fd; /* pollset, shared by both keepers, for the hang-up of stdin; -1: none */
	int record_fd, record_dirfd, report_fd, log_fd; /* -1: none */
	int control_fd;                                 /* -1: none */
	struct users users;   /* of the owner; each keeper has its own state */
	bool report_may_fail; /* no room could be reserved for it */
	pid_t server;         /* as /proc names it; 0 before it runs */
	long long begun_us;   /* CLOCK_MONOTONIC: when keeper_init ran */
	long long stop_us;    /* when the end began; 0: running */
	enum why why;
	enum need need;
	struct notes notes;
};

/* Take over the options and the environment. 0, or an exit code after one line on stderr. */
int keeper_init(struct keeper *k, const struct options *opt, char **environment);

/* Find the owner and open its pidfd. 0, or an exit code after one line on stderr. */
int keeper_find_owner(struct keeper *k);

/* The owner lives and counts as gone, because it did not handle the end of a user: a note. */
void keeper_note_silent_owner(struct keeper *k);

/* Make cgroup and record, which must exist before the first process. 0, or an exit code after one
 * line on stderr; then neither is left behind. */
int keeper_prepare(struct keeper *k);

/* Is the parent, when it is the owner, gone? For a kernel without pidfds: then PDEATHSIG wakes the
 * watch. */
bool keeper_parent_is_gone(const struct keeper *k);

/* Has an owner that is polled ended? False when it is not polled. */
bool keeper_owner_has_ended(const struct keeper *k);
/* The smaller one of timeout_ms (-1: none) and the time after which the owner is polled again. */
int keeper_patience_ms(const struct keeper *k, int timeout_ms);

/* From here on no process of this user can trace this keeper, write to its memory or take its
 * descriptors. The server has the same user id. */
void keeper_seal(void);

/* Write the hold into the record. The hold calls this before the server runs: a server may freeze
 * its keepers at once, and the janitor kills only keepers whose start time is in the record. */
void keeper_describe_hold(const struct keeper *k);

/* The rest of the record, once the server runs. */
void keeper_describe(const struct keeper *k);

/* One `key=value ...` line in the log, if there is one. */
void keeper_log(const struct keeper *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The end begins: store the reason and the time, also in the record. Only the first reason is kept.
 */
void keeper_stopping(struct keeper *k, enum why why, unsigned budget_ms);

/* End the tree and prove it, within KILL_BUDGET_MS; returns tree_kill's result. A check that could
 * not be done becomes a note. */
int keeper_kill(struct keeper *k);

/* The tree is empty or has survivors: have its container removed, if it has one, and end the
 * processes that the engine's command left. Returns the survivors. */
int keeper_end_container(struct keeper *k, int survivors);

/* Remove cgroup and record; only for a tree that is proved empty or was never started. The record
 * of a container that is not gone stays, for the janitor. */
void keeper_clean(struct keeper *k);

/* Add the last line of keeper_say to the notes of the report. */
void keeper_note_refusal(struct keeper *k);

/* One line on stderr, with "killick: " in front; the owner's socket gets the text, too. */
void keeper_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The next step for the user after `error`: raise a limit when descriptors were missing, else
 * `otherwise`. */
const char *keeper_next_step(int error, const char *otherwise);

/* keeper_say for a system call that failed at start: the call, the reason, and the next step.
 * Returns the exit code. */
int keeper_lacks(const char *call, int error);
