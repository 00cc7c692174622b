/* quiet.h - write to a pipe that nobody reads, and live.
 *
 * A pipe has no MSG_NOSIGNAL. Threads: any.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/* As write and writev; they raise no SIGPIPE. */
ssize_t quiet_write(int fd, const void *bytes, size_t len);
ssize_t quiet_writev(int fd, const struct iovec *pieces, int count);
