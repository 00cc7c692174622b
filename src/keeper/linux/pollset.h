/* pollset.h - waits for a few descriptors with epoll.
 *
 * poll(2) is not used: it fails with EINVAL when it gets more descriptors than RLIMIT_NOFILE
 * allows, and a server may lower that limit of its keepers to 0 (prlimit). epoll keeps the
 * descriptors that were added before.
 * Threads: one.  Blocking: pollset_wait.  Allocates: never.
 */
#pragma once

#include <stdint.h>
#include <sys/epoll.h>

#define POLLSET_MAX 8 /* descriptors of one pollset */

/* A new pollset (CLOEXEC), or -errno. */
int pollset_open(void);

/* Wait for `events` (EPOLLIN ...; a hang-up always counts) of fd as number `index`. -errno: -EPERM
 * for a file that epoll does not support, such as a regular file. */
int pollset_add(int pollset, int index, int fd, uint32_t events);

/* Wait for other events of a descriptor, or stop waiting for it. */
void pollset_change(int pollset, int index, int fd, uint32_t events);
void pollset_remove(int pollset, int fd);

/* Wait up to timeout_ms (-1: for ever). out_events[index] has the events of number `index`. */
void pollset_wait(int pollset, int timeout_ms, uint32_t out_events[POLLSET_MAX]);
