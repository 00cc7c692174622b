/* proc.c - see proc.h */
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dir.h"

/* A FIFO, a terminal or a leased file in place of the expected file must not block the keeper. */
#define PROC_OPEN (O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

ssize_t proc_read_file(int dirfd, const char *path, char *buf, size_t size)
{
	int fd = openat(dirfd, path, O_RDONLY | PROC_OPEN);
	size_t len = 0;
	int error = 0;

	if (fd < 0)
		return -errno;
	while (len < size - 1) {
		ssize_t n = read(fd, buf + len, size - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			error = errno;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	buf[len] = '\0';
	return error && len == 0 ? -error : (ssize_t)len;
}

ssize_t proc_read_again(int fd, char *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	return n < 0 ? -errno : n;
}

int proc_write_file(int dirfd, const char *path, const char *text)
{
	int r = 0, fd = openat(dirfd, path, O_WRONLY | PROC_OPEN);

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		r = -errno;
	close(fd);
	return r;
}

#define PF_EXITING 0x4 /* of field 9 of /proc/PID/stat; the same since Linux 2.2 */

int proc_stat_parse(const char *text, struct proc_stat *out)
{
	struct proc_stat st = { .pid = 0 };
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned long long utime, stime;
	unsigned flags;

	/* comm is between the first '(' and the last ')': the name itself may hold both */
	if (!open || !close || close < open)
		return -EINVAL;
	st.pid = (pid_t)strtol(text, NULL, 10);
	snprintf(st.comm, sizeof(st.comm), "%.*s", (int)(close - open - 1), open + 1);
	if (sscanf(close + 1,
		   " %c %d %d %d %*d %*d %u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %ld %*d "
		   "%llu %*u %lu",
		   &st.state, &st.ppid, &st.pgrp, &st.session, &flags, &utime, &stime, &st.threads,
		   &st.start, &st.rss_pages) != 10 ||
	    st.pid <= 0)
		return -EINVAL;
	st.cpu_ticks = utime + stime;
	st.exiting = flags & PF_EXITING;
	*out = st;
	return 0;
}

int proc_stat_get(pid_t pid, struct proc_stat *out)
{
	char path[40], text[1024];
	ssize_t n;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	else
		snprintf(path, sizeof(path), "/proc/self/stat");
	n = proc_read_file(AT_FDCWD, path, text, sizeof(text));
	if (n < 0)
		return n == -ENOENT ? -ESRCH : (int)n;
	return proc_stat_parse(text, out);
}

bool proc_is_alive(const struct proc_stat *st)
{
	return st->state != 'X' && (st->state != 'Z' || st->threads > 1);
}

bool proc_is_own(uint64_t *out_heeded)
{
	char text[4096];
	const char *line;
	char *end;

	if (proc_read_file(AT_FDCWD, "/proc/self/status", text, sizeof(text)) < 0)
		return false;
	/* the pid of this process in every namespace from that of this /proc to its own: there must
	 * be just one */
	line = strstr(text, "\nNSpid:");
	if (!line) /* a kernel without pid namespaces */
		line = strstr(text, "\nPid:");
	if (!line)
		return false;
	if (strtol(strchr(line, ':') + 1, &end, 10) != getpid() || *end != '\n')
		return false;
	line = strstr(text, "\nSigIgn:");
	if (line && out_heeded) {
		uint64_t ignored = strtoull(strchr(line, ':') + 1, &end, 16);

		if (*end == '\n') /* the text may be cut off */
			*out_heeded = ~ignored;
	}
	return true;
}

/* By the text of the link, "pid:[4026531836]": stat(2) of what it leads to takes three times as
 * long. */
static unsigned long long proc_namespace(const char *path)
{
	char text[64];
	ssize_t n = readlink(path, text, sizeof(text) - 1);
	const char *number;

	text[n > 0 ? n : 0] = '\0';
	number = strchr(text, '[');
	return number ? strtoull(number + 1, NULL, 10) : 0;
}

unsigned long long proc_pid_namespace(void)
{
	return proc_namespace("/proc/self/ns/pid");
}

unsigned long long proc_time_namespace(void)
{
	return proc_namespace("/proc/self/ns/time");
}

int proc_open(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	char path[32];

	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
		snprintf(path, sizeof(path), "/proc/%d", (int)pid);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			errno = ESRCH;
	}
	return fd < 0 ? -errno : fd;
}

/* Is the handle a directory of /proc? Then its process: -ESRCH when it was reaped. */
static bool proc_is_directory(int handle, struct proc_stat *out, int *out_error)
{
	char text[1024];
	struct stat st;
	ssize_t n;

	if (fstat(handle, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	n = proc_read_file(handle, "stat", text, sizeof(text));
	*out_error = n > 0 ? proc_stat_parse(text, out) : n == 0 || n == -ENOENT ? -ESRCH : (int)n;
	return true;
}

int proc_signal(int handle, int sig)
{
	struct proc_stat st;
	int r = syscall(SYS_pidfd_send_signal, handle, sig, NULL, 0) < 0 ? -errno : 0;

	/* 5.1 and 5.2 send signals through a directory of /proc, too */
	if (r == 0 || r == -ESRCH || !proc_is_directory(handle, &st, &r) || r < 0)
		return r;
	return kill(st.pid, sig) < 0 ? -errno : 0;
}

bool proc_is_held(int handle)
{
	int r = proc_signal(handle, 0);

	return r == 0 || r == -EPERM;
}

bool proc_await_end(int handle, int timeout_ms)
{
	const int step_ms = 5;
	struct pollfd p = { .fd = handle, .events = POLLIN };
	struct proc_stat st;
	int r;

	if (!proc_is_directory(handle, &st, &r))
		return poll(&p, 1, timeout_ms) > 0;
	for (;;) {
		if (r == -ESRCH || (r == 0 && !proc_is_alive(&st)))
			return true;
		if (timeout_ms <= 0)
			return false;
		poll(NULL, 0, timeout_ms < step_ms ? timeout_ms : step_ms);
		timeout_ms -= step_ms;
		proc_is_directory(handle, &st, &r);
	}
}

int proc_hold(pid_t pid, unsigned long long start)
{
	struct proc_stat st;
	int r, fd = proc_open(pid);

	if (fd < 0)
		return fd;
	r = proc_stat_get(pid, &st);
	if (r == 0 && (st.start != start || !proc_is_held(fd)))
		r = -ESRCH;
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

/* The kernel limits arguments and environment of an exec to this size. Later a process may declare
 * any part of its memory as its environment (prctl PR_SET_MM_MAP), even terabytes. */
#define ENVIRON_MAX (6 << 20)

struct env_search {
	const char *name;
	proc_env_fn fn;
	void *ctx;
	int result; /* as the result of proc_find_env */
};

static bool proc_env_match(const struct env_search *s, const char *entry)
{
	size_t len = strlen(s->name);

	return strncmp(entry, s->name, len) == 0 && entry[len] == '=' &&
	       s->fn(s->ctx, entry + len + 1);
}

/* Read the NUL-separated entries of fd through a window: an incomplete entry at its end is kept for
 * the next read. Returns the number of bytes. */
static size_t proc_env_search(int fd, struct env_search *s)
{
	char buf[4096];
	size_t have = 0, total = 0;
	bool whole = true; /* the window starts at the start of an entry */
	ssize_t n;

	while (total < ENVIRON_MAX && (n = read(fd, buf + have, sizeof(buf) - have)) > 0) {
		size_t at = 0;

		have += (size_t)n;
		total += (size_t)n;
		for (char *nul; at < have && (nul = memchr(buf + at, '\0', have - at));
		     whole = true) {
			if (whole && proc_env_match(s, buf + at)) {
				s->result = 1;
				return total;
			}
			at = (size_t)(nul - buf) + 1;
		}
		if (at == 0 && have == sizeof(buf)) { /* longer than the window: skipped */
			whole = false;
			have = 0;
		} else {
			memmove(buf, buf + at, have - at);
			have -= at;
		}
	}
	return total;
}

int proc_want(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM ? -error : 0;
}

/* Search one environ file. True: it was not empty, or it cannot be opened for lack of descriptors
 * or memory. */
static bool proc_env_file(int dirfd, const char *path, struct env_search *s)
{
	int fd = openat(dirfd, path, O_RDONLY | PROC_OPEN);
	size_t len;

	if (fd < 0)
		return (s->result = proc_want(errno)) != 0;
	s->result = 0;
	len = proc_env_search(fd, s);
	close(fd);
	if (len == 0)
		s->result = -ENODATA;
	return len > 0;
}

static int proc_env_thread(void *ctx, int dirfd, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%.32s/environ", name);
	return proc_env_file(dirfd, path, ctx); /* stop: all threads share one environment */
}

int proc_find_env(pid_t pid, const char *name, proc_env_fn fn, void *ctx)
{
	struct env_search s = { .name = name, .fn = fn, .ctx = ctx };
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	if (proc_env_file(AT_FDCWD, path, &s))
		return s.result;
	/* Search the threads: a process whose main thread has exited shows no environment in its
	 * own file. */
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | PROC_OPEN);
	if (fd < 0)
		return proc_want(errno);
	dir_each(fd, proc_env_thread, &s);
	close(fd);
	return s.result;
}

static bool proc_env_equals(void *ctx, const char *value)
{
	return strcmp(value, ctx) == 0;
}

int proc_has_env(pid_t pid, const char *entry)
{
	const char *eq = strchr(entry, '=');
	char name[64], value[256];
	int r;

	if (!eq || (size_t)(eq - entry) >= sizeof(name) || strlen(eq + 1) >= sizeof(value))
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)(eq - entry), entry);
	snprintf(value, sizeof(value), "%s", eq + 1);
	r = proc_find_env(pid, name, proc_env_equals, value);
	return r == -ENODATA ? 0 : r;
}
