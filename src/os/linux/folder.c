/* folder.c - see folder.h */
#include "os/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int folder_of(const struct folder *f)
{
	return (int)f->handle;
}

static int folder_set(struct folder *out, int fd)
{
	*out = (struct folder){ .handle = fd };
	return fd < 0 ? -errno : 0;
}

int folder_open(const char *path, enum folder_how how, struct folder *out)
{
	int link = how == FOLDER_NO_LINK ? O_NOFOLLOW : 0;

	return folder_set(out, open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | link));
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

int folder_create(const struct folder *f, const char *name)
{
	int fd = openat(folder_of(f), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);

	return fd < 0 ? -errno : fd;
}

bool folder_has(const struct folder *f, const char *name)
{
	return faccessat(folder_of(f), name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int folder_remove(const struct folder *f, const char *name)
{
	return unlinkat(folder_of(f), name, 0) < 0 ? -errno : 0;
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
