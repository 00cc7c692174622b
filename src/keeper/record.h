/* record.h - the note a keeper leaves in the runtime directory, by which others find its tree.
 *
 * One file per tree, named by the tree's id, of lines `key=value`, only ever appended to. The
 * keeper pair holds an flock on it through one open file description that watch and hold share: the
 * kernel drops the lock when the last of the two is gone, however it went. So `locked` means
 * "somebody keeps this tree" and `free` means "both keepers died and the tree may still run": no
 * pid is compared and no clock is read to tell the two apart.
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
	pid_t watch, hold;
	unsigned grace_ms;
	long long started_ms;  /* CLOCK_BOOTTIME */
	long long stopping_ms; /* CLOCK_BOOTTIME when the end began; 0: running */
	long long deadline_ms; /* CLOCK_BOOTTIME by which it should be over; 0: running */
	char why[24];          /* what began the end: stdin, owner, signal, exit, watch */
	int survivors;         /* said by a hold whose budget ran out; 0 otherwise */
	bool kept;             /* a keeper holds the lock */
};

/* The directories that may hold records of this user, the one for new records first; NULL after the
 * last. KILLICK_RUNTIME_DIR, when set, is the only one. The strings live as long as the program. */
const char *const *record_dirs(void);

/* Create, lock and begin the record of rec->tree (its tree, owner's pid, watch, grace_ms and
 * started_ms), in the first directory that can be made or used (mode 0700, ours, no symlink).
 * Returns the descriptor (CLOEXEC, append), or -errno with no file left behind; *out_dirfd, where
 * the file is, is then untouched. */
int record_open(const struct record *rec, int *out_dirfd);

/* Append `key=value\n` in one write; control characters in value become spaces. -errno on failure.
 */
int record_add(int fd, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Remove the record; closing the descriptor releases the lock. */
void record_remove(int dirfd, const char *tree);

/* Parse a record's text, record_open's and record_add's. Unknown keys are passed over; -EINVAL when
 * the first line is not ours: then *out is untouched. `kept` is not in the text: it is false. */
int record_parse(const char *text, struct record *out);

/* Call fn for every record of this user that can be read, or only for those that nobody keeps: a
 * hundred kept ones then cost little. While fn runs for one with kept == false, this process holds
 * its lock, so no other janitor has it. fn returns 0 to go on, else record_each stops and returns
 * that. */
enum record_which { RECORD_ALL, RECORD_FREE };
typedef int (*record_fn)(void *ctx, const struct record *rec, int dirfd);
int record_each(enum record_which which, record_fn fn, void *ctx);
