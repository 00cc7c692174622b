/* thread_native.h - thread.h for Linux: pthreads. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct thread {
	pthread_t native;
};

static inline struct thread thread_self(void)
{
	return (struct thread){ pthread_self() };
}

static inline bool thread_is_self(const struct thread *t)
{
	return pthread_equal(t->native, pthread_self());
}

static inline int thread_forbid_cancel(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void thread_allow_cancel(int before)
{
	pthread_setcancelstate(before, NULL);
}

struct mutex {
	pthread_mutex_t native;
};
#define MUTEX_INIT                                                                                 \
	{                                                                                          \
		PTHREAD_MUTEX_INITIALIZER                                                          \
	}

static inline void mutex_init(struct mutex *m)
{
	pthread_mutex_init(&m->native, NULL);
}

static inline void mutex_done(struct mutex *m)
{
	pthread_mutex_destroy(&m->native);
}

static inline void mutex_lock(struct mutex *m)
{
	pthread_mutex_lock(&m->native);
}

static inline void mutex_unlock(struct mutex *m)
{
	pthread_mutex_unlock(&m->native);
}

struct cond {
	pthread_cond_t native;
};

void cond_init(struct cond *c);

static inline void cond_done(struct cond *c)
{
	pthread_cond_destroy(&c->native);
}

static inline void cond_wait(struct cond *c, struct mutex *m)
{
	pthread_cond_wait(&c->native, &m->native);
}

static inline bool cond_wait_until(struct cond *c, struct mutex *m, int64_t until_us)
{
	struct timespec ts = { .tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000 };

	return pthread_cond_timedwait(&c->native, &m->native, &ts) == 0;
}

static inline void cond_signal(struct cond *c)
{
	pthread_cond_signal(&c->native);
}

static inline void cond_broadcast(struct cond *c)
{
	pthread_cond_broadcast(&c->native);
}

struct once {
	pthread_once_t native;
};
#define ONCE_INIT                                                                                  \
	{                                                                                          \
		PTHREAD_ONCE_INIT                                                                  \
	}

static inline void once_run(struct once *o, void (*fn)(void))
{
	pthread_once(&o->native, fn);
}
