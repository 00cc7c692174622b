/* supersede.h - `killick run --supersede`: one copy of a server for each client process.
 *
 * A client may forget a server and start the same server again. The newest copy asks the older copy
 * to end; the older copy ends when it is idle. Two copies are of the same server when they have the
 * same owner (pid and start time), name, working directory and fingerprint (config.h): the same
 * command, directory and variables. So two accounts that differ in one variable are two servers.
 *
 * A file in the runtime directory has the pid and the start time of the newest copy; the request is
 * SIGUSR1, through a pidfd. Copies that start at the same time take turns by the lock of the file.
 * Any process of the user may hold that lock without end, so no call waits for the lock.
 * Life: supersede_open, before any thread exists -> supersede_claim until it does not return
 * -EAGAIN; supersede_is_asked ... -> supersede_close.
 * Threads: the first one.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "keeper/options.h"

#define SUPERSEDE_RETRY_MS 20

struct supersede {
	int requests;    /* readable when a newer copy asks this one to end; -1: none */
	int dir;         /* of the file; -1: none */
	char file[48];   /* "": supersede_claim was not called */
	unsigned tries;  /* of supersede_claim */
	bool has_waited; /* the lock stayed busy: this copy did without the lock */
};

/* From now on a request to this copy makes `requests` readable. -errno with a sentence when the
 * runtime directory cannot be used. */
int supersede_open(struct supersede *out, struct err *e);
/* Ask the older copy to end, and become the newest copy. -EAGAIN: another process has the lock;
 * call again after SUPERSEDE_RETRY_MS. After half a second this copy does without the lock. Other
 * -errno with a sentence. */
int supersede_claim(struct supersede *s, const struct options *o, const char *fingerprint,
		    struct err *e);
/* Has a newer copy asked this one to end? Reads the request. */
bool supersede_is_asked(struct supersede *s);
/* Remove the file, unless it belongs to a newer copy or another process has the lock. A file that
 * stays names a process that is gone, and does no harm. */
void supersede_close(struct supersede *s);
