/* tree.h - the server's main process and everything it ever starts, as one thing that can be ended.
 *
 * Used by the process that is the tree's subreaper: the hold, or the watch once the hold is dead.
 * Because that process is single-threaded, has no other child and reaps nothing else, three facts
 * hold, and all of this file rests on them:
 *   - orphans of the tree become its children, so `no child` means `no descendant`: the proof is
 *     waitid's ECHILD. One exception: a process that enters a pid namespace which exists already
 * and forks twice there hands its grandchild to that namespace's init. The cgroup or the mark
 *     (mark.h) finds that one; where neither can, the proof claims less;
 *   - a child's pid cannot become another's before we reap it: killing by pid is safe;
 *   - nor can the group that a child leads, and who is in that group joined it: killing it is safe.
 *
 * The server may turn every limit and every file of ours against us. So nothing is opened when the
 * end comes: tree_ready opens what tree_kill reads.
 *
 * Life: tree_ready -> tree_spawn -> tree_signal ... -> tree_kill returns 0: no process of this tree
 * exists. Threads: one.  Blocking: tree_kill, for its budget.  Allocates: never.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cgroup.h"
#include "mark.h"
#include "options.h"

struct tree {
	enum level level; /* what really contains it; never LEVEL_AUTO */
	bool pidns;       /* we are pid 1 of a pid namespace that holds nothing but the tree */
	struct cgroup cg;
	int children_fd;   /* /proc's list of our children, or -1 */
	int place_fd;      /* /proc/self/cgroup, or -1 */
	pid_t pid_max;     /* no pid is larger */
	struct mark mark;  /* in the environment of every process */
	bool shares_group; /* main is in the client's process group (job control), not in its own */
	pid_t main;        /* the server's process as we see it; 0: none yet */
	bool exited;       /* main has been reaped, and `status` is its wait status */
	int status;
	bool lingers; /* what main leaves behind is not ended with it */
	bool killing; /* tree_kill had to use force */
	int killed;   /* processes other than main that ended since then */
	bool proof_waitid, proof_cgroup, proof_mark,
		proof_group; /* what tree_kill saw when it returned 0 */
	int mark_error;      /* why it could not look for the mark; 0: it did, or need not */
	int struck_marked;   /* how many of those below had to be killed */
};

struct tree_spec {        /* borrowed */
	const char *file; /* the program, looked up in PATH */
	char **argv, **envp;
	char **sh_argv;      /* room for exec_command */
	const char *cwd;     /* NULL: ours */
	unsigned long nproc; /* RLIMIT_NPROC for the server, 0: as it is */
	bool own_proc;       /* give it a /proc of its own pid namespace */
	bool need_cgroup;    /* rather fail than start outside of the cgroup */
	bool terminal;       /* stdin is a terminal that shall control it */
	/* called in the new process before exec; NULL: nothing */
	void (*announce)(void *ctx);
	void *ctx;
};

/* What the new process says on its way to exec, over a pipe that closes when exec succeeds. */
enum tree_news {
	NEWS_PID,           /* value: its pid in the namespace of /proc, where that is not ours */
	NEWS_OUTSIDE,       /* value: errno; it could not enter the cgroup and goes on without */
	NEWS_PROC,          /* value: errno; it has no /proc of its own */
	NEWS_FAILED_CGROUP, /* value: errno; this and those behind it are final */
	NEWS_FAILED_LIMIT,
	NEWS_FAILED_CWD,
	NEWS_FAILED_EXEC,
};
struct tree_word {
	enum tree_news news;
	int value;
};

/* Open what the end will need. Each process that may have to end the tree calls this itself, before
 * the server runs. What cannot be opened is done in another way. */
void tree_ready(struct tree *t);

/* Start the server with our stdin, stdout and stderr. On success t->main is set and *out_fd is the
 * non-blocking end on which tree_words come, then EOF: the server runs. *out_clone_errno is 0, or
 * why clone3 was refused (fork did it). On failure -errno and nothing was started. */
int tree_spawn(struct tree *t, const struct tree_spec *spec, int *out_fd, int *out_clone_errno);

/* Signal the main process, or its whole group if that is its own. Nothing happens once it has been
 * reaped. */
void tree_signal(const struct tree *t, int sig, bool group);

/* Reap whatever has ended. True: we have no child at all. When main is found dead its group is
 * killed first, unless it lingers. */
bool tree_reap(struct tree *t);

/* End everything and prove it. 0: empty, and the proofs say how we know. Otherwise the number of
 * survivors after budget_ms, at least 1; may be called again. */
int tree_kill(struct tree *t, unsigned budget_ms);

/* Children that are still there, as /proc names them; at most max. */
int tree_survivors(const struct tree *t, pid_t *pids, int max);
