/* fd.h - a descriptor: the number of something that this process has open, and its bytes.
 *
 * On Linux the number is the kernel's. On Windows it is an index into a table of ours (from
 * FD_FIRST on) whose entries are pipes, sockets, events, processes and pollers; smaller numbers are
 * files of the C runtime.
 *
 * Every function of os/ returns its error as -errno, also where errno is set as well.
 * Threads: any.  Blocking: only for a descriptor that was made to block.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct fd_piece { /* one of several ranges of bytes that are written together */
	const void *bytes;
	size_t len;
};

#include "fd_native.h"

/* Read at most `size` bytes. 0: end of file. -EAGAIN: nothing to read now; -EINTR; other errors.
 *
 *	ssize_t fd_read(int fd, void *out, size_t size);
 *
 * Write some of the bytes and return how many. -EAGAIN: no room now; -EPIPE: nothing reads any
 * more; -EINTR; other errors. SIGPIPE is never raised: sockets have MSG_NOSIGNAL for this, pipes
 * have nothing like it.
 *
 *	ssize_t fd_write(int fd, const void *bytes, size_t len);
 *	ssize_t fd_writev(int fd, const struct fd_piece *pieces, int count);
 *
 * The same for threads of kind THREAD_OURS (thread.h), which have every signal blocked: on old
 * kernels these calls are cheaper.
 *
 *	ssize_t fd_write_ours(int fd, const void *bytes, size_t len);
 *	ssize_t fd_writev_ours(int fd, const struct fd_piece *pieces, int count);
 *
 * Close once; EINTR is not retried, because on Linux the descriptor is gone by then. On Windows
 * bytes that were written are delivered after the close.
 *
 *	void fd_close(int fd);
 */

/* For AUTO: close *fd if it is not -1. */
static inline void fd_drop(int *fd)
{
	if (*fd >= 0)
		fd_close(*fd);
	*fd = -1;
}

/* The value of fd; fd itself becomes -1, so that its cleanup closes nothing. */
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int *take_fd_p = &(fd);                                                            \
		int take_fd_v = *take_fd_p;                                                        \
		*take_fd_p = -1;                                                                   \
		take_fd_v;                                                                         \
	})
