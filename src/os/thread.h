/* thread.h - threads that take no signal of the host, and what threads share: a mutex, a condition,
 * something that is done once.
 *
 * Signals that are sent to the process are for the threads of the host. A struct of this header may
 * be moved only before its first use. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "thread_native.h" /* struct thread, mutex, cond, once; all hot functions are inline */

enum thread_kind {
	THREAD_OURS,  /* runs our code alone: every signal is blocked */
	THREAD_SMALL, /* the same, with a stack of THREAD_SMALL_STACK bytes */
	THREAD_HOST,  /* runs code of the host: a crash there is for the host's own handler */
};
#define THREAD_SMALL_STACK (128 << 10)

/* 0 or -errno. name has at most 15 bytes. A thread that was started is joined or detached once.
 * *out is written before fn can see it only if the caller holds a lock that fn takes. */
int thread_start(struct thread *out, enum thread_kind kind, const char *name,
		 void *(*fn)(void *arg), void *arg);
void thread_join(const struct thread *t);
void thread_detach(const struct thread *t);
int thread_id(void);        /* of the calling thread, for people who read a trace */
unsigned thread_cpus(void); /* how many CPUs the calling thread may use; 1 if nobody can tell */

/* The calling thread, for thread_is_self; neither joined nor detached by its owner.
 *
 *	struct thread thread_self(void);
 *	bool thread_is_self(const struct thread *t);
 *
 * Do not let pthread_cancel end the calling thread; returns what thread_allow_cancel restores.
 *
 *	int thread_forbid_cancel(void);
 *	void thread_allow_cancel(int before);
 *
 * A mutex is MUTEX_INIT or mutex_init, and mutex_done at its end.
 *
 *	void mutex_init(struct mutex *m);
 *	void mutex_done(struct mutex *m);
 *	void mutex_lock(struct mutex *m);
 *	void mutex_unlock(struct mutex *m);
 *
 * A condition, with the mutex locked. A wait may end early without a reason. cond_wait_until
 * returns false when until_us (time_now_us, time.h) has passed.
 *
 *	void cond_init(struct cond *c);
 *	void cond_done(struct cond *c);
 *	void cond_wait(struct cond *c, struct mutex *m);
 *	bool cond_wait_until(struct cond *c, struct mutex *m, int64_t until_us);
 *	void cond_signal(struct cond *c);
 *	void cond_broadcast(struct cond *c);
 *
 * Run fn if no call with this struct (ONCE_INIT) has; return when it has ended.
 *
 *	void once_run(struct once *o, void (*fn)(void));
 */
