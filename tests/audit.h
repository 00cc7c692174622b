/* audit.h - the independent auditor: says whether anything of a trial is still alive.
 *
 * It shares no code with killick. Before a trial it makes a random tag and a FIFO and puts both
 * into the environment (ZOO_AUDIT, ZOO_FIFO); every program started from then on carries the tag,
 * keepers included, and every zoo process also holds the FIFO open. Two facts are needed for
 * "empty": the kernel hangs the FIFO up (no process holds it, tag or no tag), and no process with
 * the tag lives in /proc. (Keepers show their environment to root alone; another user's auditor counts
 * a process of that user that hides its environment and descends from the auditor.) A zombie is not alive; a process whose main thread is a zombie while
 * another thread runs is. Where a cgroup can be made for the trial (audit_cgroup; never required),
 * that it is unpopulated is a third fact.
 *
 * Life: audit_open -> (the trial) -> audit_wait_empty / audit_count -> audit_scrub if it failed ->
 * audit_close. Threads: one.  Blocking: up to the deadline given.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct audit {
	pid_t opener; /* called audit_open: runs the trial, is no part of it */
	char tag[33];
	char dir[64]; /* ours; audit_close removes it and what lies flat in it or one level below */
	int fd;       /* reading end of the FIFO, -1: closed */
	int keep; /* our own writing end until the trial starts to end, so that "no writer yet" is
		     not "gone" */
	char cgroup[480];    /* v2 directory around the trial, "" if there is none */
	char strays[4][480]; /* directories outside it that a zoo process said it made */
	int stray_count;
};
#define AUDIT_INIT                                                                                 \
	{                                                                                          \
		.fd = -1, .keep = -1                                                               \
	}

/* Make tag and FIFO and set the environment of this process, for its children. 0 or -errno. */
int audit_open(struct audit *a);

/* Make a cgroup for the trial, below the one we are in. False: not possible here. Then a process
 * that is about to start something calls audit_enter to be in it with all that follows. */
bool audit_cgroup(struct audit *a);
void audit_enter(const struct audit *a);
/* The v2 directory of the cgroup this process is in. False: no v2, or not visible from here. */
bool audit_own_cgroup(char *out, int size);
/* The first directory in the trial's cgroup whose name begins with `prefix`; false: none. */
bool audit_subgroup(const struct audit *a, const char *prefix, char *out, int size);

/* Wait until nothing of the trial is alive. True, and the milliseconds it took, or false at the
 * deadline. Zombies are left to whoever should reap them; a caller that is the subreaper of a
 * forking tree sets SIGCHLD to SIG_IGN. */
bool audit_wait_empty(struct audit *a, int deadline_ms, double *out_elapsed_ms);

/* How many processes carry the tag or hold the FIFO now. At most `max` pids are stored. */
int audit_list(struct audit *a, pid_t *out_pids, int max);
int audit_count(struct audit *a);

/* Is everything that is left already dying: SIGKILL on its way, or exiting? Then it has not
 * escaped, the machine is just slow. */
bool audit_is_dying(struct audit *a);

/* One line that names them: pid, state, command line. */
void audit_describe(struct audit *a, char *out, int size);

/* SIGKILL whatever is left, until nothing is or 6 s have passed. Returns how many there were at the
 * start. */
int audit_scrub(struct audit *a);

/* Forget the trial: directory, cgroups, environment. May be called twice. */
void audit_close(struct audit *a);
