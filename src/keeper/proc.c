/* proc.c - see proc.h */
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dir.h"

/* O_NONBLOCK in all of this file: an open of a file on which somebody has a lease (fcntl F_SETLEASE,
 * also on files of /proc) would wait for up to 45 s; so it fails at once. */
ssize_t proc_read_file(int dirfd, const char *path, char *buf, size_t size)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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

int proc_write_file(int dirfd, const char *path, const char *text)
{
	int r = 0, fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		r = -errno;
	close(fd);
	return r;
}

int proc_stat_parse(const char *text, struct proc_stat *out)
{
	struct proc_stat st = { .pid = 0 };
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned long long utime, stime;

	/* comm is between the first '(' and the last ')': the name itself may hold both */
	if (!open || !close || close < open)
		return -EINVAL;
	st.pid = (pid_t)strtol(text, NULL, 10);
	snprintf(st.comm, sizeof(st.comm), "%.*s", (int)(close - open - 1), open + 1);
	if (sscanf(close + 1,
		   " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %ld %*d "
		   "%llu %*u %lu",
		   &st.state, &st.ppid, &st.pgrp, &st.session, &utime, &stime, &st.threads,
		   &st.start, &st.rss_pages) != 9 ||
	    st.pid <= 0)
		return -EINVAL;
	st.cpu_ticks = utime + stime;
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

/* Look through the NUL-separated entries of fd by a window: what may be the start of the entry
 * stays for the next read. *out_len is how much there was. */
static bool search(int fd, const char *entry, size_t *out_len)
{
	char buf[4096];
	size_t want = strlen(entry) + 1, have = 0;
	bool whole = true; /* the window begins where an entry begins */
	ssize_t n;

	*out_len = 0;
	while ((n = read(fd, buf + have, sizeof(buf) - have)) > 0) {
		size_t at = 0;

		have += (size_t)n;
		*out_len += (size_t)n;
		for (char *nul; at < have && (nul = memchr(buf + at, '\0', have - at));
		     whole = true) {
			size_t len = (size_t)(nul - (buf + at)) + 1;
			if (whole && len == want && memcmp(buf + at, entry, want) == 0)
				return true;
			at += len;
		}
		if (at == 0 &&
		    have == sizeof(buf)) { /* longer than the window: not what we look for */
			whole = false;
			have = 0;
		} else {
			memmove(buf, buf + at, have - at);
			have -= at;
		}
	}
	return false;
}

struct env_search {
	const char *entry;
	int result; /* as proc_has_env's */
};

/* Did an open fail for our own sake, and not because of the process we look at? */
static int proc_want(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM ? -error : 0;
}

static int search_thread(void *ctx, int dirfd, const char *name)
{
	struct env_search *s = ctx;
	char path[64];
	size_t len;
	int fd;

	snprintf(path, sizeof(path), "%.32s/environ", name);
	fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		s->result = proc_want(errno);
		return s->result;
	}
	s->result = search(fd, s->entry, &len);
	close(fd);
	return s->result || len > 0; /* one answer is enough: threads share it */
}

int proc_has_env(pid_t pid, const char *entry)
{
	struct env_search s = { .entry = entry };
	char path[40];
	int fd;

	/* By its threads: a process whose main thread has exited shows no environment in its own
	 * name. */
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return proc_want(errno);
	dir_each(fd, search_thread, &s);
	close(fd);
	return s.result;
}
