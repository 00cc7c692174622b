/* content.h - the bytes of a regular file.
 *
 * Devices and pipes are refused before they are opened, because opening a device may have side
 * effects.
 * Life: content_open -> content_read ... -> content_close.
 * Threads: one at a time.  Blocking: as long as the file system takes; content_open waits for up to
 * 5 s while another process holds a lease on the file.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct content {
	intptr_t file;  /* a descriptor, or a handle of Windows; -1: not open */
	long long size; /* when it was opened; the file may grow, and a file in /proc says 0 */
};
#define CONTENT_INIT                                                                               \
	{                                                                                          \
		.file = -1                                                                         \
	}

/* 0; -EBADF: the path is no regular file; -errno. */
int content_open(const char *path, struct content *out);
/* The number of bytes; 0: end of the file; -errno. */
ssize_t content_read(struct content *c, void *out, size_t size);
void content_close(struct content *c); /* also of CONTENT_INIT, and twice */
