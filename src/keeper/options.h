/* options.h - what the words after `killick run` mean.
 *
 * Nothing here acts: a command line is either understood whole or refused with one sentence.
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
	OWNER_PARENT, /* who started us */
	OWNER_STDIN,  /* whoever holds the other end of stdin, and nobody else */
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
	const char *arg0;   /* what the server is told it is called; NULL: argv[0] */
	const char *cwd;    /* where the server runs; NULL: where we do */
	unsigned linger_ms; /* how long what the server leaves behind may go on; 0: not */
	bool terminal;      /* stdin is a terminal that shall control the server */
	int control;        /* descriptor of the owner's socket (control.h); -1: none */
	bool sweep;         /* look for lost trees */
};

/* Understand argv[0..argc), the words after `run`. On refusal returns -EINVAL and `why` is the
 * sentence. */
int options_parse(int argc, char **argv, struct options *out, struct line *why);

/* "2s", "500ms", "2" (seconds), "1.5s", "1m", "1h"; at most an hour. -EINVAL otherwise. */
int options_time(const char *text, unsigned *out_ms);

/* "500": a number of milliseconds, at most those of an hour. -EINVAL otherwise. */
int options_milliseconds(const char *text, unsigned *out_ms);

/* "512M", "1G", "64K" (powers of 1024), "1048576". -EINVAL otherwise, also for 0. */
int options_size(const char *text, unsigned long long *out_bytes);

const char *level_name(enum level l);
