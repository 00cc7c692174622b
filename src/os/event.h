/* event.h - a descriptor that is readable while it is set.
 *
 * For threads of ours that have a result for the loop. The loop's own wake-up is a bell (bell.h).
 * Life: event_open -> event_set, event_clear -> fd_close. Threads: any.  Blocking: never.
 */
#pragma once

int event_open(void); /* the descriptor, or -errno */
/* 0, or -errno if the host has closed the descriptor. */
int event_set(int fd);
/* The same; -EAGAIN: it was not set. */
int event_clear(int fd);
/* Only on Windows: the HANDLE of the event, for a host that waits by itself; NULL: fd is no event.
 */
void *event_handle(int fd);
