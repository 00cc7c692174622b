/* ps_on.h - `killick ps --on`: what an executor holds. */
#pragma once

#include <stdbool.h>

#include "on.h"

struct ps_on_options {
	bool as_tree, as_json;
	bool all; /* also what has ended and is still remembered */
};
/* The exit status. */
int ps_on(const struct on *where, const struct ps_on_options *o);
