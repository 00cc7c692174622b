/* supersede.h - `killick run --supersede`: one copy of a server for each client process.
 *
 * A client may forget a server and start the same server again. The newest copy asks the older copy
 * to end; the older copy ends when it is idle. Two copies are of the same server when they have the
 * same owner (pid and start time), name, command and working directory.
 *
 * A file in the runtime directory has the pid and the start time of the newest copy; the request is
 * SIGUSR1, through a pidfd.
 * Life: supersede_open, before any thread exists -> supersede_is_asked ... -> supersede_close.
 * Threads: the first one.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "keeper/options.h"

struct supersede {
	int requests; /* readable when a newer copy asks this one to end; -1: none */
	int dir;      /* of the file; -1: none */
	char file[48];
};

/* Ask the older copy to end, and become the newest copy. From now on a request to this copy makes
 * `requests` readable. -errno with a sentence when the runtime directory cannot be used. */
int supersede_open(const struct options *o, struct supersede *out, struct err *e);
/* Has a newer copy asked this one to end? Reads the request. */
bool supersede_is_asked(struct supersede *s);
/* Remove the file, unless it belongs to a newer copy. */
void supersede_close(struct supersede *s);
