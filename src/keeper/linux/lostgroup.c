/* lostgroup.c - see lostgroup.h */
#include "lostgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cgroup.h"
#include "clock.h"
#include "dir.h"
#include "proc.h"
#include "record.h"

#define DIR_OPEN (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* Members whose main thread has exited do not get cgroup.kill: do not wait longer for them. */
#define KILL_WAIT_US 50000

enum { NAME_SIZE = sizeof("killick-") + TREE_ID_LEN };

static void lostgroup_name(const char *id, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, "killick-%s", id);
}

static bool lostgroup_is_cgroup(int fd)
{
	const long v2 = 0x63677270, v1 = 0x27e0eb;
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && ((long)fs.f_type == v2 || (long)fs.f_type == v1);
}

/* The length of the part of `path` that is the mount point of a cgroup file system; 0: none. Uses
 * the kernel's list of mounts, because a stat of each part of the path might block on a dead file
 * system. */
static size_t lostgroup_mount(const char *path)
{
	static char text[65536]; /* read once, because it is large and there may be many records */
	size_t longest = 0;

	if (!text[0] && proc_read_file(AT_FDCWD, "/proc/self/mountinfo", text, sizeof(text)) < 0)
		return 0;
	for (const char *line = text; *line;) {
		/* "ID PARENT DEV ROOT MOUNTPOINT OPTIONS... - TYPE SOURCE SUPEROPTIONS" */
		const char *end = strchrnul(line, '\n'), *type = strstr(line, " - ");
		char point[CGROUP_PATH_MAX];
		size_t len;

		_Static_assert(CGROUP_PATH_MAX == 512, "the width below");
		if (type && type < end && strncmp(type, " - cgroup", 9) == 0 &&
		    sscanf(line, "%*s %*s %*s %*s %511s", point) == 1) {
			len = strlen(point);
			if (len > longest && strncmp(path, point, len) == 0 && path[len] == '/')
				longest = len;
		}
		line = *end ? end + 1 : end;
	}
	return longest;
}

struct lostgroup_how { /* the kernel's open_how; not every libc has it */
	uint64_t flags, mode, resolve;
};

/* Open a relative path below `at`. */
static int lostgroup_open_below(int at, const char *path)
{
	const uint64_t no_xdev = 0x01, no_symlinks = 0x04, beneath = 0x08;
	struct lostgroup_how how = { .flags = DIR_OPEN,
				     .resolve = no_xdev | no_symlinks | beneath };
	const long openat2_number = 437; /* the same on every architecture */
	int fd = (int)syscall(openat2_number, at, path, &how, sizeof(how));

	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return fd < 0 ? -errno : fd;
	/* refused by an old kernel or by seccomp. A cgroup file system has no symbolic links, and
	 * only root can mount a file system there. */
	if (strncmp(path, "../", 3) == 0 || strstr(path, "/../"))
		return -EINVAL;
	fd = openat(at, path, DIR_OPEN);
	return fd < 0 ? -errno : fd;
}

/* A server may remove all permissions of its own directory (chmod 000). The directory belongs to
 * this user: restore them, through the directory above. */
static int lostgroup_open_closed(int at, const char *path, const char *name)
{
	char above[CGROUP_PATH_MAX];
	int up, fd;

	snprintf(above, sizeof(above), "%.*s.", (int)(strlen(path) - strlen(name)), path);
	up = lostgroup_open_below(at, above);
	if (up < 0)
		return up;
	fd = fchmodat(up, name, 0755, 0) < 0 ? -errno : lostgroup_open_below(up, name);
	close(up);
	return fd;
}

int lostgroup_open(const char *path, const char *id)
{
	char point[CGROUP_PATH_MAX], name[NAME_SIZE];
	const char *slash = strrchr(path, '/');
	size_t len;
	int at, fd;

	lostgroup_name(id, name);
	if (!slash || strcmp(slash + 1, name) != 0)
		return -EINVAL;
	len = lostgroup_mount(path);
	if (len == 0 || len >= sizeof(point))
		return -EINVAL;
	snprintf(point, sizeof(point), "%.*s", (int)len, path);
	at = open(point, DIR_OPEN);
	if (at < 0)
		return -errno;
	path += len + strspn(path + len, "/");
	fd = lostgroup_is_cgroup(at) ? lostgroup_open_below(at, path) : -EINVAL;
	if (fd == -EACCES)
		fd = lostgroup_open_closed(at, path, name);
	close(at);
	if (fd >= 0 && !lostgroup_is_cgroup(fd)) {
		close(fd);
		fd = -EINVAL;
	}
	return fd == -ELOOP || fd == -EXDEV || fd == -ENOTDIR ? -EINVAL : fd;
}

static bool lostgroup_is_populated(int fd)
{
	char text[256];

	return proc_read_file(fd, "cgroup.events", text, sizeof(text)) > 0 &&
	       strstr(text, "populated 1");
}

int lostgroup_kill(int fd, long long deadline_us)
{
	const struct cgroup cg = { .fd = fd };
	long long until_us = clock_us() + KILL_WAIT_US;
	pid_t pids[1024];
	int n = cgroup_members(&cg, pids, (int)(sizeof(pids) / sizeof(pids[0])));

	if (until_us > deadline_us)
		until_us = deadline_us;
	while (proc_write_file(fd, "cgroup.kill", "1") == 0 && lostgroup_is_populated(fd) &&
	       clock_us() < until_us)
		poll(NULL, 0, 1); /* they are not children: their end causes no event */
	return n;
}

int lostgroup_remove(int fd, const char *id, long long deadline_us)
{
	char name[NAME_SIZE];
	int r, up = openat(fd, "..", DIR_OPEN);

	r = up < 0 ? -errno : 0;
	close(fd);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	lostgroup_name(id, name);
	r = dir_remove(up, name, deadline_us);
	close(up);
	return r;
}
