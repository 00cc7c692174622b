/* record.h - the file in the runtime directory that describes a tree to other processes.
 *
 * One file per tree, named by the tree's id, with lines `key=value`; lines are only appended. Watch
 * and hold share one open file description with an flock: the kernel releases the lock when both
 * are gone, however they ended. So a record whose lock is free belongs to a tree whose keepers both
 * died. A locked record does not prove that keepers work: any process of this user can take the
 * lock, and keepers can be frozen. The janitor (janitor.h) finds out.
 *
 * Life: record_open -> record_add ... -> record_remove. When both keepers are killed the janitor
 * removes the record. Threads: one per record.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "keeper/record_text.h"
#include "proc.h"

/* The directories that may hold records of this user, the one for new records first; NULL after the
 * last. KILLICK_RUNTIME_DIR, when set, is the only one. The strings live as long as the program. */
const char *const *record_dirs(void);

/* Create and lock the record of rec->tree, and write its first lines (tree, owner's pid, watch,
 * pidns, timens, grace_ms and started_ms), in the first directory that can be made or used (mode
 * 0700, owned by this user, no symlink). Returns the descriptor (CLOEXEC, append) and sets
 * *out_dirfd to the directory; or -errno with no file left behind and *out_dirfd unchanged. */
int record_open(const struct record *rec, int *out_dirfd);

/* Append `key=value\n` in one write; control characters in value become spaces. -errno on failure.
 */
int record_add(int fd, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Open a directory for records, and make it first when it does not exist. -errno. */
int record_make_dir(const char *path);

/* Remove the record; closing the descriptor releases the lock. */
void record_remove(int dirfd, const char *tree);

/* Open one of record_dirs() if no other user can have made it or written to it. -errno. */
int record_open_dir(const char *path);

/* Read the record from fd, whose file is called `tree`; `kept` is not set. Only the beginning and
 * the end of a large file are read. False when the text is not that of a record: then only the tree
 * is set. */
bool record_read(int fd, const char *tree, struct record *out);

/* Append a line to the record of a tree without a keeper: for janitors. -errno. */
int record_note(int dirfd, const char *tree, const char *key, const char *value);

/* Write into the record that its tree is orphaned since now_ms. -errno. */
int record_add_orphaned(int dirfd, const char *tree, long long now_ms);

/* Call fn for every record in a directory, starting at a random record, so that repeated calls with
 * a short time limit reach all records. While fn runs for a record that is not kept, `fd` holds the
 * lock of the record, so no other janitor takes it; a dup of fd holds the lock longer. fd is -1 for
 * a record with a lease on it; no keeper has that record, because a keeper would have it open for
 * writing. When fn returns a value other than 0, record_each stops and returns that value. -EMFILE,
 * -ENFILE, -ENOMEM: records could not be opened. */
typedef int (*record_fn)(void *ctx, const struct record *rec, int fd);
int record_each_in(int dirfd, record_fn fn, void *ctx);

/* The same for all directories of this user. */
int record_each(record_fn fn, void *ctx);
