/* stop.c - see stop.h */
#include "os/stop.h"

#include <windows.h>

static HANDLE stop_asked, stop_woken; /* both reset themselves */

/* Windows starts a thread for each event. A program that returns from the handler of a closed
 * console is ended at once, so that thread waits: Windows ends the program some seconds later, if
 * it has not ended by then. */
static BOOL WINAPI stop_on_console(DWORD event)
{
	SetEvent(stop_asked);
	if (event == CTRL_CLOSE_EVENT || event == CTRL_LOGOFF_EVENT || event == CTRL_SHUTDOWN_EVENT)
		Sleep(INFINITE);
	return TRUE;
}

void stop_init(void)
{
	stop_asked = CreateEventW(NULL, FALSE, FALSE, NULL);
	stop_woken = CreateEventW(NULL, FALSE, FALSE, NULL);
	SetConsoleCtrlHandler(stop_on_console, TRUE);
}

bool stop_wait(void)
{
	HANDLE both[] = { stop_asked, stop_woken };

	return WaitForMultipleObjects(2, both, FALSE, INFINITE) == WAIT_OBJECT_0;
}

void stop_wake(void)
{
	SetEvent(stop_woken);
}
