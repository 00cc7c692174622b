/* file.c - see file.h */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int file_open(const char *path, enum file_how how)
{
	static const struct {
		int flags;
		mode_t mode;
	} kinds[] = {
		[FILE_READ] = { O_RDONLY, 0 },
		[FILE_READ_NOW] = { O_RDONLY | O_NONBLOCK, 0 },
		[FILE_APPEND] = { O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY, 0666 },
		[FILE_PRIVATE] = { O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600 },
	};
	int fd = open(path, kinds[how].flags | O_CLOEXEC, kinds[how].mode);

	return fd < 0 ? -errno : fd;
}

int file_rename(const char *from, const char *to)
{
	return rename(from, to) < 0 ? -errno : 0;
}

int file_remove(const char *path)
{
	return unlink(path) < 0 ? -errno : 0;
}

int file_make_directory(const char *path)
{
	return mkdir(path, 0700) < 0 ? -errno : 0;
}
