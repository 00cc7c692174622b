/* report.h - writes how a tree ended: the JSON line of --report and the last line of --log.
 * Threads: one.  Blocking: as writing to the report does.  Allocates: never.
 */
#pragma once

#include "keeper.h"

/* Write both, where the options ask for them. `survivors` is the result of tree_kill. */
void report_end(const struct keeper *k, int survivors);

/* "TERM" for SIGTERM; "SIG37" style numbers for those without a name. Valid until the next call. */
const char *report_signal(int sig);
