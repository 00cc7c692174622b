/* hub_place.c - see cli/hub_place.h */
#include "cli/hub_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
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
