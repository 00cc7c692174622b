/* audit.h - the independent auditor: finds out whether a process of a trial is still alive.
 *
 * The auditor shares no code with killick. Before a trial it makes a random tag and a FIFO and puts
 * both into the environment (ZOO_AUDIT, ZOO_FIFO); every program started from then on carries the
 * tag, keepers included, and every zoo process also holds the FIFO open. "Empty" needs two facts:
 * the FIFO hangs up (no process holds it, with or without the tag), and /proc has no living process
 * with the tag. (Keepers show their environment only to root; an auditor of another user counts a
 * process of that user that hides its environment and descends from the auditor.) A zombie is not
 * alive; a process whose main thread is a zombie while another thread runs is alive. Where a cgroup
 * can be made for the trial (audit_cgroup; never required), an unpopulated cgroup is the third
 * fact.
 *
 * Life: audit_open -> (the trial) -> audit_wait_empty / audit_count -> audit_scrub if it failed ->
 * audit_close. Threads: one.  Blocking: up to the deadline given.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct audit {
	pid_t opener; /* the process that called audit_open: runs the trial, is not part of it */
	char tag[33];
	char dir[64]; /* audit_close removes it, its files, and one level of directories below */
	int fd;       /* reading end of the FIFO, -1: closed */
	int keep;     /* the auditor's writing end until the trial starts to end, so that "no writer
			 yet" is not taken for "gone" */
	char cgroup[480];    /* v2 directory around the trial, "" if there is none */
	char strays[4][480]; /* directories outside of it that zoo processes made */
	int stray_count;
};
#define AUDIT_INIT                                                                                 \
	{                                                                                          \
		.fd = -1, .keep = -1                                                               \
	}

/* Make tag and FIFO and set the environment of this process, for its children. 0 or -errno. */
int audit_open(struct audit *a);

/* Make a cgroup for the trial, below the cgroup of this process. False: not possible here. A
 * process that is about to start the trial calls audit_enter to enter it. */
bool audit_cgroup(struct audit *a);
void audit_enter(const struct audit *a);
/* The v2 directory of the cgroup this process is in. False: no v2, or not visible from here. */
bool audit_own_cgroup(char *out, int size);
/* The first directory in the trial's cgroup whose name begins with `prefix`; false: none. */
bool audit_subgroup(const struct audit *a, const char *prefix, char *out, int size);

/* Wait until no process of the trial is alive. True, and the milliseconds it took, or false at the
 * deadline. Zombies are not reaped; a caller that is the subreaper of a forking tree sets SIGCHLD
 * to SIG_IGN. */
bool audit_wait_empty(struct audit *a, int deadline_ms, double *out_elapsed_ms);

/* How many processes carry the tag or hold the FIFO now. At most `max` pids are stored. */
int audit_list(struct audit *a, pid_t *out_pids, int max);
int audit_count(struct audit *a);

/* Are all remaining processes dying: SIGKILL pending, or exiting? Then they have not escaped, and
 * the machine is only slow. */
bool audit_is_dying(struct audit *a);

/* One line that names the remaining processes: pid, state, command line. */
void audit_describe(struct audit *a, char *out, int size);

/* SIGKILL the remaining processes, until none is left or 6 s have passed. Returns how many there
 * were at the start. */
int audit_scrub(struct audit *a);

/* Remove directory, cgroups and variables of the trial. May be called twice. */
void audit_close(struct audit *a);
