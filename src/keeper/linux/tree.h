/* tree.h - the server's main process and every process it ever starts, ended as one.
 *
 * Used by the process that is the tree's subreaper: the hold, or the watch once the hold is dead.
 * That process is single-threaded, has no other child and reaps only the tree. So three facts hold,
 * and tree.c depends on them:
 *   - orphans of the tree become children of the subreaper, so `no child` means `no descendant`:
 *     the proof is ECHILD from waitid. One exception: when a process enters a pid namespace which
 *     exists already and forks twice there, the grandchild becomes a child of that namespace's
 *     init. The cgroup or the mark (mark.h) finds such a process; where both are missing, the
 *     report lists fewer proofs;
 *   - the pid of a child is not reused before the child is reaped: kill by pid is safe;
 *   - nor is the id of a group that a child leads, and only processes that joined the group are in
 *     it: kill by group is safe.
 *
 * The server may lower the keeper's limits and block its files. So tree_ready opens the files that
 * tree_kill reads, and tree_kill opens none.
 *
 * Life: tree_ready -> tree_spawn -> tree_signal ... -> tree_kill returns 0: no process of this tree
 * exists. Threads: one.  Blocking: tree_kill, for its budget.  Allocates: never.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroup.h"
#include "keeper/recipe.h"
#include "mark.h"

struct tree {
	enum level level; /* the level in use; never LEVEL_AUTO */
	bool pidns;       /* this process is pid 1 of a pid namespace with only the tree in it */
	struct cgroup cg;
	int children_fd;   /* the list of this process's children in /proc, or -1 */
	int place_fd;      /* /proc/self/cgroup, or -1 */
	pid_t pid_max;     /* no pid is larger */
	uint64_t heeded;   /* signals that are known to be not ignored here; bit 0 is signal 1 */
	struct mark mark;  /* in the environment of every process */
	bool shares_group; /* main is in the client's process group (job control), not in its own */
	pid_t main;        /* the server's pid in this pid namespace; 0: none yet */
	bool exited;       /* main has been reaped, and `status` is its wait status */
	int status;
	bool lingers; /* the other processes are not ended with main */
	bool killing; /* tree_kill had to kill */
	int killed;   /* processes other than main that SIGKILL ended since then */
	bool proof_waitid, proof_cgroup, proof_mark,
		proof_group; /* the checks of tree_kill when it returned 0 */
	int mark_error;      /* why the scan for the mark failed; 0: done, or not needed */
	int struck_marked;   /* how many processes were killed because of their mark */
};

struct tree_spec { /* borrowed: what the new process needs beside its recipe */
	const struct recipe *recipe;
	const char *file; /* the program, looked up in PATH: argv[0] may be another name */
	char **envp;
	char **sh_argv;      /* room for exec_command */
	unsigned long nproc; /* RLIMIT_NPROC for the server, 0: unchanged */
	bool own_proc;       /* mount the /proc of its pid namespace for the server */
	bool need_cgroup;    /* fail instead of starting outside of the cgroup */
	/* called in the new process before exec; NULL: nothing */
	void (*announce)(void *ctx);
	void *ctx;
};

/* Messages of the new process before exec, over a pipe that closes when exec succeeds. */
enum tree_news {
	NEWS_PID,           /* value: its pid in the namespace of /proc, if that is another one */
	NEWS_OUTSIDE,       /* value: errno; it could not enter the cgroup and runs outside of it */
	NEWS_PROC,          /* value: errno; it could not mount its own /proc */
	NEWS_FAILED_CGROUP, /* value: errno; this and the following end the new process */
	NEWS_FAILED_LIMIT,
	NEWS_FAILED_CWD,
	NEWS_FAILED_EXEC,
};
struct tree_word {
	enum tree_news news;
	int value;
};

/* Open the files that tree_kill will need. Both keepers call this before the server runs. When a
 * file cannot be opened, tree_kill uses a fallback. */
void tree_ready(struct tree *t);

/* Start the server with the stdin, stdout and stderr of the caller. On success t->main is set and
 * *out_fd is the non-blocking end of a pipe with tree_words, then EOF: the server runs.
 * *out_clone_errno is 0, or why clone3 failed (then fork was used). On failure -errno and nothing
 * was started. */
int tree_spawn(struct tree *t, const struct tree_spec *spec, int *out_fd, int *out_clone_errno);

/* Signal the main process, or its whole group if main leads the group. Does nothing once main has
 * been reaped. */
void tree_signal(const struct tree *t, int sig, bool group);

/* Reap every child that has ended. True: no child is left. When main is found dead its group is
 * killed first, unless the tree lingers. */
bool tree_reap(struct tree *t);

/* Kill every process and prove it. 0: the tree is empty, and the proof_ fields say which checks
 * were done. Otherwise the number of survivors after budget_ms, at least 1; may be called again. */
int tree_kill(struct tree *t, unsigned budget_ms);

/* For a new process before exec: all signals at their defaults, and none blocked. `heeded` are
 * signals that are known to be not ignored; 0: nothing is known. */
void tree_default_signals(uint64_t heeded);
/* For a new process before exec: its own mounts, with the /proc of its pid namespace. -errno. */
int tree_mount_proc(void);

/* The pids of the remaining children, from /proc; at most max. */
int tree_survivors(const struct tree *t, pid_t *pids, int max);
