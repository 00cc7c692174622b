/* thread.c - see thread.h */
#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

int thread_start(pthread_t *out, enum thread_kind kind, const char *name, void *(*fn)(void *arg),
		 void *arg)
{
	/* signals that the kernel sends to a thread for a fault of that thread */
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	sigset_t blocked, before;
	int r;

	sigfillset(&blocked);
	for (size_t i = 0; kind == THREAD_HOST && i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&blocked, faults[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	r = pthread_create(out, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r == 0)
		pthread_setname_np(*out, name);
	return -r;
}
