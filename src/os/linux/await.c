/* await.c - see await.h */
#include "os/await.h"

#include <poll.h>

void await_readable(int fd)
{
	poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1);
}

void await_writable(int fd)
{
	poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
}
