/* metadata.h - what the file system says about a path. Symbolic links are followed.
 *
 * Threads: any.  Blocking: as long as the file system takes.
 */
#pragma once

#include <stdbool.h>

struct metadata {
	bool directory, file; /* of the target of a link */
	bool symlink;         /* the path itself is a link */
	/* Two paths with the same pair are the same file. */
	unsigned long long device, inode;
	long long size;
	long long created_ms, modified_ms; /* since 1970; 0: not known */
};

int metadata_of(const char *path, struct metadata *out); /* 0 or -errno */
