/* dir.h - the names in a directory, without allocating (opendir does).
 * Threads: any.  Blocking: as the file system does.
 */
#pragma once

/* fn returns 0 to go on; another value stops dir_each, which returns that value. `.` and `..` are
 * skipped. */
typedef int (*dir_fn)(void *ctx, int dirfd, const char *name);

/* Call fn for each name. Names that are added or removed meanwhile may or may not be seen. -errno
 * when the directory cannot be read. */
int dir_each(int dirfd, dir_fn fn, void *ctx);

/* Remove the directory `name` in dirfd and every directory below it, at any depth, with one open
 * descriptor at a time. Files are not removed: the files of a cgroup vanish with their directory. A
 * busy directory is retried until deadline_us (clock_us). 0 when all directories are gone, also
 * when there was none; else -errno of the first directory that stays. */
int dir_remove(int dirfd, const char *name, long long deadline_us);
