/* quiet.c - see quiet.h */
#include "base/quiet.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Block SIGPIPE during the write, and consume the signal if the write caused one. */
static ssize_t write_masked(int fd, const struct iovec *pieces, int count)
{
	static const struct timespec at_once;
	sigset_t pipe_only, before, pending;
	int error;
	ssize_t n;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
	n = writev(fd, pieces, count);
	error = errno;
	if (n < 0 && error == EPIPE && !sigismember(&before, SIGPIPE)) {
		sigpending(&pending);
		if (sigismember(&pending, SIGPIPE))
			sigtimedwait(&pipe_only, NULL, &at_once);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return n;
}

/* Linux 6.18 has a flag that suppresses SIGPIPE; older kernels need the signal mask. */
ssize_t quiet_writev(int fd, const struct iovec *pieces, int count)
{
	static atomic_bool too_old;
	const int no_signal = 0x100; /* RWF_NOSIGNAL */
	ssize_t n;

	if (atomic_load_explicit(&too_old, memory_order_relaxed))
		return write_masked(fd, pieces, count);
	n = pwritev2(fd, pieces, count, -1, no_signal);
	if (n >= 0 || errno != EOPNOTSUPP)
		return n;
	atomic_store_explicit(&too_old, true, memory_order_relaxed);
	return write_masked(fd, pieces, count);
}

ssize_t quiet_write(int fd, const void *bytes, size_t len)
{
	return quiet_writev(fd, &(struct iovec){ (void *)bytes, len }, 1);
}
