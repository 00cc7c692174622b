/* event.c - see event.h */
#include "os/event.h"

#include <stdint.h>
#include <sys/eventfd.h>

#include "os/fd.h"

int event_open(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

int event_set(int fd)
{
	uint64_t one = 1;
	ssize_t n;

	do
		n = fd_write_ours(fd, &one, sizeof(one));
	while (n == -EINTR);
	return n >= 0 || n == -EAGAIN ? 0 : (int)n; /* -EAGAIN: set, as often as can be counted */
}

int event_clear(int fd)
{
	uint64_t count;
	ssize_t n = fd_read(fd, &count, sizeof(count));

	return n < 0 ? (int)n : 0;
}
