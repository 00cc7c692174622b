/* fd.c - see fd.h: writing without SIGPIPE */
#include "os/fd.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(struct fd_piece) == sizeof(struct iovec) &&
		       offsetof(struct fd_piece, bytes) == offsetof(struct iovec, iov_base) &&
		       offsetof(struct fd_piece, len) == offsetof(struct iovec, iov_len),
	       "pieces are given to the kernel as they are");

/* Block SIGPIPE during the write, and consume the signal if the write caused one. */
static ssize_t fd_writev_masked(int fd, const struct fd_piece *pieces, int count)
{
	static const struct timespec at_once;
	sigset_t pipe_only, before, pending;
	ssize_t n;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
	n = fd_writev_ours(fd, pieces, count);
	if (n == -EPIPE && !sigismember(&before, SIGPIPE)) {
		sigpending(&pending);
		if (sigismember(&pending, SIGPIPE))
			sigtimedwait(&pipe_only, NULL, &at_once);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return n;
}

#ifndef __GLIBC__ /* musl 1.2.3 has no pwritev2(); an offset of -1 has two words of -1 */
static ssize_t pwritev2(int fd, const struct iovec *pieces, int count, off_t offset, int flags)
{
	return syscall(SYS_pwritev2, fd, pieces, count, offset, offset, flags);
}
#endif

/* Linux 6.18 has a flag that suppresses SIGPIPE; older kernels need the signal mask. */
ssize_t fd_writev(int fd, const struct fd_piece *pieces, int count)
{
	static atomic_bool too_old;
	const int no_signal = 0x100; /* RWF_NOSIGNAL */
	ssize_t n;

	if (atomic_load_explicit(&too_old, memory_order_relaxed))
		return fd_writev_masked(fd, pieces, count);
	n = pwritev2(fd, (const struct iovec *)(const void *)pieces, count, -1, no_signal);
	if (n >= 0)
		return n;
	if (errno != EOPNOTSUPP)
		return -errno;
	atomic_store_explicit(&too_old, true, memory_order_relaxed);
	return fd_writev_masked(fd, pieces, count);
}

ssize_t fd_write(int fd, const void *bytes, size_t len)
{
	return fd_writev(fd, &(struct fd_piece){ bytes, len }, 1);
}
