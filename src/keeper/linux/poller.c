/* poller.c - see poller.h */
#include "poller.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int poller_open(void)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int poller_add(int poller, int index, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.u32 = (uint32_t)index };

	assert(index >= 0 && index < POLLER_MAX);
	return epoll_ctl(poller, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

void poller_change(int poller, int index, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.u32 = (uint32_t)index };

	assert(index >= 0 && index < POLLER_MAX);
	epoll_ctl(poller, EPOLL_CTL_MOD, fd, &ev);
}

void poller_remove(int poller, int fd)
{
	assert(fd >= 0);
	epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL);
}

void poller_wait(int poller, int timeout_ms, uint32_t out_events[POLLER_MAX])
{
	struct epoll_event got[POLLER_MAX];
	int n = epoll_wait(poller, got, POLLER_MAX, timeout_ms);

	memset(out_events, 0, POLLER_MAX * sizeof(out_events[0]));
	for (int i = 0; i < n; i++) {
		assert(got[i].data.u32 < POLLER_MAX);
		out_events[got[i].data.u32] = got[i].events;
	}
}
