/* cgroup.h - one cgroup v2 directory of our own, and the limits that can be put on it.
 *
 * Works on pure v2 and on hybrid mounts, as root or inside a subtree that is ours (delegated, user
 * manager, container); assumes no systemd. Needs cgroup.kill (Linux 5.14). Limits use v2
 * controllers where the parent enables them, else v1 ones that we may write.
 *
 * Life: cgroup_make -> processes are born in it (cg->fd for clone3, cgroup_enter for fork) ->
 * cgroup_kill -> cgroup_look -> cgroup_remove. All but make and limit are allocation-free, and do
 * nothing when cg->fd is -1. The files that ending needs are opened by cgroup_make: later the
 * server may have made them unreadable, taken a lease on them, or left us no descriptor to open
 * them with. Threads: one.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CGROUP_PATH_MAX 512

enum { V1_PIDS, V1_MEMORY, V1_COUNT };

struct cgroup {
	int fd;                     /* the directory, or -1: there is none */
	int kill_fd, events_fd;     /* cgroup.kill and cgroup.events, open while fd is */
	int home_fd;                /* cgroup.procs of the cgroup we live in, or -1 */
	char path[CGROUP_PATH_MAX]; /* absolute, for records and people */
	int v1_fds[V1_COUNT];       /* v1 directories that carry limits, or -1 */
	char v1_paths[V1_COUNT][CGROUP_PATH_MAX];
	int diary; /* a record that is told of each directory before it is made, or -1 */
};
#define CGROUP_NONE                                                                                \
	{                                                                                          \
		.fd = -1, .kill_fd = -1, .events_fd = -1, .home_fd = -1, .v1_fds = { -1, -1 },     \
		.diary = -1                                                                        \
	}

struct cgroup_limits {
	unsigned long max_procs;   /* 0: none; counts threads, as the kernel does */
	unsigned long long memory; /* bytes, 0: none */
};

/* Where is our place in one hierarchy? `mountinfo` and `cgroups` are the texts of
 * /proc/self/mountinfo and /proc/self/cgroup; controller is NULL for v2, else a v1 controller's
 * name. -ENOENT: not mounted, -EXDEV: mounted, but our own group is outside of what is mounted
 * here. */
int cgroup_locate(const char *mountinfo, const char *cgroups, const char *controller, char *out_dir,
		  size_t size);

/* The v2 directory we live in, from /proc. On failure -errno, and `why` says for people what is
 * missing. */
int cgroup_find(char *out_dir, size_t size, char *why, size_t why_size);

/* Make a cgroup for the tree `id`. On failure nothing is left behind and `why` says what is
 * missing. */
int cgroup_make(struct cgroup *cg, const char *id, char *why, size_t why_size);

/* Put limits on it; cg->fd may be -1, then only v1 can serve. May move the (still empty) cgroup one
 * directory up, where a delegation has its controllers. -ENOTSUP with `why` when this machine, or
 * we, cannot. */
int cgroup_limit(struct cgroup *cg, const char *id, const struct cgroup_limits *lim, char *why,
		 size_t why_size);

/* Move the calling process into it, where clone3 could not start it there. -errno. */
int cgroup_enter(const struct cgroup *cg);

/* Move the calling process into the v1 cgroups that carry its limits. -errno. */
int cgroup_enter_limits(const struct cgroup *cg);

/* Are we in it? `cgroups` is the text of /proc/self/cgroup. */
bool cgroup_has_us(const struct cgroup *cg, const char *cgroups);

/* Move the calling process back to the cgroup it lived in when this one was made. -errno. */
int cgroup_go_home(const struct cgroup *cg);

/* Send SIGKILL to all that is in it or below, atomically against fork. Not enough alone: a process
 * whose main thread has exited does not get it (measured on 6.18), and who left the cgroup is not
 * in it. Both are still children of somebody: tree_kill finds them. */
void cgroup_kill(const struct cgroup *cg);

/* Is there a living process in it or below? CGROUP_UNKNOWN: there is no cgroup, or the kernel does
 * not say (the directory was removed): then an empty cgroup proves nothing. */
enum cgroup_state { CGROUP_UNKNOWN, CGROUP_EMPTY, CGROUP_POPULATED };
enum cgroup_state cgroup_look(const struct cgroup *cg);

/* Members, not those of sub-cgroups; at most max are stored. Returns the number stored. */
int cgroup_members(const struct cgroup *cg, pid_t *pids, int max);

/* Take over the open directory `fd` of a cgroup that exists, and open its files. On failure -errno,
 * and `fd` stays the caller's. */
int cgroup_open(struct cgroup *cg, int fd);

/* Remove the directories and what the server made below them, however deep; closes the descriptors.
 * Takes up to a second each, because the kernel may call one busy though it is empty. 0 when all
 * are gone; otherwise -errno, and the next janitor has to try again. */
int cgroup_remove(struct cgroup *cg);
