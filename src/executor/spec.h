/* spec.h - the params of process/start as a recipe.
 *
 * remote/plan.h writes these params. Requests for containment that this executor does not have (a
 * managed network; a sandbox, without --sandbox) are refused, never ignored.
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
	char *argv_json;          /* for `process/list`; a long argv is cut */
	bool says_contain;        /* else the executor's default is used, */
	bool says_linger;         /* the same for linger */
	bool says_sandbox;        /* the client wants a sandbox: */
	char **sandbox;           /* its options (sandbox.h); NULL: none, or */
	struct err sandbox_error; /* why its policy cannot be enforced; code 0: it can */
};

/* 0, or e is set with a code of the wire. envp: of the executor. */
int spec_read(struct spec *s, struct json params, char *const *envp, struct err *e);
void spec_done(struct spec *s);
