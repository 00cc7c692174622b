/* replace.c - see replace.h */
#include "replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"

static int replace_read_all(struct replace *r, int fd)
{
	size_t size = (size_t)r->st.st_size;
	ssize_t n;

	if (buf_reserve(&r->text, size + 1) < 0)
		return -ENOMEM;
	/* one byte more than the size: a file that grows is seen */
	while ((n = read(fd, r->text.data + r->text.len, size + 1 - r->text.len)) > 0) {
		r->text.len += (size_t)n;
		if (r->text.len > size)
			return -ESTALE;
	}
	r->text.data[r->text.len] = '\0';
	return n < 0 ? -errno : 0;
}

int replace_read(struct replace *r, const char *path, struct err *e)
{
	AUTO(fd_drop) int fd = -1;
	int error;

	r->path = realpath(path, NULL);
	if (!r->path)
		return err_set(e, -errno, "cannot read %.180s: %s", path, strerror(errno));
	fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &r->st) < 0)
		return err_set(e, -errno, "cannot read %.180s: %s", path, strerror(errno));
	if (!S_ISREG(r->st.st_mode))
		return err_set(e, -EINVAL, "%.180s is no regular file", path);
	if (r->st.st_size > REPLACE_MAX - 2)
		return err_set(e, -EFBIG, "%.180s is too large", path);
	error = replace_read_all(r, fd);
	if (error)
		return err_set(e, error, "cannot read %.180s: %s", path,
			       error == -ESTALE ? "it is being written" : strerror(-error));
	return 0;
}

static int replace_write_all(int fd, const struct iovec *pieces, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *p = pieces[i].iov_base;
		size_t left = pieces[i].iov_len;

		while (left > 0) {
			ssize_t n = write(fd, p, left);

			if (n < 0 && errno != EINTR)
				return -errno;
			if (n > 0) {
				p += n;
				left -= (size_t)n;
			}
		}
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* A new file beside the old one, with its owner and mode; *temp is its path. */
static int replace_temp(const struct replace *r, char *temp, size_t size)
{
	const char *slash = strrchr(r->path, '/');
	int fd, error = 0;

	if (snprintf(temp, size, "%.*s.%s.killick-XXXXXX", (int)(slash + 1 - r->path), r->path,
		     slash + 1) >= (int)size)
		return -ENAMETOOLONG;
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if ((r->st.st_uid != geteuid() || r->st.st_gid != getegid()) &&
	    fchown(fd, r->st.st_uid, r->st.st_gid) < 0)
		error = -errno;
	if (!error && fchmod(fd, r->st.st_mode & 07777) < 0)
		error = -errno;
	if (error) {
		close(fd);
		unlink(temp);
		return error;
	}
	return fd;
}

/* Was the file changed since it was read? Its bytes are compared as well, because the times of a
 * file are no finer than a tick of the kernel. */
static bool replace_is_stale(const struct replace *r)
{
	AUTO(fd_drop) int fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char bytes[65536];
	struct stat st;
	size_t at = 0;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != r->st.st_dev ||
	    st.st_ino != r->st.st_ino || st.st_size != r->st.st_size ||
	    st.st_mtim.tv_sec != r->st.st_mtim.tv_sec ||
	    st.st_mtim.tv_nsec != r->st.st_mtim.tv_nsec)
		return true;
	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		if ((size_t)n > r->text.len - at ||
		    memcmp(bytes, r->text.data + at, (size_t)n) != 0)
			return true;
		at += (size_t)n;
	}
	return n < 0 || at != r->text.len;
}

/* Write a new file and rename it to `to`. `last_look`: not if the old file has changed. */
static int replace_put(const struct replace *r, const char *to, const struct iovec *pieces,
		       size_t count, bool last_look)
{
	char temp[PATH_MAX + 32];
	int fd = replace_temp(r, temp, sizeof(temp));
	int error;

	if (fd < 0)
		return fd;
	error = replace_write_all(fd, pieces, count);
	close(fd);
	if (!error && last_look && replace_is_stale(r))
		error = -ESTALE;
	if (!error && rename(temp, to) < 0)
		error = -errno;
	if (error)
		unlink(temp);
	return error;
}

/* Make the rename last, too. A file system that cannot do this has done what it can. */
static void replace_sync_dir(const struct replace *r)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(r->path, '/');
	AUTO(fd_drop) int fd = -1;

	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - r->path + (slash == r->path)), r->path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		fsync(fd);
}

int replace_write(const struct replace *r, const struct iovec *pieces, size_t count, struct err *e)
{
	struct iovec old = { r->text.data, r->text.len };
	char backup[PATH_MAX + 32];
	int error;

	snprintf(backup, sizeof(backup), "%s" REPLACE_BACKUP, r->path);
	if (replace_is_stale(r))
		error = -ESTALE;
	else
		error = replace_put(r, backup, &old, 1, false);
	if (error && error != -ESTALE)
		return err_set(e, error, "cannot write %.180s: %s", backup, strerror(-error));
	if (!error)
		error = replace_put(r, r->path, pieces, count, true);
	if (error == -ESTALE)
		return err_set(e, error,
			       "%.150s was changed by another program meanwhile; nothing was "
			       "written, try again",
			       r->path);
	if (error)
		return err_set(e, error, "cannot write %.180s: %s", r->path, strerror(-error));
	replace_sync_dir(r);
	return 0;
}

void replace_done(struct replace *r)
{
	mem_drop(&r->path);
	buf_done(&r->text);
}
