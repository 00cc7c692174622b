/* dir.h - the names in a directory, without allocating (opendir does).
 * Threads: any.  Blocking: as the file system does.
 */
#pragma once

/* fn returns 0 to go on, else dir_each stops and returns that. `.` and `..` are left out. */
typedef int (*dir_fn)(void *ctx, int dirfd, const char *name);

/* Call fn for each name. Names that come or go meanwhile may or may not be seen. -errno when it
 * cannot be read. */
int dir_each(int dirfd, dir_fn fn, void *ctx);

/* Remove the directory `name` in dirfd and every directory below it, however deeply nested: one
 * descriptor is open at a time. Other files are left alone: those of a cgroup vanish with their
 * directory. A directory that is busy is tried again until deadline_us (clock_us). 0 when all are
 * gone, also when there was none; else -errno of the first that stays. */
int dir_remove(int dirfd, const char *name, long long deadline_us);
