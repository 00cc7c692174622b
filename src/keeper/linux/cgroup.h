/* cgroup.h - the cgroup v2 directory of one tree, and its limits.
 *
 * Works on pure v2 and on hybrid mounts, as root or inside a delegated subtree (user manager,
 * container); does not need systemd. Needs cgroup.kill (Linux 5.14). Limits use v2 controllers
 * where the parent enables them, else v1 controllers that this process may write.
 *
 * Life: cgroup_make -> processes start in it (cg->fd for clone3, cgroup_enter for fork) ->
 * cgroup_kill -> cgroup_look -> cgroup_remove. All but make and limit are allocation-free, and do
 * nothing when cg->fd is -1. cgroup_make opens the files that the end needs: later the server may
 * have made them unreadable, taken a lease on them, or lowered the limit of open files.
 * Threads: one.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "keeper/recipe.h"

#define CGROUP_PATH_MAX 512

struct cgroup {
	int fd;                     /* the directory; -1: no cgroup */
	int kill_fd, events_fd;     /* cgroup.kill and cgroup.events, open while fd is open */
	int home_fd;                /* cgroup.procs of the keeper's cgroup, or -1 */
	char path[CGROUP_PATH_MAX]; /* absolute, for records and messages */
	int v1_fds[LIMIT_COUNT];    /* v1 directories that carry limits, or -1 */
	char v1_paths[LIMIT_COUNT][CGROUP_PATH_MAX];
	int diary; /* descriptor of the record; each path is appended before mkdir; -1: none */
};
#define CGROUP_NONE                                                                                \
	{                                                                                          \
		.fd = -1, .kill_fd = -1, .events_fd = -1, .home_fd = -1, .diary = -1, .v1_fds = {  \
			[0 ... LIMIT_COUNT - 1] = -1                                               \
		}                                                                                  \
	}

/* Find the directory of this process in one hierarchy. `mountinfo` and `cgroups` are the texts of
 * /proc/self/mountinfo and /proc/self/cgroup; controller is NULL for v2, else the name of a v1
 * controller. -ENOENT: not mounted, -EXDEV: mounted, but the cgroup of this process is outside of
 * the mounted part. */
int cgroup_locate(const char *mountinfo, const char *cgroups, const char *controller, char *out_dir,
		  size_t size);

/* The v2 directory of this process, from /proc. On failure -errno, and `why` is the reason in
 * words. */
int cgroup_find(char *out_dir, size_t size, char *why, size_t why_size);

/* Make a cgroup for the tree `id`. On failure no directory is left and `why` is the reason. */
int cgroup_make(struct cgroup *cg, const char *id, char *why, size_t why_size);

/* The controller that keeps a limit. */
const char *cgroup_controller(enum limit which);

/* Set limits (0: none); when cg->fd is -1 only v1 controllers are used. May move the (still empty)
 * cgroup one directory up, where a delegation has its controllers. -ENOTSUP with `why` when the
 * limits cannot be set on this machine or by this user. */
int cgroup_limit(struct cgroup *cg, const char *id, const unsigned long long limits[LIMIT_COUNT],
		 char *why, size_t why_size);

/* Move the calling process into the cgroup, when clone3 could not start it there. -errno. */
int cgroup_enter(const struct cgroup *cg);

/* Move the calling process into the v1 cgroups that carry its limits. -errno. */
int cgroup_enter_limits(const struct cgroup *cg);

/* Is this process in the cgroup? `cgroups` is the text of /proc/self/cgroup. */
bool cgroup_has_us(const struct cgroup *cg, const char *cgroups);

/* Move the calling process back to the cgroup where cgroup_make was called. -errno. */
int cgroup_go_home(const struct cgroup *cg);

/* Send SIGKILL to every process in the cgroup and below, atomically against fork. This is not
 * enough: a process whose main thread has exited does not get the signal (measured on 6.18), and a
 * process may have left the cgroup. Both are still descendants of the keeper: tree_kill finds them.
 */
void cgroup_kill(const struct cgroup *cg);

/* Is there a living process in the cgroup or below? CGROUP_UNKNOWN: there is no cgroup, or the
 * kernel does not say (the directory was removed): then the cgroup proves nothing. */
enum cgroup_state { CGROUP_UNKNOWN, CGROUP_EMPTY, CGROUP_POPULATED };
enum cgroup_state cgroup_look(const struct cgroup *cg);

/* Members, without those of sub-cgroups; at most max are stored. Returns the number stored. */
int cgroup_members(const struct cgroup *cg, pid_t *pids, int max);

/* Take over the open directory `fd` of a cgroup that exists, and open its files. On failure -errno,
 * and `fd` stays the caller's. */
int cgroup_open(struct cgroup *cg, int fd);

/* Remove the directories and every directory that the server made below them; closes the
 * descriptors. Takes up to a second for each, because the kernel may report an empty directory as
 * busy. 0 when all are gone; otherwise -errno, and the next janitor has to retry. */
int cgroup_remove(struct cgroup *cg);
