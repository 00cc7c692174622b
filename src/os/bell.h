/* bell.h - a descriptor that becomes readable when another thread rings.
 *
 * On Linux a pipe and not an eventfd: all eventfds share one inode (own.h), so the library could
 * not see that the host has opened a file under the same number, and would write into that file.
 * On Windows an event (event.h), for which a host can wait with its own functions.
 * Life: bell_init -> bell_ring, bell_hush -> bell_done. Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "os/own.h"

struct bell {
	int out, in; /* out: to wait for, in: to write to; -1: none; on Windows the same number */
	struct own id;
};

int bell_init(struct bell *b); /* 0 or -errno */
bool bell_is_ours(const struct bell *b);
/* False: the host has closed the descriptors of the bell. */
bool bell_ring(const struct bell *b);
void bell_hush(const struct bell *b);
void bell_done(struct bell *b); /* closes the descriptors that are still ours */
