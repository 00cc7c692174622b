/* pollset.c - see pollset.h */
#include "pollset.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int pollset_open(void)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int pollset_add(int pollset, int index, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.u32 = (uint32_t)index };

	assert(index >= 0 && index < POLLSET_MAX);
	return epoll_ctl(pollset, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

void pollset_change(int pollset, int index, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.u32 = (uint32_t)index };

	assert(index >= 0 && index < POLLSET_MAX);
	epoll_ctl(pollset, EPOLL_CTL_MOD, fd, &ev);
}

void pollset_remove(int pollset, int fd)
{
	assert(fd >= 0);
	epoll_ctl(pollset, EPOLL_CTL_DEL, fd, NULL);
}

void pollset_wait(int pollset, int timeout_ms, uint32_t out_events[POLLSET_MAX])
{
	struct epoll_event got[POLLSET_MAX];
	int n = epoll_wait(pollset, got, POLLSET_MAX, timeout_ms);

	memset(out_events, 0, POLLSET_MAX * sizeof(out_events[0]));
	for (int i = 0; i < n; i++) {
		assert(got[i].data.u32 < POLLSET_MAX);
		out_events[got[i].data.u32] = got[i].events;
	}
}
