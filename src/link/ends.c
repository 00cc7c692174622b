/* ends.c - see ends.h */
#include "link/ends.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "link/launch.h"

void ends_drop(struct ends *ends)
{
	for (int i = 0; i < SPAWN_FDS; i++) {
		fd_drop(&ends->ours[i]);
		fd_drop(&ends->theirs[i]);
	}
}

static int make_pipe(struct ends *ends, int i)
{
	int pair[2], r;

	assert(i >= 0 && i < SPAWN_FDS);
	if (i == SPAWN_FDS - 1)
		r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
	else
		r = pipe2(pair, O_CLOEXEC);
	if (r < 0)
		return -errno;
	ends->ours[i] = pair[i == 0];
	ends->theirs[i] = pair[i != 0];
	return 0;
}

/* The program's stdin, stdout and stderr are one terminal. Our side has two descriptors of its
 * master: one for writing, one for reading. */
static int make_terminal(struct ends *ends)
{
	const struct winsize size = { .ws_row = 24, .ws_col = 80 };
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	ends->ours[0] = master;
	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
	    ioctl(master, TIOCSWINSZ, &size) < 0)
		return -errno;
	ends->theirs[0] = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (ends->theirs[0] < 0)
		return -errno;
	ends->ours[1] = fcntl(master, F_DUPFD_CLOEXEC, 0);
	ends->theirs[1] = fcntl(ends->theirs[0], F_DUPFD_CLOEXEC, 0);
	ends->theirs[2] = fcntl(ends->theirs[0], F_DUPFD_CLOEXEC, 0);
	return ends->ours[1] < 0 || ends->theirs[1] < 0 || ends->theirs[2] < 0 ? -errno : 0;
}

static int make_stdio(struct ends *ends, enum stdio kind)
{
	int r = 0;

	switch (kind) {
	case STDIO_TERMINAL:
		return make_terminal(ends);
	case STDIO_NULL:
		ends->theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		r = ends->theirs[0] < 0 ? -errno : 0;
		break;
	case STDIO_PIPES:
		r = make_pipe(ends, 0);
		break;
	}
	if (r == 0)
		r = make_pipe(ends, 1);
	return r < 0 ? r : make_pipe(ends, 2);
}

int ends_make(struct ends *ends, enum stdio kind)
{
	int r = make_stdio(ends, kind);

	if (r == 0)
		r = make_pipe(ends, SPAWN_FDS - 1);
	for (int i = 0; r == 0 && i < SPAWN_FDS; i++) {
		r = launch_raise_fd(&ends->theirs[i]);
		if (r < 0 || ends->ours[i] < 0)
			continue;
		r = launch_raise_fd(&ends->ours[i]);
		if (r == 0 && fcntl(ends->ours[i], F_SETFL, O_NONBLOCK) < 0)
			r = -errno;
	}
	return r;
}
