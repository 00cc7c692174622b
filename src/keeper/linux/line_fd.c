/* line_fd.c - see line_fd.h */
#include "line_fd.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"

/* select, because poll(2) fails after a server lowered RLIMIT_NOFILE of the keeper to 0. */
static bool line_has_room(int fd, int timeout_ms)
{
	struct timeval wait = { timeout_ms / 1000, timeout_ms % 1000 * 1000 };
	fd_set set;

	assert(fd >= 0);
	if (fd >= FD_SETSIZE)
		return true;
	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, NULL, &set, NULL, &wait) == 1;
}

/* A writable pipe has room for PIPE_BUF bytes; a client's pipe may be blocking. */
static int line_offer_pieces(const struct line *l, int fd, int timeout_ms)
{
	long long end_us = clock_us() + timeout_ms * 1000LL;
	size_t done = 0;

	while (done < l->len && line_has_room(fd, clock_left_ms(end_us))) {
		size_t piece = l->len - done < PIPE_BUF ? l->len - done : PIPE_BUF;
		ssize_t n = write(fd, l->text + done, piece);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return done < l->len ? -ETIMEDOUT : 0;
}

int line_offer(const struct line *l, int fd, int timeout_ms)
{
	struct stat st;

	if (l->len > PIPE_BUF && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
		return line_offer_pieces(l, fd, timeout_ms);
	/* a writable pipe takes PIPE_BUF bytes without blocking; a pipe of killick is O_NONBLOCK as
	 * well */
	return line_has_room(fd, timeout_ms) ? line_write(l, fd) : -ETIMEDOUT;
}

int line_write(const struct line *l, int fd)
{
	size_t done = 0;

	while (done < l->len) {
		ssize_t n = write(fd, l->text + done, l->len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}
