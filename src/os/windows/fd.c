/* fd.c - see fd.h: bytes of pipes, sockets and files of the C runtime */
#include "os/fd.h"

#include <winsock2.h>

#include <assert.h>
#include <io.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "os/thread.h"
#include "table.h"

static bool fd_is_pipe(const struct entry *e)
{
	return e->kind == TABLE_PIPE_IN || e->kind == TABLE_PIPE_OUT || e->kind == TABLE_CHANNEL;
}

static bool fd_is_hang_up(DWORD error)
{
	return error == ERROR_BROKEN_PIPE || error == ERROR_PIPE_NOT_CONNECTED ||
	       error == ERROR_NO_DATA;
}

/* The lowest bit of an event keeps the completion out of the port. */
static HANDLE fd_private(HANDLE event)
{
	return (HANDLE)((uintptr_t)event | 1);
}

/* --- reading --- */

/* A pipe is read only when it has bytes, so the read ends at once. */
static ssize_t fd_read_bytes(struct entry *e, void *out, DWORD size)
{
	OVERLAPPED o = { .hEvent = fd_private(e->read_done) };
	DWORD n = 0, error = 0;

	if (!ReadFile(e->handle, out, size, NULL, &o))
		error = GetLastError();
	if (error && error != ERROR_IO_PENDING && error != ERROR_MORE_DATA)
		return fd_is_hang_up(error) ? 0 : error_of(error);
	if (GetOverlappedResult(e->handle, &o, &n, TRUE) || GetLastError() == ERROR_MORE_DATA)
		return (ssize_t)n;
	return fd_is_hang_up(GetLastError()) ? 0 : error_of(GetLastError());
}

static ssize_t fd_read_pipe(struct entry *e, void *out, size_t size)
{
	DWORD there = 0;

	if (!PeekNamedPipe(e->handle, NULL, 0, NULL, &there, NULL))
		return fd_is_hang_up(GetLastError()) ? 0 : error_of(GetLastError());
	if (!there)
		return -EAGAIN;
	if (e->kind != TABLE_CHANNEL && size > there)
		size = there;
	return fd_read_bytes(e, out, (DWORD)(size < INT32_MAX ? size : INT32_MAX));
}

static ssize_t fd_read_file(int fd, void *out, size_t size)
{
	int n = _read(fd, out, (unsigned)(size < INT32_MAX ? size : INT32_MAX));

	return n < 0 ? -errno : n;
}

ssize_t fd_read(int fd, void *out, size_t size)
{
	struct entry *e;
	ssize_t n = -EBADF;

	if (fd >= 0 && fd < FD_FIRST)
		return fd_read_file(fd, out, size);
	e = table_get(fd);
	if (!e)
		return -EBADF;
	if (fd_is_pipe(e)) {
		n = fd_read_pipe(e, out, size);
	} else if (e->kind == TABLE_SOCKET) {
		n = recv((SOCKET)e->handle, out, (int)(size < INT32_MAX ? size : INT32_MAX), 0);
		n = n < 0 ? error_of_socket(WSAGetLastError()) : n;
	}
	table_lock();
	if (n == 0 && fd_is_pipe(e))
		e->hung_up = true;
	poller_make_due(e); /* is there more? */
	table_drop(e);
	table_unlock();
	return n;
}

/* --- writing --- */

/* Copy the pieces behind each other. A message is never shortened. */
static ssize_t fd_gather(const struct entry *e, char *out, const struct fd_piece *pieces, int count)
{
	size_t len = 0;

	for (int i = 0; i < count && len < TABLE_ROOM; i++) {
		size_t n = pieces[i].len, left = TABLE_ROOM - len;

		if (n > left && e->kind == TABLE_CHANNEL)
			return -EMSGSIZE;
		n = n < left ? n : left;
		memcpy(out + len, pieces[i].bytes, n);
		len += n;
	}
	return (ssize_t)len;
}

/* With the lock. The bytes are taken, and the poller learns when they are written. */
static ssize_t fd_begin_write(struct entry *e, size_t len)
{
	DWORD error;

	e->write.o = (OVERLAPPED){ .hEvent = NULL };
	if (WriteFile(e->handle, e->out, (DWORD)len, NULL, &e->write.o) ||
	    GetLastError() == ERROR_IO_PENDING) {
		poller_begin(&e->write);
		return (ssize_t)len;
	}
	error = GetLastError();
	e->hung_up |= fd_is_hang_up(error);
	return error_of(error);
}

/* A pipe that no poller waits for: wait until the bytes are written. */
static ssize_t fd_write_now(struct entry *e, const char *bytes, size_t len)
{
	HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL);
	OVERLAPPED o = { .hEvent = fd_private(event) };
	ssize_t r = 0;
	DWORD n = 0;

	if (!event)
		return -ENOMEM;
	if (!WriteFile(e->handle, bytes, (DWORD)len, NULL, &o) &&
	    GetLastError() != ERROR_IO_PENDING)
		r = error_of(GetLastError());
	if (r == 0)
		r = GetOverlappedResult(e->handle, &o, &n, TRUE) ? (ssize_t)n
								 : error_of(GetLastError());
	CloseHandle(event);
	return r;
}

static ssize_t fd_write_pipe(struct entry *e, const struct fd_piece *pieces, int count)
{
	bool later;
	ssize_t n;

	table_lock();
	if (!e->out)
		e->out = malloc(TABLE_ROOM);
	later = e->poller != NULL;
	if (e->write.flying)
		n = -EAGAIN;
	else if (e->hung_up)
		n = -EPIPE;
	else
		n = e->out ? fd_gather(e, e->out, pieces, count) : -ENOMEM;
	if (n > 0 && later)
		n = fd_begin_write(e, (size_t)n);
	table_unlock();
	return n > 0 && !later ? fd_write_now(e, e->out, (size_t)n) : n;
}

static ssize_t fd_write_socket(struct entry *e, const struct fd_piece *piece)
{
	int n = send((SOCKET)e->handle, piece->bytes,
		     (int)(piece->len < INT32_MAX ? piece->len : INT32_MAX), 0);

	return n < 0 ? error_of_socket(WSAGetLastError()) : n;
}

static ssize_t fd_write_file(int fd, const struct fd_piece *piece)
{
	int n = _write(fd, piece->bytes,
		       (unsigned)(piece->len < INT32_MAX ? piece->len : INT32_MAX));

	return n < 0 ? (errno == EINVAL ? -EPIPE : -errno) : n; /* EINVAL: nothing reads the pipe */
}

ssize_t fd_writev(int fd, const struct fd_piece *pieces, int count)
{
	struct entry *e;
	ssize_t n = -EBADF;

	assert(count > 0);
	while (count > 1 && pieces->len == 0) {
		pieces++;
		count--;
	}
	if (fd >= 0 && fd < FD_FIRST)
		return fd_write_file(fd, pieces);
	e = table_get(fd);
	if (!e)
		return -EBADF;
	if (fd_is_pipe(e))
		n = fd_write_pipe(e, pieces, count);
	else if (e->kind == TABLE_SOCKET)
		n = fd_write_socket(e, pieces);
	table_lock();
	poller_make_due(e);
	table_drop(e);
	table_unlock();
	return n;
}

ssize_t fd_write(int fd, const void *bytes, size_t len)
{
	return fd_writev(fd, &(struct fd_piece){ bytes, len }, 1);
}

/* --- the end --- */

void fd_close(int fd)
{
	struct entry *e;
	HANDLE wait;

	if (fd >= 0 && fd < FD_FIRST) {
		_close(fd);
		return;
	}
	table_lock();
	e = table_remove(fd);
	if (!e) {
		table_unlock();
		return;
	}
	poller_forget(e);
	wait = e->wait;
	e->wait = NULL;
	if (e->kind == TABLE_SOCKET) /* the peer is to see the end now, not after the completion */
		shutdown((SOCKET)e->handle, SD_BOTH);
	table_unlock();
	if (wait) /* waits for a call that has begun */
		UnregisterWaitEx(wait, INVALID_HANDLE_VALUE);
	if (e->kind == TABLE_POLLER)
		poller_shut(e);
	table_put(e);
}
