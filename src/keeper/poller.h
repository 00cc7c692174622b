/* poller.h - waiting for a handful of descriptors, by epoll.
 *
 * Not by poll(2): it fails with EINVAL when it is given more descriptors than RLIMIT_NOFILE allows,
 * and a server may lower that limit of its keepers to 0 (prlimit). What epoll knows it keeps.
 * Threads: one.  Blocking: poller_wait.  Allocates: never.
 */
#pragma once

#include <stdint.h>
#include <sys/epoll.h>

#define POLLER_MAX 8 /* descriptors of one poller */

/* A new one (CLOEXEC), or -errno. */
int poller_open(void);

/* Wait for `events` (EPOLLIN ...; a hang-up always counts) of fd as number `index`. -errno: -EPERM
 * for a file that never has news, such as a regular one. */
int poller_add(int poller, int index, int fd, uint32_t events);

/* Wait for something else of a descriptor, or not at all any more. */
void poller_change(int poller, int index, int fd, uint32_t events);
void poller_remove(int poller, int fd);

/* Wait up to timeout_ms (-1: for ever). out_events[index] is what number `index` has, 0: nothing.
 */
void poller_wait(int poller, int timeout_ms, uint32_t out_events[POLLER_MAX]);
