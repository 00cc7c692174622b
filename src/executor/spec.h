/* spec.h - the params of process/start as what a link wants.
 *
 * What this executor cannot do (a sandbox, a managed network) is refused: nothing runs with less
 * than it was asked to be held by.
 *
 * Life: spec_read -> link_open with .link -> spec_done.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "link/link.h"

struct spec {
	struct link_spec link; /* keeper and no_sweep are the caller's */
	char *id;
	char *argv_json; /* short ones only: what `process/list` shows */
	char **argv, **envp;
	char *cwd, *arg0, *name, *session;
	bool says_linger; /* how long what it leaves behind may go on; else that is ours to say */
};

/* 0, or e is set with a code of the wire. envp: of the executor. */
int spec_read(struct spec *s, struct json params, char *const *envp, struct err *e);
void spec_done(struct spec *s);
