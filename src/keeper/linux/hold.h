/* hold.h - the inner keeper: own group, subreaper, parent of the server; spawns, stops, kills,
 * proves.
 *
 * The hold decides when the tree ends. It sees the owner's end (pidfd), the client's hang-up
 * (stdin), the watch's end (hang-up of `ctl`) and requests, and the server's end, each by a kernel
 * event. The hold does not depend on the watch: a stopped or killed watch only shortens the grace.
 *
 *   RUNNING --stdin hung up--> EOF_WAIT --grace--> TERM_WAIT --grace--> KILLING --> (empty, proved)
 *      |  \__ SIGTERM ____________________________/^   ^                 ^
 *      |   \_ owner or watch gone (short grace) ______/                  |
 *      +---- the server's main process exits (from any state) -----------+
 *      +---- the same with --linger --> LINGERING --its time is over, or any other reason--^
 *
 * A second reason to end can shorten the remaining time, but never lengthens it.
 * Threads: one.  Allocates: never.
 */
#pragma once

#include "keeper.h"

/* Run as the hold until the tree is empty. `ctl` is the hold's end of the socket pair with the
 * watch. Does not return. */
_Noreturn void hold_run(struct keeper *k, int ctl);
