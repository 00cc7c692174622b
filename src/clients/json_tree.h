/* json_tree.h - makes nodes of a piece of a JSON text.
 *
 * A config can be large (60 MB of history beside three servers), so only the servers become nodes;
 * json.h finds the servers without a tree. Threads: any.  Blocking: never.
 */
#pragma once

#include "base/json.h"
#include "node.h"

/* Returns the nodes of `v`, a value of the checked text; the caller frees them. */
struct node *json_tree(const char *text, struct json v);
