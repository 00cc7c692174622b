/* stop.c - see stop.h */
#include "os/stop.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_WAKE SIGUSR1

static pthread_t stop_waiter;

static void stop_signals(sigset_t *out)
{
	static const int list[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD, STOP_WAKE };

	sigemptyset(out);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		sigaddset(out, list[i]);
}

void stop_init(void)
{
	sigset_t set;

	stop_waiter = pthread_self();
	stop_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* As pid 1 this process is the parent of every orphan. The library sees the end of its keepers
 * through pidfds, so reaping a keeper here does no harm. */
static void stop_reap(void)
{
	while (getpid() == 1 && waitpid(-1, NULL, WNOHANG) > 0)
		;
}

bool stop_wait(void)
{
	sigset_t set;
	int sig;

	stop_signals(&set);
	for (;;) {
		if (sigwait(&set, &sig) != 0)
			continue;
		if (sig != SIGCHLD)
			return sig != STOP_WAKE;
		stop_reap();
	}
}

void stop_wake(void)
{
	pthread_kill(stop_waiter, STOP_WAKE);
}
