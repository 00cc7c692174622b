/* proc.c - see proc.h */
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t proc_read_file(int dirfd, const char *path, char *buf, size_t size)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
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
		   " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %ld %*d %llu %*u %lu",
		   &st.state, &st.ppid, &st.pgrp, &st.session, &utime, &stime, &st.threads, &st.start,
		   &st.rss_pages) != 9 ||
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

bool proc_has_env(pid_t pid, const char *entry)
{
	char path[40], buf[4096];
	size_t want = strlen(entry) + 1, have = 0;
	bool found = false;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* A window over the file: what may be the start of the entry is kept for the next read. */
	for (bool at_start = true; !found;) {
		ssize_t n = read(fd, buf + have, sizeof(buf) - have);
		if (n <= 0)
			break;
		have += (size_t)n;
		size_t i = 0;
		while (i < have) {
			char *nul = memchr(buf + i, '\0', have - i);
			if (!nul)
				break;
			if (at_start && (size_t)(nul - (buf + i)) + 1 == want &&
			    memcmp(buf + i, entry, want) == 0)
				found = true;
			i = (size_t)(nul - buf) + 1;
			at_start = true;
		}
		if (i == 0 && have == sizeof(buf)) {	/* a variable longer than the window: not ours */
			at_start = false;
			have = 0;
			continue;
		}
		memmove(buf, buf + i, have - i);
		have -= i;
	}
	close(fd);
	return found;
}
