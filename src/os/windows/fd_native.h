/* fd_native.h - fd.h for Windows. */
#pragma once

#include <errno.h>
#include <stdint.h>

#define FD_FIRST 0x10000 /* smaller descriptors are those of the C runtime */

/* errors that the C runtime of Windows has no number for */
#ifndef ESTALE
#define ESTALE 1070
#endif

ssize_t fd_read(int fd, void *out, size_t size);
ssize_t fd_write(int fd, const void *bytes, size_t len);
ssize_t fd_writev(int fd, const struct fd_piece *pieces, int count);
void fd_close(int fd);

/* There are no signals. */
static inline ssize_t fd_write_ours(int fd, const void *bytes, size_t len)
{
	return fd_write(fd, bytes, len);
}

static inline ssize_t fd_writev_ours(int fd, const struct fd_piece *pieces, int count)
{
	return fd_writev(fd, pieces, count);
}

/* The HANDLE of an event or a process, for a host that waits with functions of Windows. NULL: no
 * such descriptor. */
void *fd_handle(int fd);
