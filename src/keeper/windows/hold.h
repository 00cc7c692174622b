/* hold.h - decides when the tree ends, and by which step.
 *
 *   RUNNING --stdin closed--> EOF_WAIT --grace--> TERM_WAIT --grace--> KILLING --> (empty, proved)
 *      |  \__ Ctrl-C, Ctrl-Break _________________/^   ^                 ^
 *      |   \_ owner gone, console closed (short grace) _/                |
 *      +---- the owner says "kill" (control.h), from any state ----------+
 *      +---- the server exits (from any state) --------------------------+
 *      +---- the same with --linger --> LINGERING --its time is over, or any other reason--^
 *
 * The same states as on Linux, with Ctrl-Break in the place of SIGTERM. A second reason to end can
 * shorten the remaining time, but never lengthens it.
 * Threads: one, and that of Windows which calls the handler of console events.  Allocates: never.
 */
#pragma once

#include "keeper.h"

/* Be ready for console events, before the server runs. 0, or an error of Windows. */
DWORD hold_ready(void);

/* Wait until the tree has to be ended. */
void hold_run(struct keeper *k);

/* The tree has been ended: let the handler of console events return. */
void hold_done(void);
