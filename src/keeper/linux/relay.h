/* relay.h - the process that the client started, when it has children outside of the tree.
 *
 * `sh -c 'helper & exec killick run -- srv'`: the helper is a child of the process that executes
 * killick, and not part of the tree. A watch treats every child as part of its tree. So here the
 * watch is a new process without children, and the process that the client started is the relay:
 * it passes signals on and ends as the watch ends.
 *
 *   owner ---- relay ---- watch ---- hold ---- server
 *                 \____ helper
 *
 * When the relay dies, the kernel kills the watch (PDEATHSIG), and the hold ends the tree as it
 * does for every killed watch. Threads: one.  Allocates: never.
 */
#pragma once

#include <stdbool.h>

/* Does this process have living children, or is it pid 1, which gets all orphans? Dead children are
 * reaped. */
bool relay_is_needed(void);

/* Fork the watch. Returns 0 in the new process, which becomes the watch; the caller does not
 * return. -errno: fork failed. With ends_with_parent the relay dies with its parent, because the
 * watch has no other way to see the owner's end. Signals must be blocked (signals_block). */
int relay_start(bool ends_with_parent);
