/* poller_native.h - poller.h for Linux: epoll. */
#pragma once

#include <errno.h>
#include <sys/epoll.h>

#define POLLER_NESTS 1

struct poller_event {
	struct epoll_event native;
};

static inline uint32_t poller_event_events(const struct poller_event *ev)
{
	return ev->native.events;
}

static inline uint64_t poller_event_data(const struct poller_event *ev)
{
	return ev->native.data.u64;
}

static inline int poller_wait(int poller, struct poller_event *out, int max, int timeout_ms)
{
	int n = epoll_wait(poller, (struct epoll_event *)(void *)out, max, timeout_ms);

	return n < 0 ? -errno : n;
}
