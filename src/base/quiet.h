/* quiet.h - write to a pipe without SIGPIPE when its reader is gone.
 *
 * Sockets have MSG_NOSIGNAL for this; pipes have nothing like it. Threads: any.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Like write and writev, but SIGPIPE is never raised. */
ssize_t quiet_write(int fd, const void *bytes, size_t len);
ssize_t quiet_writev(int fd, const struct iovec *pieces, int count);
