/* poller.c - see poller.h */
#include "os/poller.h"

_Static_assert(sizeof(struct poller_event) == sizeof(struct epoll_event),
	       "an array of them is one");
_Static_assert((int)POLLER_IN == EPOLLIN && (int)POLLER_OUT == EPOLLOUT &&
		       (int)POLLER_ERR == EPOLLERR && (int)POLLER_HUP == EPOLLHUP &&
		       (int)POLLER_RDHUP == EPOLLRDHUP,
	       "events are given to the kernel as they are");

int poller_open(void)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int poller_control(int poller, int op, int fd, struct epoll_event *ev)
{
	return epoll_ctl(poller, op, fd, ev) < 0 ? -errno : 0;
}

int poller_add(int poller, int fd, uint32_t events, uint64_t data)
{
	return poller_control(poller, EPOLL_CTL_ADD, fd,
			      &(struct epoll_event){ .events = events, .data.u64 = data });
}

int poller_change(int poller, int fd, uint32_t events, uint64_t data)
{
	return poller_control(poller, EPOLL_CTL_MOD, fd,
			      &(struct epoll_event){ .events = events, .data.u64 = data });
}

int poller_remove(int poller, int fd)
{
	return poller_control(poller, EPOLL_CTL_DEL, fd, &(struct epoll_event){ .events = 0 });
}
