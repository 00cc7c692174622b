/* hub_place.c - see cli/hub_place.h */
#include "cli/hub_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "keeper/linux/proc.h"
#include "keeper/linux/record.h"

/* Time for an ending hub to release the lock: it has closed its socket and waits for its servers.
 */
#define TAKE_MS 5000
#define STEP_MS 10

static int hub_place_name(const char *dir, char out[NET_PATH_MAX], struct err *e)
{
	if (snprintf(out, NET_PATH_MAX, "%s/hub.sock", dir) < NET_PATH_MAX)
		return 0;
	return err_set(
		e, -ENAMETOOLONG,
		"the path of the runtime directory is too long for a socket (%zu bytes, at most "
		"%d): set KILLICK_RUNTIME_DIR to a shorter one than %.60s...",
		strlen(dir), NET_PATH_MAX - 1 - (int)sizeof("hub.sock"), dir);
}

/* The first directory that can be made or used; the descriptor or -errno. */
static int hub_place_open(char out[NET_PATH_MAX], struct err *e)
{
	int fd = -ENOENT, r;

	for (const char *const *dir = record_dirs(); *dir && fd < 0; dir++) {
		fd = record_make_dir(*dir);
		if (fd < 0) {
			err_set(e, fd,
				"cannot use the runtime directory %s: %s%s; set "
				"KILLICK_RUNTIME_DIR "
				"to a directory that only you can write",
				*dir, strerror(-fd),
				fd == -EPERM ? " (another user owns it, or can write to it)" : "");
			continue;
		}
		r = hub_place_name(*dir, out, e);
		if (r < 0) {
			close(fd);
			return r;
		}
	}
	return fd;
}

/* Connect to this path. -ENOENT and -ECONNREFUSED: no hub listens there. */
static int hub_place_call(const char *path, struct err *e)
{
	AUTO(fd_drop) int fd = net_open(NET_UNIX);
	struct net_peer who;
	int r = fd < 0 ? fd : net_connect_unix(fd, path);

	if (r < 0)
		return err_set(e, r, "cannot connect to %s: %s", path, strerror(-r));
	/* the environment of this process is sent: only to our own user, or to root */
	if (!net_peer(fd, &who))
		return err_set(e, -EACCES, "cannot find the owner of %s", path);
	if (!who.ours)
		return err_set(e, -EACCES, "%s belongs to another user (uid %lu)", path, who.uid);
	return TAKE_FD(fd);
}

int hub_place_connect(char out[NET_PATH_MAX], struct err *e)
{
	AUTO(fd_drop) int dirfd = -1;
	char path[NET_PATH_MAX];
	int r;

	/* a hub may listen in a directory that is not the first one, because it is older */
	for (const char *const *dir = record_dirs(); *dir; dir++) {
		int fd = record_open_dir(*dir);

		if (fd < 0)
			continue;
		close(fd);
		r = hub_place_name(*dir, path, e);
		if (r == 0)
			r = hub_place_call(path, e);
		if (r >= 0)
			memcpy(out, path, sizeof(path));
		if (r != -ENOENT && r != -ECONNREFUSED)
			return r;
	}
	dirfd = hub_place_open(out, e);
	return dirfd < 0 ? dirfd
			 : err_set(e, -ENOENT, "no hub is running: nothing listens on %s", out);
}

int hub_place_take(struct hub_place *out, struct err *e)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
	AUTO(fd_drop) int lock = -1;
	AUTO(fd_drop) int dirfd = hub_place_open(out->path, e);
	int r = dirfd < 0 ? dirfd : 0;

	if (r < 0)
		return r;
	lock = openat(dirfd, "hub.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		      0600);
	if (lock < 0)
		return err_set(e, -errno, "cannot open hub.lock beside %s: %s", out->path,
			       strerror(errno));
	for (int ms = 0; flock(lock, LOCK_EX | LOCK_NB) < 0; ms += STEP_MS) {
		AUTO(fd_drop) int fd = hub_place_call(out->path, NULL);

		if (fd >= 0)
			return err_set(e, -EALREADY,
				       "a hub of this user listens on %s already; 'killick hub "
				       "status' shows it",
				       out->path);
		if (ms >= TAKE_MS)
			return err_set(
				e, -EALREADY,
				"another process holds hub.lock beside %s and does not listen; "
				"end that hub first",
				out->path);
		nanosleep(&step, NULL);
	}
	out->lock = TAKE_FD(lock);
	return 0;
}

void hub_place_leave(void)
{
	/* spawn_detached has made this process the leader of a group, and a leader cannot begin a
	 * session: enter the group of the session's leader first */
	setpgid(0, getsid(0));
	setsid();
	umask(077);
	if (chdir("/") < 0)
		return; /* the directory of the client stays in use */
}

/* --- the tree of a caller --- */

#define ANCESTORS_MAX 1024 /* a longer chain is that of a process that hides */
#define LINEAGE_TRIES 8    /* ancestors may end while they are read */

struct lineage {
	struct who list[ANCESTORS_MAX]; /* the process, its parent, ... */
	int count;
	int keeper; /* index of the first one that is a keeper; 0: none */
	bool ours;  /* the hub is the owner of a keeper in the list */
};

/* Is the hub the owner of this keeper? The keeper's arguments say so, which no other process can
 * change. A record is no proof: a server can forge records. */
static bool lineage_is_ours(pid_t keeper)
{
	char path[40], text[1024];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)keeper);
	len = proc_read_file(AT_FDCWD, path, text, sizeof(text));
	for (const char *word = text, *next; word < text + len && strcmp(word, "--") != 0;
	     word = next) {
		next = word + strlen(word) + 1;
		if (strcmp(word, "--owner") == 0 && next < text + len)
			return atoi(next) == getpid();
	}
	return len <= 0;
}

/* Read the ancestors of the process up to the first one that `without` has. All descendants of a
 * hold stay below the hold, because it is a subreaper. Keepers are called killick, whatever the
 * name of their program is; a process of a tree that takes this name only makes a smaller tree for
 * its children. False: an ancestor has ended meanwhile, or the chain is too long. */
static bool lineage_try(pid_t pid, const struct lineage *without, struct lineage *out)
{
	struct proc_stat st, parent, again;

	out->count = out->keeper = 0;
	out->ours = false;
	if (proc_stat_get(pid, &st) < 0)
		return false;
	while (out->count < ANCESTORS_MAX) {
		for (int i = 0; without && i < without->count; i++)
			if (without->list[i].pid == st.pid && without->list[i].start == st.start)
				return true;
		if (out->count && strcmp(st.comm, "killick") == 0) {
			out->keeper = out->keeper ? out->keeper : out->count;
			out->ours = out->ours || lineage_is_ours(st.pid);
		}
		out->list[out->count++] = (struct who){ st.pid, st.start };
		if (st.ppid <= 1)
			return true;
		/* a process that is the parent before and after `parent` is read has not ended
		 * between, so `parent` is no later process with its pid */
		if (proc_stat_get(st.ppid, &parent) < 0 || proc_stat_get(st.pid, &again) < 0 ||
		    again.ppid != st.ppid || again.start != st.start)
			return false;
		st = parent;
	}
	return false;
}

static bool lineage_read(pid_t pid, const struct lineage *without, struct lineage *out)
{
	for (int i = 0; i < LINEAGE_TRIES; i++)
		if (lineage_try(pid, without, out))
			return true;
	return false;
}

static bool hub_place_on_mark(void *ctx, const char *value)
{
	const char *own = getenv(TREE_ENV);

	if (strlen(value) != TREE_ID_LEN || (own && strcmp(own, value) == 0))
		return false;
	memcpy(ctx, value, TREE_ID_LEN + 1);
	return true;
}

/* The id of a tree in the name of the cgroup; false: none. */
static bool hub_place_read_cgroup(const char *pid, char out[TREE_ID_LEN + 1])
{
	static const char name[] = "/killick-";
	char path[40], text[4096], *at = text;

	snprintf(path, sizeof(path), "/proc/%s/cgroup", pid);
	if (proc_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	while ((at = strstr(at, name))) {
		at += sizeof(name) - 1;
		if (strspn(at, "0123456789abcdef") == TREE_ID_LEN) {
			snprintf(out, TREE_ID_LEN + 1, "%s", at);
			return true;
		}
	}
	return false;
}

static bool hub_place_is_elsewhere(long pid)
{
	char path[40], theirs[64] = "", ours[64] = "";

	snprintf(path, sizeof(path), "/proc/%ld/ns/pid", pid);
	return readlink("/proc/self/ns/pid", ours, sizeof(ours) - 1) > 0 &&
	       (readlink(path, theirs, sizeof(theirs) - 1) <= 0 || strcmp(ours, theirs) != 0);
}

void hub_place_find_tree(long pid, struct hub_tree *out)
{
	static struct lineage own, line;
	char mark[TREE_ID_LEN + 1] = "", group[TREE_ID_LEN + 1], number[16];
	bool whole;

	lineage_read(getpid(), NULL, &own);
	whole = lineage_read((pid_t)pid, &own, &line);
	*out = (struct hub_tree){ .ours = line.ours || !whole };
	if (line.keeper) {
		snprintf(out->name, sizeof(out->name), "keeper %d %llu", line.list[line.keeper].pid,
			 line.list[line.keeper].start);
		return;
	}
	snprintf(number, sizeof(number), "%ld", pid);
	proc_find_env((pid_t)pid, TREE_ENV, hub_place_on_mark, mark);
	if (!*mark && hub_place_read_cgroup(number, mark) && hub_place_read_cgroup("self", group) &&
	    strcmp(mark, group) == 0)
		*mark = '\0'; /* of a tree that has the hub, too */
	if (*mark)
		snprintf(out->name, sizeof(out->name), "mark %s", mark);
	else if (!whole || hub_place_is_elsewhere(pid))
		snprintf(out->name, sizeof(out->name), "unseen %ld", pid);
	out->ours = *out->name != '\0'; /* nothing shows that the tree is another one */
}
