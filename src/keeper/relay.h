/* relay.h - the process the client started, when it has children that are not the tree's.
 *
 * `sh -c 'helper & exec killick run -- srv'`: the helper is a child of the process that becomes
 * killick, and no part of the tree. A watch takes every child for its tree's. So here the watch is
 * a process of its own, without children, and the process the client knows only relays: it hands
 * signals on and ends as the watch ends.
 *
 *   owner ---- relay ---- watch ---- hold ---- server
 *                 \____ helper
 *
 * When the relay dies, the kernel kills the watch (PDEATHSIG), and the hold ends the tree as it
 * does for every killed watch. Threads: one.  Allocates: never.
 */
#pragma once

#include <stdbool.h>

/* Has this process living children, or is it pid 1, which gets everybody's? Dead ones are reaped.
 */
bool relay_is_needed(void);

/* Returns 0 in the new process that shall be the watch; this one does not return. -errno: no new
 * process to be had. The relay ends with its parent when the watch has no other way to see the
 * owner's end (ends_with_parent). Signals are blocked (signals_block). */
int relay_start(bool ends_with_parent);
