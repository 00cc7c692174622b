/* node.c - see node.h */
#include "node.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct node *node_new(enum node_kind kind, size_t at, size_t len)
{
	struct node *n = mem_grow(NULL, 1, sizeof(*n));

	*n = (struct node){ .kind = kind, .span = { at, len } };
	return n;
}

void node_add(struct node *parent, struct node *item)
{
	if (parent->count == parent->capacity) {
		parent->capacity = parent->capacity ? parent->capacity * 2 : 4;
		parent->items = mem_grow(parent->items, parent->capacity, sizeof(struct node *));
	}
	parent->items[parent->count++] = item;
}

void node_free(struct node *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->count; i++)
		node_free(n->items[i]);
	free(n->items);
	free(n->name);
	free(n->text);
	free(n);
}

void node_drop(struct node **n)
{
	node_free(*n);
	*n = NULL;
}

struct node *node_get(const struct node *n, const char *name)
{
	for (size_t i = n && n->kind == NODE_MAP ? n->count : 0; i-- > 0;)
		if (n->items[i]->name && strcmp(n->items[i]->name, name) == 0)
			return n->items[i];
	return NULL;
}

size_t node_times(const struct node *n, const char *name)
{
	size_t times = 0;

	for (size_t i = 0; n && n->kind == NODE_MAP && i < n->count; i++)
		times += n->items[i]->name && strcmp(n->items[i]->name, name) == 0;
	return times;
}

const char *node_string(const struct node *n)
{
	return n && n->kind == NODE_STRING ? n->text : NULL;
}

bool node_is(const struct node *n, const char *text)
{
	const char *s = node_string(n);

	return s && strcmp(s, text) == 0;
}

bool node_is_bool(const struct node *n, bool value)
{
	return n && n->kind == NODE_BOOL && (n->text[0] == 't') == value;
}

unsigned fault_line(const char *text, size_t at)
{
	const char *end = text + at;
	unsigned line = 1;

	while ((text = memchr(text, '\n', (size_t)(end - text))) != NULL) {
		line++;
		text++;
	}
	return line;
}

int fault_set(struct fault *f, const char *text, size_t at, const char *fmt, ...)
{
	va_list ap;

	f->line = fault_line(text, at);
	va_start(ap, fmt);
	vsnprintf(f->reason, sizeof(f->reason), fmt, ap);
	va_end(ap);
	return -EBADMSG;
}
