/* line_fd.h - writes a line to a descriptor.
 * Threads: any.  Blocking: only line_write, as write(2) does.  Allocates: never.
 */
#pragma once

#include "keeper/line.h"

/* Write the line to a reader that may not read: skipped unless fd is writable within timeout_ms. 0,
 * or -errno; -ETIMEDOUT: no room in time. */
int line_offer(const struct line *l, int fd, int timeout_ms);

/* Write the whole line to fd, and continue after EINTR and short writes. -errno on failure. */
int line_write(const struct line *l, int fd);
