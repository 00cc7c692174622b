/* record.h - the note a keeper leaves in the runtime directory, by which others find its tree.
 *
 * One file per tree, named by the tree's id, of lines `key=value`, only ever appended to. The
 * keeper pair holds an flock on it through one open file description that watch and hold share: the
 * kernel drops the lock when the last of the two is gone, however it went. So a record whose lock
 * is free belongs to a tree whose keepers both died. A locked record need not be kept: any process
 * of this user can hold that lock, and keepers can be frozen. The janitor (janitor.h) tells those
 * apart.
 *
 * Life: record_open -> record_add ... -> record_remove; or, when both are killed, nothing more:
 * then it is the janitor's. Threads: one per record.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "proc.h"

#define TREE_ID_LEN    16 /* hex digits */
#define RECORD_CGROUPS 4
#define RECORD_ENV     "KILLICK_RUNTIME_DIR" /* where records are */
#define TREE_ENV       "KILLICK_TREE"        /* in the server's environment; its value is the id */

/* Who a process is for as long as the machine is up. pid 0: none. */
struct who {
	pid_t pid;
	unsigned long long start;
};

struct record { /* what a record says; strings are empty when it does not say */
	char tree[TREE_ID_LEN + 1];
	char boot[40]; /* boot id: a record of another boot has no processes */
	char name[64];
	char session[64];
	char level[16];                    /* namespace, cgroup, keeper or group */
	char cgroups[RECORD_CGROUPS][512]; /* directories made for it, perhaps; "" after the last */
	char command[512];                 /* argv joined by spaces, cut */
	struct who owner, server;
	struct who watch, hold;   /* start 0: not known */
	unsigned long long pidns; /* the pid namespace of all these pids; 0: not known */
	unsigned long long
		timens; /* the time namespace of all start times and times; 0: not known */
	unsigned grace_ms;
	long long started_ms;  /* CLOCK_BOOTTIME */
	long long stopping_ms; /* CLOCK_BOOTTIME when the end began; 0: running */
	long long deadline_ms; /* CLOCK_BOOTTIME by which it should be over; 0: running */
	char why[24];          /* what began the end: stdin, owner, signal, exit, watch */
	int survivors;         /* said by a hold whose budget ran out; 0 otherwise */
	long long orphaned_ms; /* CLOCK_BOOTTIME when a janitor first found the owner or a keeper
				  gone; 0: none did */
	bool kept;             /* somebody holds the lock */
};

/* The directories that may hold records of this user, the one for new records first; NULL after the
 * last. KILLICK_RUNTIME_DIR, when set, is the only one. The strings live as long as the program. */
const char *const *record_dirs(void);

/* Create, lock and begin the record of rec->tree (its tree, owner's pid, watch, pidns, timens,
 * grace_ms and started_ms), in the first directory that can be made or used (mode 0700, ours, no
 * symlink). Returns the descriptor (CLOEXEC, append), or -errno with no file left behind;
 * *out_dirfd, where the file is, is then untouched. */
int record_open(const struct record *rec, int *out_dirfd);

/* Append `key=value\n` in one write; control characters in value become spaces. -errno on failure.
 */
int record_add(int fd, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Remove the record; closing the descriptor releases the lock. */
void record_remove(int dirfd, const char *tree);

/* Parse a record's text, record_open's and record_add's. Unknown keys are passed over; -EINVAL when
 * the first line is not ours: then *out is untouched. `kept` is not in the text: it is false. */
int record_parse(const char *text, struct record *out);

/* Open one of record_dirs() if nobody else could have made or filled it. -errno. */
int record_open_dir(const char *path);

/* Read the record behind fd, whose file is called `tree`, but for `kept`. Of a large file only the
 * beginning and the end are read. False when the text is not a record's: then only the tree is
 * known. */
bool record_read(int fd, const char *tree, struct record *out);

/* Note in the record that its tree is orphaned since now_ms. -errno. */
int record_add_orphaned(int dirfd, const char *tree, long long now_ms);

/* Call fn for every record in a directory of ours, beginning at a random one, so that a caller with
 * little time reaches each of many records sooner or later. While fn runs for a record that is not
 * kept, `fd` holds the lock of the record, so no other janitor takes it; a dup of fd holds the lock
 * longer. fd is -1 for a record with a lease on it; no keeper has that record, because a keeper
 * would have it open for writing. When fn returns another value than 0, record_each stops and
 * returns that value. -EMFILE, -ENFILE, -ENOMEM: records could not be opened. */
typedef int (*record_fn)(void *ctx, const struct record *rec, int fd);
int record_each_in(int dirfd, record_fn fn, void *ctx);

/* The same for all directories of this user. */
int record_each(record_fn fn, void *ctx);
