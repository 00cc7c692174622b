/* hash.h - a hash table of embedded nodes that are found by a 64-bit number.
 *
 * A node is embedded in its owner. The number is an id, or a digest of a longer key that the caller
 * compares: several nodes may have the same number. The low bits select the chain, so they must be
 * spread evenly: ids that count up are, and a digest of a key that a peer chooses needs a secret
 * seed.
 *
 * Life: zero -> hash_add, hash_remove ... -> hash_done. Only hash_add allocates, when the table
 * grows. Threads: one at a time.  Blocking: never.
 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

struct hash_node {
	struct hash_node *next;
	uint64_t key;
};

struct hash {
	struct hash_node **heads;
	size_t cap, count; /* cap: a power of two, or 0 */
};

void hash_grow(struct hash *h);
/* Free the memory of the table. Nodes that are in the table are not touched. */
void hash_done(struct hash *h);

static inline void hash_add(struct hash *h, struct hash_node *n, uint64_t key)
{
	struct hash_node **head;

	if (h->count >= h->cap)
		hash_grow(h);
	head = &h->heads[key & (h->cap - 1)];
	*n = (struct hash_node){ *head, key };
	*head = n;
	h->count++;
}

/* The node must be in the table. */
static inline void hash_remove(struct hash *h, struct hash_node *n)
{
	struct hash_node **at;

	assert(h->count > 0);
	for (at = &h->heads[n->key & (h->cap - 1)]; *at != n; at = &(*at)->next)
		assert(*at);
	*at = n->next;
	*n = (struct hash_node){ NULL, 0 };
	h->count--;
}

/* The next node with the same number, NULL: none. */
static inline struct hash_node *hash_next(const struct hash_node *n)
{
	struct hash_node *next = n->next;

	while (next && next->key != n->key)
		next = next->next;
	return next;
}

/* The first node with this number, NULL: none. */
static inline struct hash_node *hash_find(const struct hash *h, uint64_t key)
{
	struct hash_node *n = h->cap ? h->heads[key & (h->cap - 1)] : NULL;

	while (n && n->key != key)
		n = n->next;
	return n;
}
