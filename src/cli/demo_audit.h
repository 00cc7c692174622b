/* demo_audit.h - counts what is left, by reading /proc and nothing else.
 *
 * Shares no code with killick, so that the demo does not ask the accused. A process belongs to the
 * demo when its environment, as it was at its exec, holds the tag. Zombies are dead and not
 * counted.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct audit_proc {
	pid_t pid, ppid;
	unsigned long long start; /* clock ticks since boot */
	char tag[40];             /* what stands behind the tag and its dot; empty: nothing */
	char args[200]; /* arguments joined by spaces, as the process gave them: clean before
			   printing */
};

/* Find the processes whose environment has an entry that is `tag`, or starts with `tag` and a dot.
 * At most max are stored, in the order in which they began; the number found is returned. A look
 * takes time, and who forks and exits faster than that may be missed: look more than once, and ask
 * audit_children. */
size_t audit_scan(const char *tag, struct audit_proc *out_list, size_t max);

/* SIGKILL all of them, by pidfd, until none is left or the time is over. Returns how many are left.
 */
size_t audit_kill(const char *tag, long budget_ms);

/* Our children other than `except`, zombies included. As we are a subreaper, none means that
 * nothing we ever started is left: whoever lost its parent would be among them. -1 when this kernel
 * does not tell (CONFIG_PROC_CHILDREN). */
int audit_children(pid_t except);
