/* toml_scalar.h - recognizes the numbers, dates and booleans of TOML.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "node.h"

/* Returns how many bytes at p may belong to one value without quotes. */
size_t toml_scalar_len(const char *p, size_t len);
/* Is the text one value? *out_kind is NODE_BOOL, NODE_NUMBER or NODE_OTHER (a date or time). */
bool toml_scalar_kind(const char *p, size_t len, enum node_kind *out_kind);
