/* fd_native.h - fd.h for Linux: one system call each. */
#pragma once

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t fd_write(int fd, const void *bytes, size_t len);
ssize_t fd_writev(int fd, const struct fd_piece *pieces, int count);

static inline ssize_t fd_read(int fd, void *out, size_t size)
{
	ssize_t n = read(fd, out, size);

	return n < 0 ? -errno : n;
}

static inline ssize_t fd_write_ours(int fd, const void *bytes, size_t len)
{
	ssize_t n = write(fd, bytes, len);

	return n < 0 ? -errno : n;
}

static inline ssize_t fd_writev_ours(int fd, const struct fd_piece *pieces, int count)
{
	ssize_t n = writev(fd, (const struct iovec *)(const void *)pieces, count);

	return n < 0 ? -errno : n;
}

static inline void fd_close(int fd)
{
	close(fd);
}
