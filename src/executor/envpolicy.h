/* envpolicy.h - the environment of a process: what it inherits of ours, and what it is given.
 *
 * Order, as in the original: inherit; drop *KEY*, *SECRET*, *TOKEN* unless told otherwise; exclude;
 * set; includeOnly; then `env` on top. Variables that are nobody's business but ours (KILLICK_*)
 * and those the original always removes never get through, whoever gives them.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"

/* policy may be JSON_NONE: `env` alone. *out is a list with NULL at the end, for strings_free. */
int envpolicy_apply(struct json policy, struct json env, char *const *inherited, char ***out,
		    struct err *e);
