/* report.h - writes how a tree ended: the JSON line of --report and --control, and the last line of
 * --log.
 * Threads: one, and one for a report that goes to a pipe.  Blocking: for at most a second.
 * Allocates: never.
 */
#pragma once

#include "keeper.h"

/* Write both, where the options ask for them. `survivors` is the result of job_kill. */
void report_end(const struct keeper *k, unsigned survivors);
