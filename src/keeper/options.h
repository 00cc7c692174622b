/* options.h - the parsed command line of `killick run`.
 *
 * Parsing has no side effects: a command line is either accepted or refused with one sentence.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cgroup.h"
#include "line.h"

#define LABEL_SIZE 64 /* of names and session tags, with the NUL */

enum level { LEVEL_AUTO, LEVEL_GROUP, LEVEL_KEEPER, LEVEL_CGROUP, LEVEL_NAMESPACE };

enum owner_kind {
	OWNER_PARENT, /* the process that started killick */
	OWNER_STDIN,  /* only the process at the other end of stdin */
	OWNER_PID,
};

struct options {     /* strings are borrowed from argv */
	char **argv; /* the server's command and arguments, NULL at the end */
	unsigned grace_ms;
	enum level contain;
	enum owner_kind owner;
	pid_t owner_pid; /* for OWNER_PID */
	struct cgroup_limits limits;
	const char *name; /* never NULL: by default the command's last path component */
	const char *session, *log, *report; /* NULL: not given */
	const char *arg0;                   /* argv[0] of the server; NULL: the command */
	const char *cwd;    /* working directory of the server; NULL: that of killick */
	unsigned linger_ms; /* how long other processes may run after the server; 0: not at all */
	bool terminal;      /* stdin is a terminal that shall control the server */
	int control;        /* descriptor of the owner's socket (control.h); -1: none */
	bool sweep;         /* look for lost trees */
};

/* Parse argv[0..argc), the words after `run`. On refusal returns -EINVAL and `why` is the sentence.
 */
int options_parse(int argc, char **argv, struct options *out, struct line *why);

/* "2s", "500ms", "2" (seconds), "1.5s", "1m", "1h"; at most an hour. -EINVAL otherwise. */
int options_time(const char *text, unsigned *out_ms);

/* "500": a number of milliseconds, at most those of an hour. -EINVAL otherwise. */
int options_milliseconds(const char *text, unsigned *out_ms);

/* "512M", "1G", "64K" (powers of 1024), "1048576". -EINVAL otherwise, also for 0. */
int options_size(const char *text, unsigned long long *out_bytes);

const char *level_name(enum level l);
