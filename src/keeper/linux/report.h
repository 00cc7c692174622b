/* report.h - writes how a tree ended: the JSON line of --report and the last line of --log.
 * Threads: one.  Blocking: as writing to the report does.  Allocates: never.
 */
#pragma once

#include "keeper.h"

/* Write both, where the options ask for them. `survivors` is the result of tree_kill. 0, or -errno
 * when the line of --report could not be written; -ETIMEDOUT: nothing reads it. */
int report_end(const struct keeper *k, int survivors);

/* Each tree has one report. The hold tells the watch the size of the report's file before it writes
 * (MSG_REPORTING) and the result afterwards (MSG_REPORTED). When the hold dies between the two, a
 * file that still has this size has no report yet. */
long long report_size(const struct keeper *k);

/* "TERM" for SIGTERM; "SIG37" style numbers for those without a name. Valid until the next call. */
const char *report_signal(int sig);
