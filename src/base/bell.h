/* bell.h - a descriptor that becomes readable when another thread rings.
 *
 * A pipe and not an eventfd: all eventfds share one inode (own.h), so we could not see that the
 * host has put a descriptor of its own in the place of ours, and would write into that one.
 * Life: bell_init -> bell_ring, bell_hush -> bell_done. Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "base/own.h"

struct bell {
	int out, in; /* to wait for, and to write to; -1: none */
	struct own id;
};

int bell_init(struct bell *b); /* 0 or -errno */
bool bell_is_ours(const struct bell *b);
/* False: its descriptors are not ours any more. */
bool bell_ring(const struct bell *b);
void bell_hush(const struct bell *b);
void bell_done(struct bell *b); /* closes what is ours */
