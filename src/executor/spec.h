/* spec.h - the params of process/start as a recipe.
 *
 * remote/plan.h writes what is read here. What this executor cannot do (a sandbox, a managed
 * network) is refused: nothing runs with less than it was asked to be held by.
 *
 * Life: spec_read -> link_open with .recipe -> spec_done.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "link/recipe.h"

struct spec {
	struct recipe recipe; /* owned; keeper and sweep are the caller's */
	char *id;
	char *argv_json;   /* short ones only: what `process/list` shows */
	bool says_contain; /* else the executor has its own default, */
	bool says_linger;  /* and for this one, too */
};

/* 0, or e is set with a code of the wire. envp: of the executor. */
int spec_read(struct spec *s, struct json params, char *const *envp, struct err *e);
void spec_done(struct spec *s);
