/* thread_native.h - thread.h for Windows: SRWLOCK and CONDITION_VARIABLE, which need no end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Each of these is one pointer of Windows; windows.h is not for every file. */
struct thread {
	void *handle; /* NULL: of thread_self */
	unsigned long id;
};
struct mutex {
	void *native;
};
struct cond {
	void *native;
};
struct once {
	void *native;
};
#define MUTEX_INIT                                                                                 \
	{                                                                                          \
		0                                                                                  \
	}
#define ONCE_INIT                                                                                  \
	{                                                                                          \
		0                                                                                  \
	}

struct thread thread_self(void);
bool thread_is_self(const struct thread *t);

static inline int thread_forbid_cancel(void)
{
	return 0;
}

static inline void thread_allow_cancel(int before)
{
	(void)before;
}

static inline void mutex_init(struct mutex *m)
{
	m->native = (void *)0;
}

static inline void mutex_done(struct mutex *m)
{
	(void)m;
}

void mutex_lock(struct mutex *m);
void mutex_unlock(struct mutex *m);

static inline void cond_init(struct cond *c)
{
	c->native = (void *)0;
}

static inline void cond_done(struct cond *c)
{
	(void)c;
}

void cond_wait(struct cond *c, struct mutex *m);
bool cond_wait_until(struct cond *c, struct mutex *m, int64_t until_us);
void cond_signal(struct cond *c);
void cond_broadcast(struct cond *c);
void once_run(struct once *o, void (*fn)(void));
