/* ps_view.h - prints the trees of `killick ps` on stdout, in one of three forms. */
#pragma once

#include "base/emit.h"
#include "ps.h"

/* One line for each tree; columns that do not fit the terminal are left out. */
void ps_view_table(const struct ps_trees *ts);
/* For each tree a line, and below it a line for each process, as branches. */
void ps_view_forest(const struct ps_trees *ts);
/* All facts, as one JSON array. */
void ps_view_json(const struct ps_trees *ts);
/* Write the facts of one tree as an element of an open JSON array. */
void ps_view_emit_tree(struct emit *j, const struct ps_tree *t);
