/* own.h - is this descriptor still the one that we opened?
 *
 * A host may close descriptors that are not its own: close_range(), closefrom(), a number that it
 * closes twice. The host may then open a file that gets the same number, and our next write would
 * go into that file. So code that keeps a descriptor for long remembers its device and inode.
 * Eventfds, epolls and, before Linux 6.9, pidfds share one inode each and are not told apart.
 * Threads: any.  Blocking: never; one system call each (0.1 us).
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

struct own { /* zero: of no descriptor */
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

/* Close *fd if it is still ours, not if the host has reused the number. *fd is -1 afterwards. */
static inline void own_drop(const struct own *o, int *fd)
{
	if (*fd >= 0 && own_is(o, *fd))
		close(*fd);
	*fd = -1;
}
