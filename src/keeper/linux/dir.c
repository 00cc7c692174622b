/* dir.c - see dir.h */
#include "dir.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

struct entry { /* the kernel's linux_dirent64 */
	uint64_t ino;
	int64_t off;
	uint16_t size;
	uint8_t type;
	char name[];
};

typedef int (*dir_entry_fn)(void *ctx, int dirfd, const struct entry *e);

static int dir_each_entry(int dirfd, dir_entry_fn fn, void *ctx)
{
	_Alignas(struct entry) char buf[4096];

	lseek(dirfd, 0, SEEK_SET);
	for (;;) {
		long n = syscall(SYS_getdents64, dirfd, buf, sizeof(buf));
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		for (long at = 0; at < n;) {
			const struct entry *e = (const void *)(buf + at);
			if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0) {
				int r = fn(ctx, dirfd, e);
				if (r)
					return r;
			}
			assert(e->size > 0 && at + e->size <= n);
			at += e->size;
		}
	}
}

struct dir_names {
	dir_fn fn;
	void *ctx;
};

static int dir_pass_name(void *ctx, int dirfd, const struct entry *e)
{
	const struct dir_names *names = ctx;

	return names->fn(names->ctx, dirfd, e->name);
}

int dir_each(int dirfd, dir_fn fn, void *ctx)
{
	struct dir_names names = { fn, ctx };

	return dir_each_entry(dirfd, dir_pass_name, &names);
}

struct dir_child {
	char name[256];
};

static int dir_take_child(void *ctx, int dirfd, const struct entry *e)
{
	struct dir_child *child = ctx;
	struct stat st;

	if (e->type == DT_UNKNOWN
		    ? fstatat(dirfd, e->name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode)
		    : e->type != DT_DIR)
		return 0;
	snprintf(child->name, sizeof(child->name), "%s", e->name);
	return 1;
}

static int dir_descend(int dirfd, const char *name)
{
	int fd = openat(dirfd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool dir_rmdir(int dirfd, const char *name)
{
	return unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

/* Remove all directories in *fd: walk down into the first directory that has others below, and up
 * again when it has none. *fd is the current directory of the walk, and may be another descriptor
 * afterwards. */
static int dir_remove_below(int *fd, long long deadline_us)
{
	int depth = 0, why = -ETIME; /* error of a directory that stays */
	bool rose = false;           /* returned from a directory without directories below */

	for (;;) {
		struct dir_child child;
		int r = dir_each_entry(*fd, dir_take_child, &child);

		if (r < 0)
			return r;
		if (r == 0 && depth == 0)
			return 0;
		if (r > 0 && dir_rmdir(*fd, child.name)) {
			rose = false;
			continue;
		}
		r = r > 0 ? -errno : 0;
		if (r)
			why = r;
		if (clock_us() >= deadline_us)
			return why;
		if (r && rose) { /* busy, although nothing is below: a process is still in it */
			if (r != -EBUSY && r != -ENOTEMPTY)
				return r;
			poll(NULL, 0, 1);
		}
		assert(depth > 0 || r); /* never above the directory that was given */
		rose = r == 0;
		depth += rose ? -1 : 1;
		r = dir_descend(*fd, rose ? ".." : child.name);
		if (r == -ENOENT && !rose) { /* removed by another process meanwhile */
			depth--;
			continue;
		}
		if (r < 0)
			return r;
		close(*fd);
		*fd = r;
	}
}

int dir_remove(int dirfd, const char *name, long long deadline_us)
{
	while (!dir_rmdir(dirfd, name)) {
		int r, fd = dir_descend(dirfd, name);

		if (fd < 0)
			return fd == -ENOENT ? 0 : fd;
		r = dir_remove_below(&fd, deadline_us);
		close(fd);
		if (r < 0)
			return r;
		if (dir_rmdir(dirfd, name))
			return 0;
		if ((errno != EBUSY && errno != ENOTEMPTY) || clock_us() >= deadline_us)
			return -errno;
		poll(NULL, 0, 1);
	}
	return 0;
}
