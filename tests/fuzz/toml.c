/* toml.c - TOML as nodes: refused with a reason, or every node is a piece of the text */
#include <assert.h>
#include <errno.h>

#include "clients/toml_tree.h"
#include "fuzz.h"

static void check_node(const struct node *n, size_t len, int depth)
{
	assert(depth < 200);
	assert(n->span.at <= len && n->span.len <= len - n->span.at);
	assert(n->key.at <= len && n->key.len <= len - n->key.at);
	assert(!n->name || (n->key_last >= n->key.at && n->key_last <= span_end(n->key)));
	assert((n->kind == NODE_LIST || n->kind == NODE_MAP) == !n->text);
	for (size_t i = 0; i < n->count; i++) {
		if (n->kind == NODE_MAP)
			assert(n->items[i]->name && node_times(n, n->items[i]->name) == 1);
		check_node(n->items[i], len, depth + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1); /* of this size, so that reading behind it is seen */
	struct node *root = NULL;
	struct fault why = { .line = 0 };
	int r;

	assert(text);
	if (size)
		memcpy(text, data, size);
	r = toml_tree(text, size, &root, &why);
	if (r == 0)
		check_node(root, size, 0);
	else
		assert(r == -EBADMSG && !root && why.line > 0 && why.reason[0]);
	node_free(root);
	free(text);
	return 0;
}
