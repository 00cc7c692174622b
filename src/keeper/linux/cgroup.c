/* cgroup.c - see cgroup.h */
#include "cgroup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "clock.h"
#include "dir.h"
#include "proc.h"
#include "record.h"

#define REMOVE_MS 1000 /* for removing one directory and all below it */

/* What keeps each limit. */
static const struct {
	const char *controller, *v2_file, *v1_file;
} kept_by[LIMIT_COUNT] = {
	[LIMIT_PROCS] = { "pids", "pids.max", "pids.max" },
	[LIMIT_MEMORY] = { "memory", "memory.max", "memory.limit_in_bytes" },
};

const char *cgroup_controller(enum limit which)
{
	assert(kept_by[which].controller); /* a limit without its row here */
	return kept_by[which].controller;
}

/* Is `word` one of the comma-separated words in list[0..len)? */
static bool cgroup_has_word(const char *list, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list, *end = list + len; p < end;) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		size_t l = (size_t)((comma ? comma : end) - p);
		if (l == n && memcmp(p, word, n) == 0)
			return true;
		p += l + 1;
	}
	return false;
}

/* The path of this process in the hierarchy of `controller`: a line "ID:CONTROLLERS:PATH",
 * CONTROLLERS empty for v2. */
static const char *own_path(const char *cgroups, const char *controller, size_t *out_len)
{
	for (const char *line = cgroups; line && *line;) {
		const char *end = strchrnul(line, '\n');
		const char *first = memchr(line, ':', (size_t)(end - line));
		const char *second =
			first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;

		if (second) {
			size_t len = (size_t)(second - first - 1);
			if (controller ? cgroup_has_word(first + 1, len, controller)
				       : len == 0 && *line == '0') {
				*out_len = (size_t)(end - second - 1);
				return second + 1;
			}
		}
		line = *end ? end + 1 : NULL;
	}
	return NULL;
}

/* One line of mountinfo: "ID PARENT DEV ROOT MOUNTPOINT OPTIONS... - TYPE SOURCE SUPEROPTIONS". */
struct mount {
	char root[CGROUP_PATH_MAX], point[CGROUP_PATH_MAX], type[16], super[256];
};

static bool mount_parse(const char *line, size_t len, struct mount *m)
{
	char text[2048];
	char *sep;

	if (len >= sizeof(text))
		return false;
	memcpy(text, line, len);
	text[len] = '\0';
	sep = strstr(text, " - ");
	if (!sep)
		return false;
	*sep = '\0';
	_Static_assert(CGROUP_PATH_MAX == 512, "the widths below");
	return sscanf(text, "%*s %*s %*s %511s %511s", m->root, m->point) == 2 &&
	       sscanf(sep + 3, "%15s %*s %255s", m->type, m->super) == 2;
}

int cgroup_locate(const char *mountinfo, const char *cgroups, const char *controller, char *out_dir,
		  size_t size)
{
	size_t path_len;
	const char *path = own_path(cgroups, controller, &path_len);
	int result = -ENOENT;

	if (!path || path_len == 0 || path[0] != '/')
		return -ENOENT;
	for (const char *line = mountinfo; *line;) {
		const char *end = strchrnul(line, '\n');
		struct mount m;

		if (mount_parse(line, (size_t)(end - line), &m) &&
		    (controller ? strcmp(m.type, "cgroup") == 0 &&
					  cgroup_has_word(m.super, strlen(m.super), controller)
				: strcmp(m.type, "cgroup2") == 0)) {
			size_t root_len = strcmp(m.root, "/") == 0 ? 0 : strlen(m.root);
			/* below the mount's root, and not above the root of a cgroup namespace
			 * ("/../x") */
			if (path_len >= root_len && memcmp(path, m.root, root_len) == 0 &&
			    (path_len == root_len || path[root_len] == '/') &&
			    !(path_len >= 3 && memcmp(path, "/..", 3) == 0)) {
				size_t rest = path_len - root_len;
				if (rest == 1) /* "/": the mount point itself */
					rest = 0;
				int n = snprintf(out_dir, size, "%s%.*s", m.point, (int)rest,
						 path + root_len);
				return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
			}
			result = -EXDEV;
		}
		line = *end ? end + 1 : end;
	}
	return result;
}

/* Static, because the texts are large and needed only at start. */
static int locate(const char *controller, char *out_dir, size_t size)
{
	static char mountinfo[65536], cgroups[8192];

	if (!mountinfo[0] &&
	    (proc_read_file(AT_FDCWD, "/proc/self/mountinfo", mountinfo, sizeof(mountinfo)) < 0 ||
	     proc_read_file(AT_FDCWD, "/proc/self/cgroup", cgroups, sizeof(cgroups)) < 0))
		return -ENOENT;
	return cgroup_locate(mountinfo, cgroups, controller, out_dir, size);
}

/* v2 is nearly always mounted here. mountinfo can be long and is slow to print (70 us here, of a
 * start of 1.6 ms). */
static int locate_usual(char *out_dir, size_t size)
{
	static const char *const points[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	const long cgroup2_magic = 0x63677270;
	char cgroups[8192];
	const char *path;
	size_t len;

	if (proc_read_file(AT_FDCWD, "/proc/self/cgroup", cgroups, sizeof(cgroups)) < 0)
		return -ENOENT;
	path = own_path(cgroups, NULL, &len);
	if (!path || len == 0 || path[0] != '/' || strncmp(path, "/..", 3) == 0)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct statfs fs;
		int n = snprintf(out_dir, size, "%s%.*s", points[i], len > 1 ? (int)len : 0, path);

		if (n < 0 || (size_t)n >= size || statfs(points[i], &fs) < 0 ||
		    (long)fs.f_type != cgroup2_magic)
			continue;
		/* a mount of a part of the tree has other paths: then the path does not exist here,
		 * and mountinfo is read */
		return access(out_dir, F_OK) == 0 ? 0 : -ENOENT;
	}
	return -ENOENT;
}

int cgroup_find(char *out_dir, size_t size, char *why, size_t why_size)
{
	int r = locate_usual(out_dir, size);

	if (r < 0)
		r = locate(NULL, out_dir, size);

	if (r == -ENOENT)
		snprintf(why, why_size, "no cgroup v2 is mounted");
	else if (r == -EXDEV)
		snprintf(why, why_size,
			 "the cgroup of this process is not below the mounted cgroup v2");
	else if (r < 0)
		snprintf(why, why_size, "cannot find the cgroup of this process: %s", strerror(-r));
	return r;
}

/* mkdir DIR/killick-ID and open it. The path is appended to the record first: if the keeper is
 * killed in between, the janitor still knows the directory. */
static int make_at(const struct cgroup *cg, const char *dir, const char *id, char *out_path,
		   char *why, size_t why_size)
{
	int fd, n = snprintf(out_path, CGROUP_PATH_MAX, "%s/killick-%s", dir, id);

	if (n < 0 || n >= CGROUP_PATH_MAX) {
		snprintf(why, why_size, "the path of the cgroup of this process is too long");
		return -ENAMETOOLONG;
	}
	record_add(cg->diary, "cgroup", "%s", out_path);
	if (mkdir(out_path, 0755) < 0) {
		int error = errno;
		snprintf(why, why_size, "cannot make a cgroup in '%s': %s", dir, strerror(error));
		return -error;
	}
	fd = open(out_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		int error = errno;
		rmdir(out_path);
		snprintf(why, why_size, "cannot open '%s': %s", out_path, strerror(error));
		return -error;
	}
	return fd;
}

int cgroup_open(struct cgroup *cg, int fd)
{
	int events, kill = openat(fd, "cgroup.kill", O_WRONLY | O_CLOEXEC | O_NONBLOCK);

	if (kill < 0)
		return -errno;
	events = openat(fd, "cgroup.events", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (events < 0) {
		int error = errno;
		close(kill);
		return -error;
	}
	cg->fd = fd;
	cg->kill_fd = kill;
	cg->events_fd = events;
	return 0;
}

static void cgroup_close(struct cgroup *cg)
{
	close(cg->fd);
	close(cg->kill_fd);
	close(cg->events_fd);
	cg->fd = cg->kill_fd = cg->events_fd = -1;
}

int cgroup_make(struct cgroup *cg, const char *id, char *why, size_t why_size)
{
	char dir[CGROUP_PATH_MAX];
	int fd, r = cgroup_find(dir, sizeof(dir), why, why_size);

	if (r < 0)
		return r;
	fd = make_at(cg, dir, id, cg->path, why, why_size);
	if (fd < 0)
		return fd;
	r = cgroup_open(cg, fd);
	if (r == 0)
		cg->home_fd = openat(fd, "../cgroup.procs", O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	if (r < 0) {
		snprintf(why, why_size, "cannot open cgroup.kill and cgroup.events in '%s': %s%s",
			 dir, strerror(-r), r == -ENOENT ? " (they need Linux 5.14)" : "");
		close(fd);
		rmdir(cg->path);
	}
	return r;
}

static int write_limit(int dirfd, const char *name, unsigned long long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", value);
	return proc_write_file(dirfd, name, text);
}

/* Write the limits to v2 files. The parent may have the controller and not enable it for children:
 * try to enable it. */
static int limit_v2(int fd, const unsigned long long limits[LIMIT_COUNT])
{
	int r = 0;

	for (int i = 0; r == 0 && i < LIMIT_COUNT; i++) {
		char enable[16];

		if (!limits[i])
			continue;
		snprintf(enable, sizeof(enable), "+%s", cgroup_controller((enum limit)i));
		if (faccessat(fd, kept_by[i].v2_file, F_OK, 0) < 0)
			proc_write_file(fd, "../cgroup.subtree_control", enable);
		r = write_limit(fd, kept_by[i].v2_file, limits[i]);
	}
	if (r == 0 && limits[LIMIT_MEMORY]) {
		/* when memory runs out, the kernel kills the whole tree, not one random process;
		 * both files are optional */
		proc_write_file(fd, "memory.oom.group", "1");
		proc_write_file(fd, "memory.swap.max", "0");
	}
	return r;
}

/* In a delegation such as D/owner, D/tree-1 the keeper is in D/owner, and the controllers are
 * enabled in D. */
static int limit_one_up(struct cgroup *cg, const char *id,
			const unsigned long long limits[LIMIT_COUNT])
{
	char dir[CGROUP_PATH_MAX], path[CGROUP_PATH_MAX], why[200];
	char *slash;
	int fd, r;

	snprintf(dir, sizeof(dir), "%s", cg->path);
	for (int up = 0; up < 2; up++) {
		slash = strrchr(dir, '/');
		if (!slash || slash == dir)
			return -ENOTSUP;
		*slash = '\0';
	}
	fd = make_at(cg, dir, id, path, why, sizeof(why));
	if (fd < 0)
		return fd;
	r = limit_v2(fd, limits);
	if (r < 0) {
		close(fd);
		rmdir(path);
		return r;
	}
	cgroup_close(cg);
	rmdir(cg->path);
	memcpy(cg->path, path, sizeof(cg->path));
	r = cgroup_open(cg, fd);
	if (r < 0) {
		close(fd);
		rmdir(path);
	}
	return r;
}

static int limit_v1(struct cgroup *cg, const char *id, int which, unsigned long long value,
		    char *why, size_t why_size)
{
	const char *controller = cgroup_controller(which), *file = kept_by[which].v1_file;
	char dir[CGROUP_PATH_MAX];
	int fd, r = locate(controller, dir, sizeof(dir));

	if (r < 0) {
		snprintf(why, why_size, "the %s controller is not available", controller);
		return -ENOTSUP;
	}
	fd = make_at(cg, dir, id, cg->v1_paths[which], why, why_size);
	if (fd < 0)
		return -ENOTSUP;
	r = write_limit(fd, file, value);
	if (r < 0) {
		snprintf(why, why_size, "cannot write '%s/%s': %s", cg->v1_paths[which], file,
			 strerror(-r));
		close(fd);
		rmdir(cg->v1_paths[which]);
		return -ENOTSUP;
	}
	cg->v1_fds[which] = fd;
	return 0;
}

int cgroup_limit(struct cgroup *cg, const char *id, const unsigned long long limits[LIMIT_COUNT],
		 char *why, size_t why_size)
{
	int r = 0;

	if (cg->fd >= 0 && (limit_v2(cg->fd, limits) == 0 || limit_one_up(cg, id, limits) == 0))
		return 0;
	for (int i = 0; r == 0 && i < LIMIT_COUNT; i++)
		if (limits[i])
			r = limit_v1(cg, id, i, limits[i], why, why_size);
	return r;
}

int cgroup_enter(const struct cgroup *cg)
{
	return cg->fd >= 0 ? proc_write_file(cg->fd, "cgroup.procs", "0") : 0;
}

bool cgroup_has_us(const struct cgroup *cg, const char *cgroups)
{
	const char *slash = strrchr(cg->path, '/'), *path, *name;
	size_t len, name_len = slash ? strlen(slash) : 0;

	path = cg->fd >= 0 && slash ? own_path(cgroups, NULL, &len) : NULL;
	name = path ? memmem(path, len, slash, name_len) : NULL;
	return name && (name + name_len == path + len || name[name_len] == '/');
}

int cgroup_go_home(const struct cgroup *cg)
{
	return pwrite(cg->home_fd, "0", 1, 0) == 1 ? 0 : -errno;
}

int cgroup_enter_limits(const struct cgroup *cg)
{
	int r = 0;

	for (int i = 0; r == 0 && i < LIMIT_COUNT; i++) {
		if (cg->v1_fds[i] >= 0)
			r = proc_write_file(cg->v1_fds[i], "cgroup.procs", "0");
	}
	return r;
}

int cgroup_members(const struct cgroup *cg, pid_t *pids, int max)
{
	char text[16384];
	int n = 0;

	if (cg->fd < 0 || proc_read_file(cg->fd, "cgroup.procs", text, sizeof(text)) < 0)
		return 0;
	for (char *p = text; *p && n < max;) {
		long pid = strtol(p, &p, 10);
		if (pid > 0) /* 0: the process is not in this pid namespace */
			pids[n++] = (pid_t)pid;
		while (*p == '\n')
			p++;
	}
	return n;
}

void cgroup_kill(const struct cgroup *cg)
{
	if (cg->fd >= 0)
		(void)!pwrite(cg->kill_fd, "1", 1, 0);
}

enum cgroup_state cgroup_look(const struct cgroup *cg)
{
	char text[256];

	if (cg->fd < 0 || proc_read_again(cg->events_fd, text, sizeof(text)) < 0)
		return CGROUP_UNKNOWN;
	return strstr(text, "populated 0") ? CGROUP_EMPTY : CGROUP_POPULATED;
}

/* The cgroup may count the last process a little longer than /proc: rmdir returns EBUSY for an
 * instant. */
static int remove_soon(const char *path)
{
	return dir_remove(AT_FDCWD, path, clock_us() + REMOVE_MS * 1000LL);
}

int cgroup_remove(struct cgroup *cg)
{
	int r = 0;

	if (cg->fd >= 0) {
		cgroup_close(cg);
		if (cg->home_fd >= 0)
			close(cg->home_fd);
		cg->home_fd = -1;
		r = remove_soon(cg->path);
	}
	for (int i = 0; i < LIMIT_COUNT; i++) {
		if (cg->v1_fds[i] < 0)
			continue;
		close(cg->v1_fds[i]);
		cg->v1_fds[i] = -1;
		int r1 = remove_soon(cg->v1_paths[i]);
		if (r == 0)
			r = r1;
	}
	return r;
}
