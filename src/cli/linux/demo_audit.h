/* demo_audit.h - counts the remaining processes, only by reading /proc.
 *
 * Shares no code with killick, so that killick does not judge itself. A process belongs to the demo
 * when its environment, as it was at its exec, has the tag. Zombies are dead and not counted.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "cli/demo_view.h"

struct audit_proc {
	struct demo_process process;
	unsigned long long start; /* clock ticks since boot */
	char tag[40];             /* the text after the tag and its dot; may be empty */
};

/* Find the processes whose environment has an entry that is `tag`, or starts with `tag` and a dot.
 * Stores at most max of them, in the order of their start, and returns how many were found. A
 * process that forks and exits faster than the scan may be missed: scan more than once, and call
 * audit_children. */
size_t audit_scan(const char *tag, struct audit_proc *out_list, size_t max);

/* SIGKILL all processes with the tag, by pidfd, until all are gone or the budget is used up.
 * Returns how many are left. */
size_t audit_kill(const char *tag, long budget_ms);

/* Returns the number of children of this process other than `except`, zombies included. This
 * process is a subreaper, so orphans become its children, and 0 means that no process is left that
 * it ever started. -1: this kernel does not list children (CONFIG_PROC_CHILDREN). */
int audit_children(pid_t except);
