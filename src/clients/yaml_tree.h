/* yaml_tree.h - reads YAML into nodes, from the events of libyaml, which carry positions.
 *
 * The text must be one document. An alias becomes a NODE_OTHER; a value with an anchor, a tag or
 * more than one line is `fixed`: its bytes may have another meaning in another place. In a build
 * without libyaml every text is refused, and the reason names the missing library.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "node.h"

/* Returns 0 and the root, which the caller frees (NULL: the text is empty), or -EBADMSG with *fault
 * set. */
int yaml_tree(const char *text, size_t len, struct node **out_root, struct fault *fault);
/* Was killick built with libyaml? */
bool yaml_tree_is_built(void);
