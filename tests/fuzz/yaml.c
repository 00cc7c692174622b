/* yaml.c - YAML as nodes: refused with a reason, or every node is a piece of the text */
#include <assert.h>
#include <errno.h>

#include "clients/yaml_tree.h"
#include "fuzz.h"

static void check_node(const struct node *n, size_t len)
{
	assert(n->span.at <= len && n->span.len <= len - n->span.at);
	assert(n->key.at <= len && n->key.len <= len - n->key.at);
	assert(n->text || n->kind == NODE_LIST || n->kind == NODE_MAP || n->kind == NODE_OTHER);
	for (size_t i = 0; i < n->count; i++)
		check_node(n->items[i], len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct node *root = NULL;
	struct fault why = { .line = 0 };
	int r = yaml_tree(text, size, &root, &why);

	if (r == 0 && root)
		check_node(root, size);
	if (r != 0)
		assert(r == -EBADMSG && !root && why.line > 0 && why.reason[0]);
	node_free(root);
	free(text);
	return 0;
}
