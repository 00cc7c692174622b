/* step.c - see step.h; only in the test build */
#include "step.h"

#ifdef KILLICK_STEPS
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const step_names[] = {
#define X(id, name) name,
	STEP_LIST(X)
#undef X
};

static pid_t watch_pid; /* copied into hold and child by fork */

/* In the server's process, before PDEATHSIG is set: end both keepers and go on as their orphan.
 * That is the race for which the child looks at getppid() again. */
static void kill_both(void)
{
	pid_t hold = getppid();

	kill(watch_pid, SIGKILL);
	kill(hold, SIGKILL);
	for (int i = 0; i < 10000 && getppid() == hold;
	     i++) /* pid 1 of a namespace does not die of it */
		usleep(100);
}

void step_reach(enum step s)
{
	const char *at = getenv("KILLICK_DIE_AT"), *mark = getenv("KILLICK_DIE_MARK");

	if (s == WATCH_BEGIN)
		watch_pid = getpid();
	if (!at || strcmp(at, step_names[s]) != 0)
		return;
	if (mark)
		close(open(mark, O_WRONLY | O_CREAT, 0644));
	if (s == CHILD_BOTH) {
		kill_both();
		return;
	}
	kill(getpid(), SIGKILL);
	__builtin_trap(); /* pid 1 of a namespace does not die of its own SIGKILL, but of this */
}

void step_list(void)
{
	for (size_t i = 0; i < sizeof(step_names) / sizeof(step_names[0]); i++)
		puts(step_names[i]);
}
#endif
