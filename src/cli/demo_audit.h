/* demo_audit.h - counts the remaining processes, only by reading /proc.
 *
 * Shares no code with killick, so that killick does not judge itself. A process belongs to the demo
 * when its environment, as it was at its exec, has the tag. Zombies are dead and not counted.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct audit_proc {
	pid_t pid, ppid;
	unsigned long long start; /* clock ticks since boot */
	char tag[40];             /* the text after the tag and its dot; may be empty */
	char args[200]; /* arguments joined by spaces, as the process gave them: clean before
			   printing */
};

/* Find the processes whose environment has an entry that is `tag`, or starts with `tag` and a dot.
 * At most max are stored, in the order of their start; the number found is returned. A process that
 * forks and exits faster than the scan may be missed: scan more than once, and call audit_children.
 */
size_t audit_scan(const char *tag, struct audit_proc *out_list, size_t max);

/* SIGKILL all processes with the tag, by pidfd, until none is left or the budget is used up.
 * Returns how many are left. */
size_t audit_kill(const char *tag, long budget_ms);

/* The number of children of this process other than `except`, zombies included. This process is a
 * subreaper, so 0 means that no process it ever started is left: orphans become its children. -1
 * when this kernel does not tell (CONFIG_PROC_CHILDREN). */
int audit_children(pid_t except);
