/* ownstdio.c - see ownstdio.h
 *
 *	client -> stdin -> thread -> pipe -> out_in
 *	client <- stdout <- thread <- pipe <- out_out
 *
 * Each thread ends with the program, or when one of its two ends is closed.
 */
#include "os/ownstdio.h"

#include <fcntl.h>
#include <io.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "error.h"
#include "os/fd.h"
#include "os/pipe.h"
#include "os/thread.h"
#include "table.h"

#define OWNSTDIO_PIECE (64 << 10)

struct ownstdio_way {
	HANDLE from, to;
};
static struct ownstdio_way ways[2]; /* for the life of the program */

static bool ownstdio_write(HANDLE to, const char *bytes, DWORD len)
{
	DWORD n;

	for (; len; bytes += n, len -= n)
		if (!WriteFile(to, bytes, len, &n, NULL))
			return false;
	return true;
}

static void *ownstdio_copy(void *arg)
{
	struct ownstdio_way *w = arg;
	char *piece = mem_grow(NULL, 1, OWNSTDIO_PIECE);
	DWORD n;

	while (ReadFile(w->from, piece, OWNSTDIO_PIECE, &n, NULL) && n > 0)
		if (!ownstdio_write(w->to, piece, n))
			break;
	free(piece);
	CloseHandle(w->from);
	CloseHandle(w->to);
	return NULL;
}

/* A copy of a handle that belongs to the thread alone. */
static int ownstdio_keep(HANDLE h, HANDLE *out)
{
	HANDLE self = GetCurrentProcess();

	return DuplicateHandle(self, h, self, out, 0, FALSE, DUPLICATE_SAME_ACCESS)
		       ? 0
		       : error_of(GetLastError());
}

static int ownstdio_start(struct ownstdio_way *w, HANDLE from, HANDLE to)
{
	struct thread thread;
	int r = ownstdio_keep(from, &w->from);

	if (r == 0)
		r = ownstdio_keep(to, &w->to);
	if (r == 0)
		r = thread_start(&thread, THREAD_SMALL, "killick-stdio", ownstdio_copy, w);
	if (r == 0)
		thread_detach(&thread);
	return r;
}

/* The C runtime closes the old handles. */
static void ownstdio_redirect(void)
{
	int null = _open("NUL", _O_RDONLY | _O_BINARY | _O_NOINHERIT);

	if (null >= 0) {
		_dup2(null, 0);
		_close(null);
	}
	_dup2(2, 1);
}

int ownstdio_take(int *out_in, int *out_out)
{
	HANDLE in = GetStdHandle(STD_INPUT_HANDLE), out = GetStdHandle(STD_OUTPUT_HANDLE);
	int their_in = -1, their_out = -1;
	int r = pipe_from_child(out_in, &their_in);

	if (r == 0)
		r = pipe_to_child(out_out, &their_out);
	if (r == 0)
		r = ownstdio_start(&ways[0], in, table_handle(their_in));
	if (r == 0)
		r = ownstdio_start(&ways[1], table_handle(their_out), out);
	fd_drop(&their_in);
	fd_drop(&their_out);
	if (r == 0)
		ownstdio_redirect();
	return r;
}
