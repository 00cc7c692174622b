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

/* In the server's process, before PDEATHSIG is set: kill both keepers and go on as an orphan. The
 * child checks getppid() again because of this race. */
static void kill_both(void)
{
	pid_t hold = getppid();

	kill(watch_pid, SIGKILL);
	kill(hold, SIGKILL);
	for (int i = 0; i < 10000 && getppid() == hold;
	     i++) /* pid 1 of a namespace survives this SIGKILL */
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
	if (s == JANITOR_BEGIN) {
		raise(SIGSTOP);
		return;
	}
	kill(getpid(), SIGKILL);
	__builtin_trap(); /* pid 1 of a namespace does not die of its own SIGKILL, but of a fault */
}

void step_list(void)
{
	for (size_t i = 0; i < sizeof(step_names) / sizeof(step_names[0]); i++)
		puts(step_names[i]);
}
#endif
