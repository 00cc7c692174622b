/* thread.h - start a thread that takes no signal of the host.
 *
 * Signals that are sent to the process are for the threads of the host. Threads: any.
 */
#pragma once

#include <pthread.h>

enum thread_kind {
	THREAD_OURS, /* runs our code alone: every signal is blocked */
	THREAD_HOST, /* runs code of the host: a crash there is for the host's own handler */
};

/* 0 or -errno. name has at most 15 bytes. */
int thread_start(pthread_t *out, enum thread_kind kind, const char *name, void *(*fn)(void *arg),
		 void *arg);
