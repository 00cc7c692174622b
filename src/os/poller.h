/* poller.h - waits for many descriptors at once, with the words of epoll.
 *
 * Level-triggered: a descriptor is reported by each wait while it is ready. On Linux a poller is an
 * epoll. On Windows it is a completion port, and readiness is made by hand: a pipe is readable when
 * a read of zero bytes has completed and writable when no write of ours is under way; sockets are
 * asked by the driver's own poll. Files and /dev/null cannot be waited for: -EPERM.
 * Life: poller_open -> poller_add ... poller_wait ... -> fd_close. Threads: any; only one thread
 * waits at a time.  Blocking: poller_wait.
 */
#pragma once

#include <stdint.h>

enum poller_events { /* the values of epoll */
		     POLLER_IN = 0x1,
		     POLLER_OUT = 0x4,
		     POLLER_ERR = 0x8, /* reported always; asked for alone: wait for nothing else */
		     POLLER_HUP = 0x10, /* reported always */
		     POLLER_RDHUP = 0x2000,
};

/* struct poller_event: what is ready, and the value that was given to poller_add. Read it with
 *
 *	uint32_t poller_event_events(const struct poller_event *ev);
 *	uint64_t poller_event_data(const struct poller_event *ev);
 *
 * POLLER_NESTS: one poller can wait for another. */
#include "poller_native.h"

int poller_open(void); /* the descriptor of a poller, or -errno */
/* 0 or -errno. A descriptor that is closed is removed by that. */
int poller_add(int poller, int fd, uint32_t events, uint64_t data);
int poller_change(int poller, int fd, uint32_t events, uint64_t data);
int poller_remove(int poller, int fd);
/* Wait for events for timeout_ms at most (-1: without limit), and fill in at most max of them.
 * Returns their number, 0 at the timeout, or -errno (-EINTR).
 *
 *	int poller_wait(int poller, struct poller_event *out, int max, int timeout_ms);
 */
