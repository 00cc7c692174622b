/* folder.c - see folder.h */
#include "os/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "os/fd.h"

static int folder_of(const struct folder *f)
{
	return (int)f->handle;
}

static int folder_set(struct folder *out, int fd)
{
	*out = (struct folder){ .handle = fd };
	return fd < 0 ? -errno : 0;
}

#define FOLDER_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* One name after the other. openat2 could do this at once, but not on kernels before 5.6. */
static int folder_open_names(const char *path, struct folder *out)
{
	AUTO(fd_drop) int fd = open("/", FOLDER_FLAGS);
	char name[NAME_MAX + 1];

	for (size_t len; fd >= 0 && *path; path += len) {
		int next;

		len = strspn(path, "/");
		path += len;
		len = strcspn(path, "/");
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		next = len ? openat(fd, name, FOLDER_FLAGS | O_NOFOLLOW) : TAKE_FD(fd);
		fd_drop(&fd);
		fd = next;
	}
	return folder_set(out, TAKE_FD(fd));
}

int folder_open(const char *path, enum folder_how how, struct folder *out)
{
	int link = how == FOLDER_NO_LINK ? O_NOFOLLOW : 0;

	if (how == FOLDER_NO_LINKS)
		return folder_open_names(path, out);
	return folder_set(out, open(path, FOLDER_FLAGS | link));
}

int folder_copy(const struct folder *f, struct folder *out)
{
	return folder_set(out, fcntl(folder_of(f), F_DUPFD_CLOEXEC, 3));
}

int folder_read(const struct folder *f, const char *name)
{
	int fd = openat(folder_of(f), name,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

int folder_write(const struct folder *f, const char *name)
{
	AUTO(fd_drop) int fd = -1;
	struct stat st;

	/* to open a device may have effects */
	if (fstatat(folder_of(f), name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
		return -EBADF;
	fd = openat(folder_of(f), name,
		    O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADF;
	return ftruncate(fd, 0) < 0 ? -errno : TAKE_FD(fd);
}

int folder_make_directory(const struct folder *f, const char *name)
{
	return mkdirat(folder_of(f), name, 0777) < 0 ? -errno : 0;
}

int folder_create(const struct folder *f, const char *name)
{
	int fd = openat(folder_of(f), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);

	return fd < 0 ? -errno : fd;
}

int folder_create_unnamed(const struct folder *f)
{
	int fd;

	if (access("/proc/self/fd", X_OK) < 0) /* folder_give_name needs it */
		return -EOPNOTSUPP;
	fd = openat(folder_of(f), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EISDIR || errno == EINVAL)) /* this file system has none */
		return -EOPNOTSUPP;
	return fd < 0 ? -errno : fd;
}

int folder_give_name(const struct folder *f, int fd, const char *name)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, folder_of(f), name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

bool folder_has(const struct folder *f, const char *name)
{
	return faccessat(folder_of(f), name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int folder_remove(const struct folder *f, const char *name)
{
	return unlinkat(folder_of(f), name, 0) < 0 ? -errno : 0;
}

int folder_remove_directory(const struct folder *f, const char *name)
{
	return unlinkat(folder_of(f), name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int folder_rename(const struct folder *f, const char *from, const char *to)
{
	return renameat(folder_of(f), from, folder_of(f), to) < 0 ? -errno : 0;
}

void folder_sync(const struct folder *f)
{
	int fd = openat(folder_of(f), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

void folder_close(struct folder *f)
{
	if (f->handle >= 0)
		close(folder_of(f));
	f->handle = -1;
}
