/* forest.c - see forest.h */
#include "forest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"

enum { PREFIX_MAX = 256, DEPTH_MAX = 16 }; /* deeper nodes are drawn at this depth */

struct forest {
	const struct forest_node *nodes;
	size_t count;
	forest_fn fn;
	void *ctx;
	bool *drawn; /* nodes in a cycle (pids reused during the scan) must not be drawn for ever */
};

static bool has_parent(const struct forest *f, size_t i)
{
	for (size_t k = 0; k < f->count; k++)
		if (k != i && f->nodes[k].pid == f->nodes[i].ppid)
			return true;
	return false;
}

/* Returns the first node, beginning with `from`, that is a child of `parent` (0: a root), or
 * count. */
static size_t next_under(const struct forest *f, size_t from, pid_t parent)
{
	for (size_t i = from; i < f->count; i++) {
		if (f->drawn[i])
			continue;
		if (parent ? f->nodes[i].ppid == parent : !has_parent(f, i))
			return i;
	}
	return f->count;
}

static void draw_under(struct forest *f, pid_t parent, const char *lead, bool branches, int depth)
{
	const char *tee = text_is_utf8() ? "├─ " : "|- ", *last = text_is_utf8() ? "└─ " : "`- ";
	const char *bar = text_is_utf8() ? "│  " : "|  ";

	for (size_t i = next_under(f, 0, parent), next; i < f->count; i = next) {
		char prefix[PREFIX_MAX], below[PREFIX_MAX];

		f->drawn[i] = true;
		next = next_under(f, i + 1, parent);
		snprintf(prefix, sizeof(prefix), "%s%s", lead,
			 !branches         ? ""
			 : next < f->count ? tee
					   : last);
		snprintf(below, sizeof(below), "%s%s", lead,
			 !branches         ? ""
			 : next < f->count ? bar
					   : "   ");
		f->fn(f->ctx, i, prefix);
		draw_under(f, f->nodes[i].pid, depth < DEPTH_MAX ? below : lead, true, depth + 1);
	}
}

void forest_draw(const struct forest_node *nodes, size_t count, const char *lead, bool hang,
		 forest_fn fn, void *ctx)
{
	AUTO(mem_drop) bool *drawn = mem_grow(NULL, count, sizeof(*drawn));
	struct forest f = { nodes, count, fn, ctx, drawn };

	memset(drawn, 0, count * sizeof(*drawn));
	draw_under(&f, 0, lead, hang, 0);
	for (size_t i = 0; i < count; i++) /* nodes in a cycle: draw them separately */
		if (!drawn[i])
			fn(ctx, i, lead);
}
