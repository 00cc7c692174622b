/* bell.h - a descriptor that becomes readable when another thread rings.
 *
 * A pipe, because an eventfd cannot be told from another one (own.h): what we write must not come
 * to be written into a descriptor of the host's. Life: bell_init -> bell_ring, bell_hush ->
 * bell_done. Threads: any.  Blocking: never.
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
