/* pipe.c - see pipe.h: named pipes, because only these can be overlapped.
 *
 * Our end is overlapped, so that the poller can wait for it. The child's ends of stdin, stdout and
 * stderr block, as every program expects; its end of the channel is overlapped for the keeper. The
 * child's ends are not inheritable until spawn_detached needs them: another thread of the host may
 * start a program at any time.
 */
#include "os/pipe.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "error.h"
#include "os/fd.h"
#include "os/random.h"
#include "table.h"

#define PIPE_BYTES (64 << 10) /* of the buffer in each direction */

struct pipe_kind {
	enum table_kind ours;
	DWORD open, mode;    /* of our end */
	DWORD access, flags; /* of theirs */
};

static const struct pipe_kind to_child = {
	/* DUPLEX: a read that waits is how the poller learns that the child has hung up */
	TABLE_PIPE_OUT, PIPE_ACCESS_DUPLEX, PIPE_TYPE_BYTE, GENERIC_READ | FILE_WRITE_ATTRIBUTES, 0,
};
static const struct pipe_kind from_child = {
	TABLE_PIPE_IN, PIPE_ACCESS_INBOUND, PIPE_TYPE_BYTE, GENERIC_WRITE | FILE_READ_ATTRIBUTES, 0,
};
static const struct pipe_kind channel = {
	TABLE_CHANNEL,
	PIPE_ACCESS_DUPLEX,
	PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE,
	GENERIC_READ | GENERIC_WRITE,
	FILE_FLAG_OVERLAPPED,
};

/* The name only connects the two ends. It cannot be guessed, and the pipe has one instance. */
static void pipe_name(wchar_t *out, size_t size)
{
	unsigned long long bits[2];

	random_fill(bits, sizeof(bits));
	swprintf(out, size, L"\\\\.\\pipe\\killick-%lu-%016llx%016llx", GetCurrentProcessId(),
		 bits[0], bits[1]);
}

static int pipe_connect(const struct pipe_kind *k, HANDLE *out_ours, HANDLE *out_theirs)
{
	DWORD read_messages = PIPE_READMODE_MESSAGE;
	wchar_t name[80];
	HANDLE ours, theirs;
	int r;

	pipe_name(name, sizeof(name) / sizeof(name[0]));
	ours = CreateNamedPipeW(
		name, k->open | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE,
		k->mode | PIPE_REJECT_REMOTE_CLIENTS, 1, PIPE_BYTES, PIPE_BYTES, 0, NULL);
	if (ours == INVALID_HANDLE_VALUE)
		return error_of(GetLastError());
	theirs = CreateFileW(name, k->access, 0, NULL, OPEN_EXISTING, k->flags, NULL);
	if (theirs == INVALID_HANDLE_VALUE) {
		r = error_of(GetLastError());
		CloseHandle(ours);
		return r;
	}
	if (k->mode & PIPE_TYPE_MESSAGE)
		SetNamedPipeHandleState(theirs, &read_messages, NULL, NULL);
	*out_ours = ours;
	*out_theirs = theirs;
	return 0;
}

/* Give h a number. On failure h is closed. */
static int pipe_number(HANDLE h, enum table_kind kind, int *out)
{
	int fd = table_assign(h, kind);

	if (fd < 0) {
		CloseHandle(h);
		return fd;
	}
	*out = fd;
	return 0;
}

static int pipe_make(const struct pipe_kind *k, int *out_ours, int *out_theirs)
{
	HANDLE a = NULL, b = NULL;
	int r = pipe_connect(k, &a, &b), ours = -1;

	if (r < 0)
		return r;
	r = pipe_number(a, k->ours, &ours);
	if (r < 0) {
		CloseHandle(b);
		return r;
	}
	r = pipe_number(b, TABLE_HANDLE, out_theirs);
	if (r < 0)
		fd_drop(&ours);
	else
		*out_ours = ours;
	return r;
}

int pipe_to_child(int *out_ours, int *out_theirs)
{
	return pipe_make(&to_child, out_ours, out_theirs);
}

int pipe_from_child(int *out_ours, int *out_theirs)
{
	return pipe_make(&from_child, out_ours, out_theirs);
}

int pipe_channel(int *out_ours, int *out_theirs)
{
	return pipe_make(&channel, out_ours, out_theirs);
}

int pipe_null(int *out_theirs)
{
	HANDLE h = CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE,
			       FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);

	return h == INVALID_HANDLE_VALUE ? error_of(GetLastError())
					 : pipe_number(h, TABLE_HANDLE, out_theirs);
}

int pipe_terminal(int out_ours[2], int out_theirs[3])
{
	int ours[2] = { -1, -1 }, theirs[3] = { -1, -1, -1 };
	int r = pipe_to_child(&ours[0], &theirs[0]);

	if (r == 0)
		r = pipe_from_child(&ours[1], &theirs[1]);
	if (r == 0)
		r = pipe_null(&theirs[2]);
	for (int i = 0; i < 3; i++) {
		if (r < 0 && i < 2)
			fd_drop(&ours[i]);
		if (r < 0)
			fd_drop(&theirs[i]);
		else
			out_theirs[i] = theirs[i];
		if (r == 0 && i < 2)
			out_ours[i] = ours[i];
	}
	return r;
}

void pipe_widen(int fd, bool *done)
{
	(void)fd;
	(void)done; /* a write that is under way may be larger than the buffer */
}

int pipe_send(int ours, const char *message, size_t len)
{
	ssize_t n = fd_write(ours, message, len);

	assert(len > 0);
	return n >= 0 ? 0 : n == -EAGAIN ? -EAGAIN : -EPIPE;
}

ssize_t pipe_receive(int ours, char *out, size_t size)
{
	ssize_t n = fd_read(ours, out, size);

	return n >= 0 || n == -EAGAIN ? n : 0;
}
