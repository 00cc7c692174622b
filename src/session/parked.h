/* parked.h - a request that waits until its server runs; embedded in its owner.
 *
 * The server calls begin when its client takes requests, or fail when the server will not run. Both
 * take the request out of the ring (parked_leave) before they do anything else. The owner of a
 * request that must not wait any more calls parked_leave.
 * Threads: with the loop's lock.
 */
#pragma once

#include <stdbool.h>

#include "base/ring.h"

struct lease;

struct parked {
	struct ring node; /* in server.parked */
	struct lease *lease;
	void (*begin)(struct parked *p);
	void (*fail)(struct parked *p, int code, const char *text);
};

static inline bool parked_is_in(const struct parked *p)
{
	return ring_is_in(&p->node);
}

static inline void parked_leave(struct parked *p)
{
	ring_remove(&p->node);
}

/* The server will not run, or the lease leaves: fail the requests of the lease; l NULL: all. */
void parked_fail(struct ring *all, const struct lease *l, int code, const char *text);

static inline struct parked *parked_of(struct ring *node)
{
	return CONTAINER_OF(node, struct parked, node);
}
