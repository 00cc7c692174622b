/* toml_tree.h - reads TOML (1.0, and the additions of 1.1) into nodes.
 *
 * Written here because Debian has no TOML library for C, and because edits need the position of
 * every key and value. Invalid TOML is refused with the line and the reason, also a key or table
 * that is defined twice: the client would refuse the file as well.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "node.h"

/* Returns 0 and the root table, which the caller frees, or -EBADMSG with *fault set. */
int toml_tree(const char *text, size_t len, struct node **out_root, struct fault *fault);
