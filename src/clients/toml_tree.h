/* toml_tree.h - reads TOML (1.0, and what 1.1 added) into nodes.
 *
 * Written here because Debian has no TOML library for C, and because edits need the place of every
 * key and value. What is not valid TOML is refused with the line and the reason, also a key or
 * table that is defined twice: the client would refuse the file as well.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "node.h"

/* 0 and the root table, which the caller frees; -EBADMSG and *fault. */
int toml_tree(const char *text, size_t len, struct node **out_root, struct fault *fault);
