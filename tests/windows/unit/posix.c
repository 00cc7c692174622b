/* posix.c - see posix.h */
#include "os/windows/table.h"

#include "posix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/time.h"
#include "t.h"

#define PIPE_BYTES 65536

int posix_pipe(int pair[2])
{
	static LONG serial;
	char name[80];
	HANDLE in, out;

	snprintf(name, sizeof(name), "\\\\.\\pipe\\killick-test-%lu-%ld", GetCurrentProcessId(),
		 InterlockedIncrement(&serial));
	/* DUPLEX: see TABLE_PIPE_OUT */
	out = CreateNamedPipeA(name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED, PIPE_TYPE_BYTE, 1,
			       PIPE_BYTES, PIPE_BYTES, 0, NULL);
	in = CreateFileA(name, GENERIC_READ | FILE_WRITE_ATTRIBUTES, 0, NULL, OPEN_EXISTING,
			 FILE_FLAG_OVERLAPPED, NULL);
	if (in == INVALID_HANDLE_VALUE || out == INVALID_HANDLE_VALUE)
		return -1;
	pair[0] = table_assign(in, TABLE_PIPE_IN);
	pair[1] = table_assign(out, TABLE_PIPE_OUT);
	return pair[0] < 0 || pair[1] < 0 ? -1 : 0;
}

ssize_t posix_read(int fd, void *out, size_t size)
{
	HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL), h = table_handle(fd);
	OVERLAPPED o = { .hEvent = (HANDLE)((uintptr_t)event | 1) };
	DWORD n = 0;

	if (!ReadFile(h, out, (DWORD)size, NULL, &o) && GetLastError() != ERROR_IO_PENDING)
		n = 0;
	else if (!GetOverlappedResult(h, &o, &n, TRUE))
		n = 0;
	CloseHandle(event);
	table_used(fd);
	return (ssize_t)n;
}

ssize_t posix_write(int fd, const void *bytes, size_t len)
{
	ssize_t n = fd_write(fd, bytes, len);

	errno = n < 0 ? (int)-n : 0;
	return n < 0 ? -1 : n;
}

static bool posix_is_readable(int fd)
{
	HANDLE event = table_handle_of(fd, TABLE_EVENT);
	DWORD there = 0;

	if (event)
		return WaitForSingleObject(event, 0) == WAIT_OBJECT_0;
	return !PeekNamedPipe(table_handle(fd), NULL, 0, NULL, &there, NULL) || there;
}

int posix_poll(struct pollfd *p, unsigned count, int timeout_ms)
{
	int64_t until_us = time_now_us() + (int64_t)timeout_ms * 1000;

	for (; !count || !posix_is_readable((int)p->fd); time_sleep_ms(1))
		if (time_now_us() >= until_us)
			return 0;
	p->revents = POLLIN;
	return 1;
}

int t_wait_fd(int fd, int events, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = (short)events };

	return posix_poll(&p, 1, timeout_ms) > 0 ? p.revents : 0;
}

struct posix_thread {
	struct thread thread;
	void *(*fn)(void *arg);
	void *arg, *result;
};

static void *posix_thread_run(void *arg)
{
	struct posix_thread *t = arg;

	t->result = t->fn(t->arg);
	return NULL;
}

int posix_thread_start(pthread_t *out, void *(*fn)(void *arg), void *arg)
{
	struct posix_thread *t = calloc(1, sizeof(*t));

	*t = (struct posix_thread){ .fn = fn, .arg = arg };
	*out = t;
	return -thread_start(&t->thread, THREAD_OURS, "test", posix_thread_run, t);
}

int posix_thread_join(pthread_t t, void **out_result)
{
	thread_join(&t->thread);
	if (out_result)
		*out_result = t->result;
	free(t);
	return 0;
}
