/* spare.h - keeps freed blocks of one size for reuse.
 *
 * For objects that are allocated and freed with every request. Life: zero -> spare_take, spare_give
 * ... -> spare_done. Keeps at most SPARE_MAX blocks. Threads: one at a time.  Blocking: never.
 */
#pragma once

#include <stdlib.h>

#include "base/mem.h"

#define SPARE_MAX 64

struct spare {
	void *first; /* each block begins with the address of the next */
	unsigned count;
};

/* A block of `size` bytes, which is the same each time. */
static inline void *spare_take(struct spare *s, size_t size)
{
	void *block = s->first;

	if (!block)
		return mem_grow(NULL, 1, size);
	s->first = *(void **)block;
	s->count--;
	return block;
}

static inline void spare_give(struct spare *s, void *block)
{
	if (s->count == SPARE_MAX) {
		free(block);
		return;
	}
	*(void **)block = s->first;
	s->first = block;
	s->count++;
}

static inline void spare_done(struct spare *s)
{
	while (s->first) {
		void *next = *(void **)s->first;

		free(s->first);
		s->first = next;
	}
	s->count = 0;
}
