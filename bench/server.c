#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

int server_start(struct server *s, const char *const *argv, char *const *env)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t defaults;
	int in[2], out[2], r;

	if (pipe2(in, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(out, O_CLOEXEC) < 0) {
		r = -errno;
		close(in[0]);
		close(in[1]);
		return r;
	}
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, in[0], 0);
	posix_spawn_file_actions_adddup2(&fa, out[1], 1);
	posix_spawnattr_init(&attr);
	/* we ignore SIGPIPE, and an ignored signal would be inherited */
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	r = posix_spawnp(&s->pid, argv[0], &fa, &attr, (char *const *)argv, env ? env : environ);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&attr);
	close(in[0]);
	close(out[1]);
	if (r) {
		close(in[1]);
		close(out[0]);
		return -r;
	}
	s->in = in[1];
	s->out = out[0];
	return 0;
}

static int wait_for(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };
	int r = poll(&p, 1, SERVER_DEADLINE_MS);

	return r > 0 ? 0 : r == 0 ? -ETIMEDOUT : -errno;
}

int server_call(struct server *s, const char *line, size_t len)
{
	static char buf[1 << 17];

	while (len) {
		ssize_t n = write(s->in, line, len);

		if (n < 0)
			return -errno;
		line += n;
		len -= (size_t)n;
	}
	for (;;) {
		int r = wait_for(s->out, POLLIN);
		ssize_t n;

		if (r < 0)
			return r;
		n = read(s->out, buf, sizeof(buf));
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		if (buf[n - 1] == '\n')
			return 0;
	}
}

int server_pump(struct server *s, const char *line, size_t len, size_t count, size_t window)
{
	static char buf[1 << 20];
	size_t sent = 0, got = 0, total = len * count; /* bytes */
	int r = 0, flags = fcntl(s->in, F_GETFL);

	fcntl(s->in, F_SETFL, flags | O_NONBLOCK);
	while (got < total) {
		size_t room = got + window * len;
		struct pollfd p[2] = { { .fd = s->out, .events = POLLIN },
				       { .fd = -1, .events = POLLOUT } };
		ssize_t n;

		if (sent < total && sent < room)
			p[1].fd = s->in;
		n = poll(p, 2, SERVER_DEADLINE_MS);
		if (n <= 0) {
			r = n ? -errno : -ETIMEDOUT;
			break;
		}
		if (p[1].revents) {
			/* the lines of one window go out in one write, as a pipelining client's
			 * would */
			static char out[1 << 20];
			size_t fill = 0, at = sent % len;

			while (sent + fill < total && sent + fill < room &&
			       fill < sizeof(out) - len) {
				memcpy(out + fill, line + at, len - at);
				fill += len - at;
				at = 0;
			}
			n = write(s->in, out, fill);
			if (n < 0 && errno != EAGAIN) {
				r = -errno;
				break;
			}
			sent += n > 0 ? (size_t)n : 0;
		}
		if (p[0].revents) {
			n = read(s->out, buf, sizeof(buf));
			if (n <= 0) {
				r = n ? -errno : -EPIPE;
				break;
			}
			got += (size_t)n;
		}
	}
	fcntl(s->in, F_SETFL, flags);
	return r;
}

void server_hang_up(struct server *s)
{
	if (s->in >= 0)
		close(s->in);
	s->in = -1;
}

int server_finish(struct server *s)
{
	int pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0), status = 0, r;

	server_hang_up(s);
	r = pidfd < 0 ? -errno : wait_for(pidfd, POLLIN);
	if (pidfd >= 0)
		close(pidfd);
	if (r < 0)
		kill(s->pid, SIGKILL);
	waitpid(s->pid, &status, 0);
	close(s->out);
	s->out = -1;
	return r < 0 ? r : status;
}

/* All children by /proc: those of a wrapper that died have come to us, and come as theirs die. */
static int kill_children(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int killed = 0;

	if (!d)
		return 0;
	while ((e = readdir(d))) {
		char path[300], text[512], *p;
		int fd, ppid, pgrp;
		ssize_t n;

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		if (n <= 0)
			continue;
		text[n] = 0;
		p = strrchr(text, ')');
		if (!p || sscanf(p + 1, " %*c %d %d", &ppid, &pgrp) != 2 || ppid != getpid())
			continue;
		/* the whole group where it is not ours: one process at a time never catches up with
		 * a bomb */
		killed += kill(pgrp == getpgrp() ? (pid_t)atoi(e->d_name) : -pgrp, SIGKILL) == 0;
	}
	closedir(d);
	return killed;
}

int server_kill_all(int patience_ms)
{
	int killed = 0;

	for (;;) {
		struct timespec nap = { .tv_nsec = 1000000 };
		pid_t pid = waitpid(-1, NULL, WNOHANG | __WALL);

		if (pid > 0)
			continue;
		if (pid < 0)
			return killed;
		if (patience_ms-- <= 0)
			killed += kill_children();
		nanosleep(&nap, NULL);
	}
}

bool server_runs(pid_t pid, const char *program)
{
	char path[64], exe[PATH_MAX], want[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n < 0 || !realpath(program, want))
		return false;
	exe[n] = '\0';
	return !strcmp(exe, want);
}
