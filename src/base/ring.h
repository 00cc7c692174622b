/* ring.h - a doubly linked list of embedded members.
 *
 * A head and its members are the same struct, embedded in their owners; the zero value is in no
 * ring. Adding and removing allocate nothing and cannot fail.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/container.h"

struct ring {
	struct ring *prev, *next;
};

/* The body may remove the current member. */
#define RING_EACH(pos, head)                                                                       \
	for (struct ring *pos = (head)->next, *pos##_next = pos->next; pos != (head);              \
	     pos = pos##_next, pos##_next = pos->next)

static inline void ring_init(struct ring *head)
{
	head->prev = head->next = head;
}

static inline bool ring_is_in(const struct ring *r)
{
	return r->next != NULL;
}

static inline bool ring_is_empty(const struct ring *head)
{
	return head->next == head;
}

static inline struct ring *ring_first(const struct ring *head)
{
	/* clang's analyzer does not see that ring_remove changes the head through a neighbour */
	return ring_is_empty(head) ? NULL : head->next; /* NOLINT(clang-analyzer-unix.Malloc) */
}

/* Add r at the end. */
static inline void ring_add(struct ring *head, struct ring *r)
{
	assert(!ring_is_in(r));
	r->prev = head->prev;
	r->next = head;
	head->prev->next = r;
	head->prev = r;
}

/* Remove r from its ring. Does nothing if r is in no ring. */
static inline void ring_remove(struct ring *r)
{
	if (!ring_is_in(r))
		return;
	r->prev->next = r->next;
	r->next->prev = r->prev;
	r->prev = r->next = NULL;
}

/* Remove and return the first element, or NULL. */
static inline struct ring *ring_take(struct ring *head)
{
	struct ring *r = ring_first(head);

	if (r) {
		head->next = r->next;
		r->next->prev = head;
		r->prev = r->next = NULL;
	}
	return r;
}
