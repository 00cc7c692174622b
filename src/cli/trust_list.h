/* trust_list.h - the files that the user allowed: path and SHA-256 of each, in the state directory.
 *
 * The list is one file, `trusted`, that only this user can read and write: lines of a digest, a
 * space and an absolute path. A path may have several digests, as when a branch is changed; each of
 * these versions was allowed. A list that another user could have written counts as empty.
 *
 * Threads: one.  Blocking: on the file system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

struct trust_list {
	struct buf text;
};
struct trust_entry {
	char digest[SHA256_HEX_SIZE];
	const char *path; /* valid until the next entry */
	size_t path_len;
};

/* Read the list; empty if there is none. */
void trust_list_read(struct trust_list *l);
/* Get the entry at *at, which begins as 0, and move *at. False: the end of the list. */
bool trust_list_next(const struct trust_list *l, size_t *at, struct trust_entry *out);
bool trust_list_has(const struct trust_list *l, const char *path, const char *digest);
/* Add an entry to the list of the disk. 0, or -errno with *e set. */
int trust_list_add(const char *path, const char *digest, struct err *e);
/* Remove the entries of this file, and of all files below this directory, from the list of the
 * disk. Returns their number, or -errno with *e set. */
int trust_list_forget(const char *path, struct err *e);
void trust_list_done(struct trust_list *l);
