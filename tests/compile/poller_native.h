/* poller_native.h - poller.h for systems without epoll: declarations only, for
 * scripts/check-compile.
 *
 * No code is behind these declarations, and no program is linked with them.
 */
#pragma once

#include <stdint.h>

#define POLLER_NESTS 0

struct poller_event {
	uint32_t events;
	uint64_t data;
};

uint32_t poller_event_events(const struct poller_event *ev);
uint64_t poller_event_data(const struct poller_event *ev);
int poller_wait(int poller, struct poller_event *out, int max, int timeout_ms);
