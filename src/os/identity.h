/* identity.h - which file a path or a descriptor means, and whether the file was changed.
 *
 * Threads: any.  Blocking: as long as the file system takes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct identity {
	uint64_t volume, number; /* number 0: the file system gives its files no numbers */
	long long size, changed_ns;
	unsigned names; /* more than 1: the file has hard links */
	bool regular;
	bool read_only;    /* its mode lets no user write to it, root excepted */
	bool others_own;   /* another user except root owns it; always false on Windows */
	bool others_write; /* every user may write to it; always false on Windows */
};

/* Of the target of a symbolic link. 0 or -errno. */
int identity_of_path(const char *path, struct identity *out);
int identity_of_file(int fd, struct identity *out);

/* Are both the same file? False if its number is not known. */
bool identity_is_same(const struct identity *a, const struct identity *b);
/* The same file, with the same size and time of its last change. */
bool identity_is_unchanged(const struct identity *a, const struct identity *b);
