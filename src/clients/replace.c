/* replace.c - see replace.h */
#include "replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/random.h"

static int replace_read_all(struct replace *r, int fd)
{
	size_t size = (size_t)r->st.st_size;
	ssize_t n;

	if (buf_reserve(&r->text, size + 1) < 0)
		return -ENOMEM;
	/* read one byte more than the size, to notice a file that grows */
	while ((n = read(fd, r->text.data + r->text.len, size + 1 - r->text.len)) > 0) {
		r->text.len += (size_t)n;
		if (r->text.len > size)
			return -ESTALE;
	}
	r->text.data[r->text.len] = '\0';
	return n < 0 ? -errno : 0;
}

/* Returns the name of the file in its directory. */
static const char *replace_name(const struct replace *r)
{
	return strrchr(r->path, '/') + 1;
}

static int replace_open_dir(const char *path)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');

	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path + (slash == path)), path);
	return open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int replace_open(const struct replace *r)
{
	return openat(r->dir, replace_name(r),
		      O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int replace_read(struct replace *r, const char *path, struct err *e)
{
	AUTO(fd_drop) int fd = -1;
	int error;

	r->dir = -1;
	r->path = realpath(path, NULL);
	if (!r->path)
		return err_set(e, -errno, "cannot read %.180s: %s", path, strerror(errno));
	r->dir = replace_open_dir(r->path);
	if (r->dir >= 0)
		fd = replace_open(r);
	if (fd < 0 || fstat(fd, &r->st) < 0)
		return err_set(e, -errno, "cannot read %.180s: %s", path, strerror(errno));
	if (!S_ISREG(r->st.st_mode))
		return err_set(e, -EINVAL, "%.180s is not a regular file", path);
	if (r->st.st_size > REPLACE_MAX - 2)
		return err_set(e, -EFBIG, "%.180s is too large", path);
	error = replace_read_all(r, fd);
	if (error)
		return err_set(e, error, "cannot read %.180s: %s", path,
			       error == -ESTALE ? "it is being written" : strerror(-error));
	return 0;
}

int replace_write_pieces(int fd, const struct iovec *pieces, size_t count)
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

bool replace_has_bytes(int fd, const struct iovec *pieces, size_t count)
{
	char bytes[65536];
	ssize_t n;

	for (size_t i = 0; i < count; i++) {
		const char *p = pieces[i].iov_base;
		size_t left = pieces[i].iov_len;

		while (left > 0) {
			n = read(fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes));
			if (n <= 0 || memcmp(bytes, p, (size_t)n) != 0)
				return false;
			p += n;
			left -= (size_t)n;
		}
	}
	return read(fd, bytes, 1) == 0;
}

/* Copy one extended attribute. If setting it fails, but the new file already has the same value
 * from the kernel or a policy, this is no error. */
static int replace_copy_attribute(int from, int to, const char *name)
{
	AUTO(mem_drop) char *value = NULL, *has = NULL;
	ssize_t n = fgetxattr(from, name, NULL, 0);
	size_t size = n > 0 ? (size_t)n : 0;

	if (n < 0)
		return errno == ENODATA ? 0 : -errno;
	value = mem_grow(NULL, size + 1, 1);
	has = mem_grow(NULL, size + 1, 1);
	if (fgetxattr(from, name, value, size) != n)
		return -ESTALE;
	if (fsetxattr(to, name, value, size, 0) == 0)
		return 0;
	n = -errno;
	if (fgetxattr(to, name, has, size + 1) == (ssize_t)size && memcmp(has, value, size) == 0)
		return 0;
	return (int)n;
}

/* Copy all extended attributes, except for the kernel's own hashes of the contents. */
static int replace_copy_attributes(int from, int to)
{
	AUTO(mem_drop) char *names = NULL;
	ssize_t n = flistxattr(from, NULL, 0);
	int error = 0;

	if (n <= 0)
		return n == 0 || errno == ENOTSUP ? 0 : -errno;
	names = mem_grow(NULL, (size_t)n + 1, 1);
	n = flistxattr(from, names, (size_t)n);
	if (n < 0)
		return -errno;
	names[n] = '\0';
	for (const char *name = names; !error && name < names + n; name += strlen(name) + 1)
		if (strcmp(name, "security.ima") != 0 && strcmp(name, "security.evm") != 0)
			error = replace_copy_attribute(from, to, name);
	return error;
}

int replace_copy_owner(const struct replace *r, int fd)
{
	AUTO(fd_drop) int from = replace_open(r);

	if (from < 0)
		return -errno;
	if ((r->st.st_uid != geteuid() || r->st.st_gid != getegid()) &&
	    fchown(fd, r->st.st_uid, r->st.st_gid) < 0)
		return -errno;
	if (fchmod(fd, r->st.st_mode & 07777) < 0)
		return -errno;
	return replace_copy_attributes(from, fd);
}

/* Create a new file beside the old file, with the owner and mode of the old file. `temp` gets its
 * name. Returns a descriptor or -errno. */
static int replace_temp(const struct replace *r, char *temp, size_t size)
{
	char tail[17];
	int fd, error;

	random_hex(tail, 16);
	if (snprintf(temp, size, ".%.200s.killick-%s", replace_name(r), tail) >= (int)size)
		return -ENAMETOOLONG;
	fd = openat(r->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	error = replace_copy_owner(r, fd);
	if (error) {
		close(fd);
		unlinkat(r->dir, temp, 0);
		return error;
	}
	return fd;
}

/* Was the file changed since it was read? The bytes are compared as well, because two writes within
 * one tick of the kernel can have the same time. */
static bool replace_is_stale(const struct replace *r)
{
	AUTO(fd_drop) int fd = replace_open(r);
	struct iovec old = { r->text.data, r->text.len };
	struct stat st;

	return fd < 0 || fstat(fd, &st) < 0 || st.st_dev != r->st.st_dev ||
	       st.st_ino != r->st.st_ino || st.st_size != r->st.st_size ||
	       st.st_mtim.tv_sec != r->st.st_mtim.tv_sec ||
	       st.st_mtim.tv_nsec != r->st.st_mtim.tv_nsec || !replace_has_bytes(fd, &old, 1);
}

/* Write a new file and rename it, unless the old file has changed. */
static int replace_put(const struct replace *r, const struct iovec *pieces, size_t count)
{
	char temp[NAME_MAX + 1];
	int fd = replace_temp(r, temp, sizeof(temp));
	int error;

	if (fd < 0)
		return fd;
	error = replace_write_pieces(fd, pieces, count);
	close(fd);
	if (!error && replace_is_stale(r))
		error = -ESTALE;
	if (!error && renameat(r->dir, temp, r->dir, replace_name(r)) < 0)
		error = -errno;
	if (error)
		unlinkat(r->dir, temp, 0);
	return error;
}

/* Write the rename to the disk, too. Not every file system can do this, so errors are ignored. */
static void replace_sync_dir(const struct replace *r)
{
	AUTO(fd_drop) int fd = openat(r->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		fsync(fd);
}

static int replace_say_stale(const struct replace *r, struct err *e)
{
	return err_set(e, -ESTALE,
		       "%.150s was changed by another program meanwhile; nothing was written, try "
		       "again",
		       r->path);
}

int replace_check(const struct replace *r, struct err *e)
{
	if (r->st.st_nlink > 1)
		return err_set(e, -EMLINK,
			       "%.120s has another name (a hard link), under which the old file "
			       "would stay: edit it by hand",
			       r->path);
	return replace_is_stale(r) ? replace_say_stale(r, e) : 0;
}

int replace_write(const struct replace *r, const struct iovec *pieces, size_t count, struct err *e)
{
	int error = replace_check(r, e);

	if (error)
		return error;
	error = replace_put(r, pieces, count);
	if (error == -ESTALE)
		return replace_say_stale(r, e);
	if (error)
		return err_set(e, error, "cannot write %.180s: %s", r->path, strerror(-error));
	replace_sync_dir(r);
	return 0;
}

void replace_done(struct replace *r)
{
	if (r->path)
		fd_drop(&r->dir);
	mem_drop(&r->path);
	buf_done(&r->text);
}
