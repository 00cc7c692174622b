/* lostgroup.h - a cgroup directory of a lost tree, as its record names it.
 *
 * A record is a file and can be forged, so its path is not trusted: it must be below a mounted
 * cgroup file system, end with the name that a keeper gives to the tree's cgroup, and is opened
 * from the mount point on without symbolic links, without "..", and without leaving that file
 * system. So no other file system is accessed, and a dead one cannot block the janitor.
 *
 * Life: lostgroup_open -> lostgroup_kill -> lostgroup_remove. Allocates: never.
 */
#pragma once

/* Open the directory `path` of the tree `id`. -EINVAL: the path cannot be that of this tree's
 * cgroup; -ENOENT: it is gone; other -errno: could not be opened. */
int lostgroup_open(const char *path, const char *id);

/* SIGKILL every process in the cgroup and below, until the kernel reports it empty or the deadline
 * (clock_us) has passed. A cgroup v1 has no cgroup.kill, and a member whose main thread has exited
 * does not get the signal: hunt.h finds those. Returns how many members there were. */
int lostgroup_kill(int fd, long long deadline_us);

/* Remove the directory of the tree `id` that is open as fd, and all below it; closes fd. 0, or
 * -errno when directories stay. */
int lostgroup_remove(int fd, const char *id, long long deadline_us);
