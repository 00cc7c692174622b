/* hold.h - the inner keeper: own group, subreaper, parent of the server; spawns, stops, kills,
 * proves.
 *
 * It is the one that decides. It sees the owner's end (pidfd), the client's hang-up (stdin), the
 * watch's end (hang-up of `ctl`) and its requests, and the server's end, each by a kernel event. It
 * depends on nobody: a watch that is stopped or killed changes nothing but the time it has.
 *
 *   RUNNING --stdin hung up--> EOF_WAIT --grace--> TERM_WAIT --grace--> KILLING --> (empty, proved)
 *      |  \__ SIGTERM ____________________________/^   ^                 ^
 *      |   \_ owner or watch gone (short grace) ______/                  |
 *      +---- the server's main process exits (from any state) -----------+
 *      +---- the same with --linger --> LINGERING --its time is over, or any other reason--^
 *
 * Asked again it is never more patient than before, but it may be less.
 * Threads: one.  Allocates: never.
 */
#pragma once

#include "keeper.h"

/* Run as the hold until the tree is empty. `ctl` is our end of the pair with the watch. Does not
 * return. */
_Noreturn void hold_run(struct keeper *k, int ctl);
