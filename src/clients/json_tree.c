/* json_tree.c - see json_tree.h */
#include "json_tree.h"

#include <stdlib.h>

#include "base/mem.h"

static enum node_kind json_tree_kind(enum json_type type)
{
	switch (type) {
	case JSON_STRING:
		return NODE_STRING;
	case JSON_BOOL:
		return NODE_BOOL;
	case JSON_NUMBER:
		return NODE_NUMBER;
	case JSON_ARRAY:
		return NODE_LIST;
	case JSON_OBJECT:
		return NODE_MAP;
	case JSON_NULL:
	case JSON_ABSENT:
		break;
	}
	return NODE_NULL;
}

/* If there is no memory for a string, the node gets an empty string; the bytes in the file do not
 * change. */
static char *json_tree_text(struct json v)
{
	char *text;

	if (json_type(v) != JSON_STRING)
		return mem_text(v.at, v.len);
	return json_string(v, &text) ? text : mem_dup("");
}

struct node *json_tree(const char *text, struct json v)
{
	struct node *n = node_new(json_tree_kind(json_type(v)), (size_t)(v.at - text), v.len);
	struct json_iter it = json_iter(v);

	if (n->kind != NODE_LIST && n->kind != NODE_MAP)
		n->text = json_tree_text(v);
	while (json_each(&it)) {
		struct node *item = json_tree(text, it.value);

		if (it.object) {
			item->key = (struct span){ (size_t)(it.key.at - text), it.key.len };
			item->key_last = item->key.at;
			item->name = json_tree_text(it.key);
		}
		node_add(n, item);
	}
	return n;
}
