/* queue.c - see queue.h */
#include "base/queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define USUAL (16 << 10) /* size of a block and its header; a longer message has its own block */

struct queue_block {
	struct queue_block *next;
	size_t from, to, cap; /* bytes [from, to) are queued */
	char bytes[];
};
#define USUAL_CAP (USUAL - sizeof(struct queue_block))

static struct queue_block *queue_block_new(struct queue *q, size_t len)
{
	size_t cap = len > USUAL_CAP ? len : USUAL_CAP;
	struct queue_block *b = cap == USUAL_CAP ? q->spare : NULL;

	if (b)
		q->spare = NULL;
	else
		b = mem_grow(NULL, sizeof(*b) + cap, 1);
	b->next = NULL;
	b->from = b->to = 0;
	b->cap = cap;
	return b;
}

void queue_add(struct queue *q, const char *bytes, size_t len)
{
	struct queue_block *b = q->last;

	if (!b || b->cap - b->to < len) {
		b = queue_block_new(q, len);
		if (q->last)
			q->last->next = b;
		else
			q->first = b;
		q->last = b;
	}
	memcpy(b->bytes + b->to, bytes, len);
	b->to += len;
	q->len += len;
}

int queue_pieces(const struct queue *q, struct fd_piece *out, int max)
{
	int n = 0;

	for (struct queue_block *b = q->first; b && n < max; b = b->next)
		out[n++] = (struct fd_piece){ b->bytes + b->from, b->to - b->from };
	return n;
}

static void queue_drop_first(struct queue *q)
{
	struct queue_block *b = q->first;

	q->first = b->next;
	if (!q->first)
		q->last = NULL;
	if (!q->spare && b->cap == USUAL_CAP)
		q->spare = b;
	else
		free(b);
}

void queue_drop(struct queue *q, size_t len)
{
	assert(len <= q->len);
	q->len -= len;
	while (len) {
		struct queue_block *b = q->first;
		size_t part = len < b->to - b->from ? len : b->to - b->from;

		b->from += part;
		len -= part;
		if (b->from == b->to)
			queue_drop_first(q);
	}
}

void queue_done(struct queue *q)
{
	queue_drop(q, q->len);
	free(q->spare);
	q->spare = NULL;
}
