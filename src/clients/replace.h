/* replace.h - replaces the contents of a file: whole or not at all, and only as long as nobody else
 * changed the file.
 *
 * Life: replace_read -> look at the bytes -> replace_write -> replace_done. The new file has the
 * mode and the owner of the old one. Symbolic links are followed, so a link stays a link.
 *
 * Threads: any.  Blocking: on the file system.
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/err.h"

#define REPLACE_MAX    (1u << 30)
#define REPLACE_BACKUP ".before-killick"

struct replace {
	char *path; /* without symbolic links */
	struct stat st;
	struct buf text; /* NUL-terminated */
};
#define REPLACE_INIT                                                                               \
	{                                                                                          \
		.text = BUF_INIT(REPLACE_MAX)                                                      \
	}

/* Read the file. -errno with a sentence; -EFBIG: longer than REPLACE_MAX; -EINVAL: no regular file.
 */
int replace_read(struct replace *r, const char *path, struct err *e);
/* Write a copy of the bytes that were read to PATH.before-killick (an older copy is replaced), then
 * put the pieces in place of the file. -ESTALE: the file was changed since replace_read. On failure
 * the file is as it was. */
int replace_write(const struct replace *r, const struct iovec *pieces, size_t count, struct err *e);
void replace_done(struct replace *r);
