/* yaml_tree.h - reads YAML into nodes, by the events of libyaml, which carry positions.
 *
 * One document. An alias becomes a NODE_OTHER; a value with an anchor, a tag or more than one line
 * is `fixed`: its bytes may mean something else in another place. In a build without libyaml every
 * text is refused with this reason.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "node.h"

/* 0 and the root, which the caller frees (NULL: the text is empty); -EBADMSG and *fault. */
int yaml_tree(const char *text, size_t len, struct node **out_root, struct fault *fault);
/* Was killick built with libyaml? */
bool yaml_tree_is_built(void);
