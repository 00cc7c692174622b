/* line_handle.c - see line_handle.h */
#include "line_handle.h"

#include <string.h>

#include "wide.h"

static bool line_write_console(const char *text, HANDLE to)
{
	static wchar_t wide[sizeof(((struct line *)0)->text)];
	DWORD n;

	if (wide_from_utf8(text, wide, sizeof(wide) / sizeof(wide[0])) >
	    sizeof(wide) / sizeof(wide[0]))
		return false;
	return WriteConsoleW(to, wide, (DWORD)wcslen(wide), &n, NULL);
}

/* With an OVERLAPPED, which is right for a handle of either kind. The offset means the end of a
 * file; a pipe does not use it. */
static bool line_write_bytes(const char *text, size_t len, HANDLE to)
{
	OVERLAPPED o = { .Offset = 0xffffffff,
			 .OffsetHigh = 0xffffffff,
			 .hEvent = CreateEventW(NULL, TRUE, FALSE, NULL) };
	size_t done = 0;
	DWORD n;

	while (done < len && (WriteFile(to, text + done, (DWORD)(len - done), NULL, &o) ||
			      GetLastError() == ERROR_IO_PENDING)) {
		if (!GetOverlappedResult(to, &o, &n, TRUE) || n == 0)
			break;
		done += n;
	}
	if (o.hEvent)
		CloseHandle(o.hEvent);
	return done == len;
}

bool line_write_text(const char *text, HANDLE to)
{
	DWORD mode;

	if (!to || to == INVALID_HANDLE_VALUE)
		return false;
	if (GetConsoleMode(to, &mode))
		return line_write_console(text, to);
	return line_write_bytes(text, strlen(text), to);
}

bool line_write(const struct line *l, HANDLE to)
{
	return line_write_text(l->text, to);
}

struct line_offered {
	const struct line *line;
	HANDLE to;
};

static DWORD WINAPI line_offer_thread(void *arg)
{
	const struct line_offered *o = arg;

	line_write(o->line, o->to);
	return 0;
}

void line_offer(const struct line *l, HANDLE to, DWORD timeout_ms)
{
	static struct line_offered offered; /* outlives this call when the reader does not read */
	HANDLE thread;

	if (GetFileType(to) != FILE_TYPE_PIPE) {
		line_write(l, to);
		return;
	}
	offered = (struct line_offered){ l, to };
	thread = CreateThread(NULL, 0, line_offer_thread, &offered, 0, NULL);
	if (!thread)
		return;
	WaitForSingleObject(thread, timeout_ms);
	CloseHandle(thread);
}
