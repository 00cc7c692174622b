/* envpolicy.h - the environment of a process: variables that it inherits from the executor, and
 * variables of the request.
 *
 * Order, as in the original: inherit; drop *KEY*, *SECRET*, *TOKEN* unless told otherwise; exclude;
 * set; includeOnly; then `env` on top. A process never gets killick's own variables (KILLICK_TREE
 * and others) or the variables that the original always removes, even if the request sets them.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"

/* policy may be JSON_NONE: `env` alone. *out is a list with NULL at the end, for strings_free. */
int envpolicy_apply(struct json policy, struct json env, char *const *inherited, char ***out,
		    struct err *e);
