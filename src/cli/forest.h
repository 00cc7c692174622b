/* forest.h - draws parents and children as lines of a tree.
 *
 * A node whose parent is not among the nodes is a root. Lines are UTF-8 or ASCII, as text.h was
 * told.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct forest_node {
	pid_t pid, ppid;
};

/* Called once per node, parents before children; `prefix` is what to print in front of it. */
typedef void (*forest_fn)(void *ctx, size_t index, const char *prefix);

/* Draw the nodes in their order. `lead` stands in front of every line; roots get branches too when
 * `hang` is set, as children of something printed above. */
void forest_draw(const struct forest_node *nodes, size_t count, const char *lead, bool hang,
		 forest_fn fn, void *ctx);
