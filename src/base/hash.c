/* hash.c - see hash.h */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define CAP_MIN 16

void hash_grow(struct hash *h)
{
	struct hash old = *h;

	h->cap = old.cap ? 2 * old.cap : CAP_MIN;
	h->count = 0;
	h->heads = mem_grow(NULL, h->cap, sizeof(struct hash_node *));
	memset(h->heads, 0, h->cap * sizeof(struct hash_node *));
	for (size_t i = 0; i < old.cap; i++) {
		for (struct hash_node *n = old.heads[i], *next; n; n = next) {
			next = n->next;
			hash_add(h, n, n->key);
		}
	}
	free(old.heads);
}

void hash_done(struct hash *h)
{
	free(h->heads);
	*h = (struct hash){ NULL, 0, 0 };
}
