/* forest.h - draws parents and children as lines of a tree.
 *
 * A node whose parent is not among the nodes is a root. Lines are UTF-8 or ASCII, as set in text.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct forest_node {
	pid_t pid, ppid;
};

/* Called once per node, parents before children; print `prefix` in front of the node. */
typedef void (*forest_fn)(void *ctx, size_t index, const char *prefix);

/* Draw the nodes in their order. Every line starts with `lead`. With `hang` roots get branches,
 * too, as children of a line that the caller printed above. */
void forest_draw(const struct forest_node *nodes, size_t count, const char *lead, bool hang,
		 forest_fn fn, void *ctx);
