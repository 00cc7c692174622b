/* poller_native.h - poller.h for Windows: a completion port. */
#pragma once

#include <stdint.h>

#define POLLER_NESTS 0

struct poller_event {
	uint32_t events;
	uint64_t data;
};

static inline uint32_t poller_event_events(const struct poller_event *ev)
{
	return ev->events;
}

static inline uint64_t poller_event_data(const struct poller_event *ev)
{
	return ev->data;
}

int poller_wait(int poller, struct poller_event *out, int max, int timeout_ms);
