/* given.c - see given.h */
#include "os/given.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/sockaddr.h"

#define GIVEN_FIRST 3 /* the first descriptor from a service manager */

/* The number of sockets; the variables must not reach other programs. */
static int given_count(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	int n = pid && count && atol(pid) == getpid() ? atoi(count) : 0;

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return n;
}

static void given_path(const struct sockaddr_un *un, socklen_t len, struct given *out)
{
	if (un->sun_path[0])
		snprintf(out->path, sizeof(out->path), "%s", un->sun_path);
	else /* abstract: the name has a length and no NUL at its end */
		snprintf(out->path, sizeof(out->path), "@%.*s",
			 (int)(len - offsetof(struct sockaddr_un, sun_path) - 1), un->sun_path + 1);
}

int given_take(struct given *out)
{
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
	int n = given_count(), listens = 0;
	socklen_t len = sizeof(at), size = sizeof(listens);

	*out = (struct given){ .fd = -1 };
	if (n <= 0)
		return 0;
	fcntl(GIVEN_FIRST, F_SETFD, FD_CLOEXEC);
	if (n > 1)
		return -E2BIG;
	out->fd = GIVEN_FIRST;
	if (getsockname(out->fd, (struct sockaddr *)&at, &len) < 0 ||
	    getsockopt(out->fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || !listens)
		return -ENOTSOCK;
	if (at.ss_family == AF_UNIX)
		given_path((const struct sockaddr_un *)&at, len, out);
	else if (!sockaddr_read((const struct sockaddr *)&at, &out->at))
		return -EAFNOSUPPORT;
	return 1;
}
