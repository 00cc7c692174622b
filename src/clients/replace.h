/* replace.h - replaces the contents of a file: completely or not at all, and only if no other
 * program changed the file.
 *
 * Life: replace_read -> look at the bytes -> replace_write -> replace_done. The new file has the
 * mode, the owner and the extended attributes (with them the ACL) of the old file. replace_read
 * follows symbolic links once; from then on the directory stays open and only names in it are used.
 * A directory or a link that is exchanged meanwhile therefore has no effect.
 *
 * Threads: any.  Blocking: on the file system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "os/fd.h"
#include "os/folder.h"
#include "os/identity.h"

#define REPLACE_MAX (1u << 30)

struct replace {
	char *path;        /* without symbolic links; NULL: nothing was read */
	struct folder dir; /* the directory of the file */
	struct identity was;
	struct buf text; /* NUL-terminated */
};
#define REPLACE_INIT                                                                               \
	{                                                                                          \
		.dir = FOLDER_INIT, .text = BUF_INIT(REPLACE_MAX)                                  \
	}

/* Read the file. Returns 0, or -errno with *e set; -EFBIG: longer than REPLACE_MAX; -EINVAL: no
 * regular file. */
int replace_read(struct replace *r, const char *path, struct err *e);
/* May the file be replaced? Returns 0; -EMLINK: the file has other names, which would keep the old
 * contents; -ESTALE: the file was changed since replace_read. */
int replace_check(const struct replace *r, struct err *e);
/* Replace the contents of the file by the pieces, if replace_check allows it. On failure the file
 * is unchanged. */
int replace_write(const struct replace *r, const struct fd_piece *pieces, size_t count,
		  struct err *e);
void replace_done(struct replace *r);

/* For copies of the file: create a file without a name (*out_named is false), or with this name
 * where the file system has no such files. Returns a descriptor or -errno. */
int replace_create(const struct folder *dir, const char *name, bool *out_named);
/* Write the pieces and fsync. */
int replace_write_pieces(int fd, const struct fd_piece *pieces, size_t count);
/* Give a new file the owner, the mode and the extended attributes of the old one
 * (file_copy_rights). */
int replace_copy_owner(const struct replace *r, int fd);
/* Does the file have exactly these bytes? Reads from the current offset of fd. */
bool replace_has_bytes(int fd, const struct fd_piece *pieces, size_t count);
