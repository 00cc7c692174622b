/* pipe.c - see pipe.h: pipes, a pseudo terminal and a SOCK_SEQPACKET socket. */
#include "os/pipe.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "os/spawn.h"

#define LOW_FDS (SPAWN_FDS + 1)
#define WIDE    (256 << 10) /* bytes; a pipe has 64 KiB at first */

/* If the host has closed its stdio, a new descriptor can have a number from 0 to 3. The child needs
 * these numbers for its own descriptors (spawn.h), so ours are moved to higher numbers. */
static int pipe_raise(int *fd)
{
	int higher;

	if (*fd < 0)
		return -errno;
	if (*fd >= LOW_FDS)
		return 0;
	higher = fcntl(*fd, F_DUPFD_CLOEXEC, LOW_FDS);
	if (higher < 0)
		return -errno;
	close(*fd);
	*fd = higher;
	return 0;
}

/* Raise both ends and make ours nonblocking. On failure both are closed. */
static int pipe_finish(int ours, int theirs, int *out_ours, int *out_theirs)
{
	AUTO(fd_drop) int a = ours, b = theirs;
	int r = pipe_raise(&a);

	if (r == 0)
		r = pipe_raise(&b);
	if (r == 0 && fcntl(a, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r < 0)
		return r;
	*out_ours = TAKE_FD(a);
	*out_theirs = TAKE_FD(b);
	return 0;
}

int pipe_to_child(int *out_ours, int *out_theirs)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	return pipe_finish(pair[1], pair[0], out_ours, out_theirs);
}

int pipe_from_child(int *out_ours, int *out_theirs)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	return pipe_finish(pair[0], pair[1], out_ours, out_theirs);
}

int pipe_channel(int *out_ours, int *out_theirs)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	return pipe_finish(pair[0], pair[1], out_ours, out_theirs);
}

int pipe_null(int *out_theirs)
{
	AUTO(fd_drop) int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int r = pipe_raise(&fd);

	if (r < 0)
		return r;
	*out_theirs = TAKE_FD(fd);
	return 0;
}

static int pipe_copy(int fd, int *out)
{
	*out = fcntl(fd, F_DUPFD_CLOEXEC, LOW_FDS);
	return *out < 0 ? -errno : 0;
}

/* Our side has two descriptors of the master, because a watch is either for reading or for
 * writing. */
int pipe_terminal(int out_ours[2], int out_theirs[3])
{
	const struct winsize size = { .ws_row = 24, .ws_col = 80 };
	AUTO(fd_drop) int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), peer = -1;
	AUTO(fd_drop) int ours = -1, read_by_us = -1;
	AUTO(fd_drop) int theirs = -1, output = -1, errors = -1;
	int r;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
	    ioctl(master, TIOCSWINSZ, &size) < 0)
		return -errno;
	peer = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (peer < 0)
		return -errno;
	r = pipe_finish(TAKE_FD(master), TAKE_FD(peer), &ours, &theirs);
	if (r == 0)
		r = pipe_copy(ours, &read_by_us);
	if (r == 0)
		r = pipe_copy(theirs, &output);
	if (r == 0)
		r = pipe_copy(theirs, &errors);
	if (r < 0)
		return r;
	out_ours[0] = TAKE_FD(ours);
	out_ours[1] = TAKE_FD(read_by_us);
	out_theirs[0] = TAKE_FD(theirs);
	out_theirs[1] = TAKE_FD(output);
	out_theirs[2] = TAKE_FD(errors);
	return 0;
}

void pipe_widen(int fd, bool *done)
{
	if (!*done)
		fcntl(fd, F_SETPIPE_SZ, WIDE);
	*done = true;
}

int pipe_send(int ours, const char *message, size_t len)
{
	assert(len > 0);
	if (send(ours, message, len, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 0;
	return errno == EAGAIN || errno == ENOBUFS ? -EAGAIN : -EPIPE;
}

ssize_t pipe_receive(int ours, char *out, size_t size)
{
	ssize_t n;

	/* ECONNRESET: the child ended without reading our last message; reported once, before its
	 * own last messages */
	do {
		n = recv(ours, out, size, MSG_DONTWAIT);
	} while (n < 0 && (errno == ECONNRESET || errno == EINTR));
	if (n >= 0)
		return n;
	return errno == EAGAIN ? -EAGAIN : 0;
}
