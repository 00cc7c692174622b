/* ps_on.h - `killick ps --on`: what an executor holds. */
#pragma once

#include <stdbool.h>

#include "on.h"

/* The exit status. */
int ps_on(const struct on *o, bool as_tree, bool as_json);
