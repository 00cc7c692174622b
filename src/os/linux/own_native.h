/* own_native.h - own.h for Linux: device and inode. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

struct own {
	dev_t dev;
	ino_t ino;
};

static inline struct own own_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return (struct own){ .dev = 0 };
	return (struct own){ .dev = st.st_dev, .ino = st.st_ino };
}

static inline bool own_is(const struct own *o, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == o->ino && st.st_dev == o->dev;
}
