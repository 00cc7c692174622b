/* thread.c - see thread.h */
#include "os/thread.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <errno.h>
#include <process.h>
#include <stdlib.h>

#include "os/time.h"

_Static_assert(sizeof(struct mutex) == sizeof(SRWLOCK), "a mutex is a lock of Windows");
_Static_assert(sizeof(struct cond) == sizeof(CONDITION_VARIABLE), "as is a condition");
_Static_assert(sizeof(struct once) == sizeof(INIT_ONCE), "and the other one");

struct thread_begin {
	void *(*fn)(void *arg);
	void *arg;
};

static unsigned __stdcall thread_run(void *arg)
{
	struct thread_begin b = *(struct thread_begin *)arg;

	free(arg);
	b.fn(b.arg);
	return 0;
}

/* Windows 10 has names of threads, for debuggers. */
static void thread_name(HANDLE thread, const char *name)
{
	typedef HRESULT(WINAPI * name_fn)(HANDLE, PCWSTR);
	name_fn fn = (name_fn)(void *)GetProcAddress(GetModuleHandleW(L"kernel32.dll"),
						     "SetThreadDescription");
	wchar_t wide[16] = L"";

	for (int i = 0; i < 15 && name[i]; i++)
		wide[i] = (unsigned char)name[i];
	if (fn)
		fn(thread, wide);
}

int thread_start(struct thread *out, enum thread_kind kind, const char *name,
		 void *(*fn)(void *arg), void *arg)
{
	struct thread_begin *b = malloc(sizeof(*b));
	unsigned id;
	uintptr_t h;

	if (!b)
		return -ENOMEM;
	*b = (struct thread_begin){ fn, arg };
	h = _beginthreadex(NULL, kind == THREAD_SMALL ? THREAD_SMALL_STACK : 0, thread_run, b,
			   CREATE_SUSPENDED | STACK_SIZE_PARAM_IS_A_RESERVATION, &id);
	if (!h) {
		free(b);
		return -EAGAIN;
	}
	*out = (struct thread){ (void *)h, id };
	thread_name((HANDLE)h, name);
	ResumeThread((HANDLE)h);
	return 0;
}

void thread_join(const struct thread *t)
{
	WaitForSingleObject(t->handle, INFINITE);
	CloseHandle(t->handle);
}

void thread_detach(const struct thread *t)
{
	CloseHandle(t->handle);
}

struct thread thread_self(void)
{
	return (struct thread){ NULL, GetCurrentThreadId() };
}

bool thread_is_self(const struct thread *t)
{
	return t->id == GetCurrentThreadId();
}

int thread_id(void)
{
	return (int)GetCurrentThreadId();
}

unsigned thread_cpus(void)
{
	DWORD_PTR ours, all;

	if (!GetProcessAffinityMask(GetCurrentProcess(), &ours, &all) || !ours)
		return 1;
	return (unsigned)__builtin_popcountll(ours);
}

void mutex_lock(struct mutex *m)
{
	AcquireSRWLockExclusive((SRWLOCK *)(void *)m);
}

void mutex_unlock(struct mutex *m)
{
	ReleaseSRWLockExclusive((SRWLOCK *)(void *)m);
}

void cond_wait(struct cond *c, struct mutex *m)
{
	SleepConditionVariableSRW((CONDITION_VARIABLE *)(void *)c, (SRWLOCK *)(void *)m, INFINITE,
				  0);
}

bool cond_wait_until(struct cond *c, struct mutex *m, int64_t until_us)
{
	const int64_t longest_ms = 24 * 60 * 60 * 1000;
	int64_t left_us = until_us - time_now_us(), ms = (left_us + 999) / 1000;

	if (left_us <= 0)
		ms = 0;
	if (SleepConditionVariableSRW((CONDITION_VARIABLE *)(void *)c, (SRWLOCK *)(void *)m,
				      (DWORD)(ms < longest_ms ? ms : longest_ms), 0))
		return true;
	return time_now_us() < until_us;
}

void cond_signal(struct cond *c)
{
	WakeConditionVariable((CONDITION_VARIABLE *)(void *)c);
}

void cond_broadcast(struct cond *c)
{
	WakeAllConditionVariable((CONDITION_VARIABLE *)(void *)c);
}

static BOOL CALLBACK once_call(INIT_ONCE *o, void *fn, void **context)
{
	(void)o;
	(void)context;
	(*(void (**)(void))fn)();
	return TRUE;
}

void once_run(struct once *o, void (*fn)(void))
{
	InitOnceExecuteOnce((INIT_ONCE *)(void *)o, once_call, (void *)&fn, NULL);
}
