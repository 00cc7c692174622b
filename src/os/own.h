/* own.h - is this descriptor still the one that we opened?
 *
 * A host may close descriptors that are not its own: close_range(), closefrom(), a number that it
 * closes twice. The host may then open a file that gets the same number, and our next write would
 * go into that file. So code that keeps a descriptor for long remembers its identity: on Linux the
 * device and inode, on Windows the generation of the entry in our table. Linux's eventfds, epolls
 * and, before Linux 6.9, pidfds share one inode each and are not told apart.
 * Threads: any.  Blocking: never; on Linux one system call each (0.1 us).
 */
#pragma once

#include <stdbool.h>

#include "os/fd.h"
#include "own_native.h"

/* The identity of fd; zero if fd is not open.
 *
 *	struct own own_of(int fd);
 *
 * Has fd this identity?
 *
 *	bool own_is(const struct own *o, int fd);
 */

/* Close *fd if it is still ours, not if the host has reused the number. *fd is -1 afterwards. */
static inline void own_drop(const struct own *o, int *fd)
{
	if (*fd >= 0 && own_is(o, *fd))
		fd_close(*fd);
	*fd = -1;
}
