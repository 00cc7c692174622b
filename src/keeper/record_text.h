/* record_text.h - the text of a record (record.h): lines `key=value`, the same on every system.
 * Threads: any.  Blocking: never.  Allocates: never.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

#include "line.h"

#define RECORD_FIRST_LINE "killick-record 1\n"
#define TREE_ID_LEN       16 /* hex digits */
#define TREE_NAME_LEN     15 /* of those, in the name of a process; the kernel keeps no more */
#define RECORD_CGROUPS    4
#define RECORD_ENV        "KILLICK_RUNTIME_DIR" /* where records are */
#define TREE_ENV          "KILLICK_TREE" /* in the server's environment; its value is the id */

/* Identifies a process until the next boot. pid 0: none. */
struct who {
	int pid;
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
	char cidfile[512], engine[512];    /* of its container: cidfile and spec (container.h) */
	bool swept;                        /* a janitor ended everything but the container */
	struct who owner, server;
	struct who watch, hold;   /* start 0: not known */
	unsigned long long pidns; /* the pid namespace of all these pids; 0: not known */
	unsigned long long
		timens; /* the time namespace of all start times and times; 0: not known */
	unsigned grace_ms;
	long long started_ms;  /* CLOCK_BOOTTIME */
	long long stopping_ms; /* CLOCK_BOOTTIME when the end began; 0: running */
	long long deadline_ms; /* CLOCK_BOOTTIME by which it should be over; 0: running */
	char why[24];          /* the reason of the end: stdin, owner, signal, exit, watch */
	int survivors;         /* written by a hold whose budget ran out; 0 otherwise */
	long long orphaned_ms; /* CLOCK_BOOTTIME when a janitor first found the owner or a keeper
				  gone; 0: none did */
	bool kept;             /* a process holds the lock */
};

/* Make the line `key=value\n`; control characters in value become spaces. */
void record_line(struct line *l, const char *key, const char *fmt, va_list ap);

/* Parse a record's text. Unknown keys are skipped; -EINVAL when the first line is not that of a
 * record: then *out is unchanged. `kept` is not in the text and becomes false. */
int record_parse(const char *text, struct record *out);
