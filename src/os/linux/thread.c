/* thread.c - see thread.h */
#include "os/thread.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static void thread_block_signals(enum thread_kind kind, sigset_t *out_before)
{
	/* signals that the kernel sends to a thread for a fault of that thread */
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	sigset_t blocked;

	sigfillset(&blocked);
	for (size_t i = 0; kind == THREAD_HOST && i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&blocked, faults[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, out_before);
}

int thread_start(struct thread *out, enum thread_kind kind, const char *name,
		 void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attr;
	sigset_t before;
	int r;

	pthread_attr_init(&attr);
	if (kind == THREAD_SMALL)
		pthread_attr_setstacksize(&attr, THREAD_SMALL_STACK);
	thread_block_signals(kind, &before);
	r = pthread_create(&out->native, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (r == 0)
		pthread_setname_np(out->native, name);
	return -r;
}

void thread_join(const struct thread *t)
{
	pthread_join(t->native, NULL);
}

void thread_detach(const struct thread *t)
{
	pthread_detach(t->native);
}

int thread_id(void)
{
	return (int)gettid();
}

unsigned thread_cpus(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus) : 1;
}

void cond_init(struct cond *c)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->native, &attr);
	pthread_condattr_destroy(&attr);
}
