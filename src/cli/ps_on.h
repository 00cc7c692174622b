/* ps_on.h - `killick ps --on`: lists the processes of an executor. */
#pragma once

#include <stdbool.h>

#include "on.h"

struct ps_on_options {
	bool as_tree, as_json;
	bool all; /* also processes that have ended and are still remembered */
};
/* Returns the exit status. */
int ps_on(const struct on *where, const struct ps_on_options *o);
