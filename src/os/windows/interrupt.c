/* interrupt.c - see interrupt.h: Windows calls the handler in a thread of its own. */
#include "os/interrupt.h"

#include "error.h"
#include "os/event.h"
#include "os/fd.h"
#include "table.h"

enum { INTERRUPT_HANGUP = 1, INTERRUPT_TERM = 15 }; /* as signals of Linux */

static struct {
	LONG asked; /* the request; 0: none */
	int fd;     /* -1: not open */
} interrupt = { .fd = -1 };

/* For the end of the console Windows kills the program when the handler returns, or after some
 * seconds; the time is for the servers. */
static BOOL WINAPI interrupt_on_ctrl(DWORD what)
{
	bool over = what != CTRL_C_EVENT && what != CTRL_BREAK_EVENT;

	InterlockedExchange(&interrupt.asked, what == CTRL_C_EVENT       ? INTERRUPT_CTRL_C
					      : what == CTRL_BREAK_EVENT ? INTERRUPT_TERM
									 : INTERRUPT_HANGUP);
	event_set(interrupt.fd);
	if (over)
		Sleep(INFINITE);
	return TRUE;
}

int interrupt_open(void)
{
	interrupt.fd = event_open();
	if (interrupt.fd < 0)
		return interrupt.fd;
	if (!SetConsoleCtrlHandler(interrupt_on_ctrl, TRUE)) {
		int r = error_of(GetLastError());

		fd_drop(&interrupt.fd);
		return r;
	}
	return interrupt.fd;
}

int interrupt_take(int fd)
{
	if (fd < 0 || event_clear(fd) < 0)
		return 0;
	return (int)InterlockedExchange(&interrupt.asked, 0);
}

void interrupt_close(int fd)
{
	if (fd < 0)
		return;
	SetConsoleCtrlHandler(interrupt_on_ctrl, FALSE);
	interrupt.fd = -1;
	fd_close(fd);
}

void interrupt_ignore_pipes(void)
{
}

void interrupt_wait(int fd, intptr_t other, int timeout_ms)
{
	HANDLE handles[2];
	DWORD count = 0;

	if (fd >= 0 && table_handle(fd))
		handles[count++] = table_handle(fd);
	if (other != -1)
		handles[count++] = (HANDLE)other;
	if (count > 0)
		WaitForMultipleObjects(count, handles, FALSE,
				       timeout_ms < 0 ? INFINITE : (DWORD)timeout_ms);
	else
		Sleep(timeout_ms < 0 ? INFINITE : (DWORD)timeout_ms);
}
