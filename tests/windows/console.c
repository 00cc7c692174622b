/* console.c MARK - a server for a terminal. It writes what it knows of its console, then obeys
 * lines. MARK is for those that look for its processes.
 *
 *   say TEXT     write "heard TEXT"
 *   burst COUNT  write lines "line 1" to "line COUNT", then exit with 4
 *   leave        start this program with the words "sleep" and MARK in the same console, then
 *                exit with 3
 *   flood        write without end, and exit with 5 when a write takes longer than 3 seconds
 *   exit CODE    exit
 *
 * It exits with 20 when the console is gone, and with 21 when it reads nothing again and again.
 *
 * Wine 10 attaches a process to its pseudo console, but leaves its standard handles empty. Then the
 * program opens CONIN$ and CONOUT$, and says standard=0 in its first line.
 */
#include <windows.h>
#include <io.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int wmain(int argc, wchar_t **argv); /* the C runtime declares none */

static HANDLE in, out;

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	char text[256];
	va_list ap;
	DWORD n;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	WriteFile(out, text, (DWORD)strlen(text), &n, NULL);
}

static HANDLE open_console(const wchar_t *name)
{
	return CreateFileW(name, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
			   NULL, OPEN_EXISTING, 0, NULL);
}

static BOOL WINAPI on_event(DWORD event)
{
	say("event %lu\r\n", event);
	return event == CTRL_C_EVENT; /* other events end this program */
}

/* isatty is asked of descriptors that were made of the handles: it is the C runtime's opinion. */
static bool is_tty(HANDLE h, int flags)
{
	int fd = _open_osfhandle((intptr_t)h, flags);

	return fd >= 0 && _isatty(fd);
}

static void introduce(void)
{
	bool standard = GetStdHandle(STD_INPUT_HANDLE) && GetStdHandle(STD_OUTPUT_HANDLE);
	CONSOLE_SCREEN_BUFFER_INFO info = { .dwSize = { 0, 0 } };
	DWORD mode;

	in = standard ? GetStdHandle(STD_INPUT_HANDLE) : open_console(L"CONIN$");
	out = standard ? GetStdHandle(STD_OUTPUT_HANDLE) : open_console(L"CONOUT$");
	GetConsoleScreenBufferInfo(out, &info);
	say("console in=%d out=%d tty=%d%d size=%dx%d standard=%d pid=%lu\r\n",
	    GetConsoleMode(in, &mode) != 0, GetConsoleMode(out, &mode) != 0, is_tty(in, 0),
	    is_tty(out, 0), info.srWindow.Right - info.srWindow.Left + 1,
	    info.srWindow.Bottom - info.srWindow.Top + 1, standard, GetCurrentProcessId());
}

static void leave(const wchar_t *mark)
{
	wchar_t self[MAX_PATH], line[64];
	STARTUPINFOW info = { .cb = sizeof(info) };
	PROCESS_INFORMATION made;

	GetModuleFileNameW(NULL, self, MAX_PATH);
	swprintf(line, 64, L"console sleep %ls", mark);
	if (!CreateProcessW(self, line, NULL, NULL, FALSE, 0, NULL, NULL, &info, &made))
		ExitProcess(9);
	say("left %lu\r\n", made.dwProcessId);
	ExitProcess(3);
}

static volatile LONG written; /* lines of the flood */

static DWORD WINAPI exit_when_stuck(void *unused)
{
	LONG before;

	(void)unused;
	do {
		before = written;
		Sleep(3000);
	} while (before != written);
	ExitProcess(5);
}

static void obey(const char *line, const wchar_t *mark)
{
	unsigned long number = 0;

	if (strncmp(line, "say ", 4) == 0)
		say("heard %s\r\n", line + 4);
	else if (sscanf(line, "exit %lu", &number) == 1)
		ExitProcess(number);
	else if (strcmp(line, "leave") == 0)
		leave(mark);
	if (sscanf(line, "burst %lu", &number) == 1) {
		for (unsigned long i = 1; i <= number; i++)
			say("line %lu\r\n", i);
		ExitProcess(4);
	}
	if (strcmp(line, "flood") == 0) {
		CreateThread(NULL, 0, exit_when_stuck, NULL, 0, NULL);
		for (;; written++)
			say("more and more and more and more and more and more\r\n");
	}
}

int wmain(int argc, wchar_t **argv)
{
	unsigned empty = 0;
	char line[256];
	DWORD n;

	if (argc < 2)
		return 64;
	if (argc > 2 && wcscmp(argv[1], L"sleep") == 0)
		Sleep(INFINITE);
	introduce();
	SetConsoleCtrlHandler(on_event, TRUE);
	/* a console gives one line at a time; Ctrl-C ends a read without a line */
	while (ReadFile(in, line, sizeof(line) - 1, &n, NULL) && empty < 100) {
		empty = n ? 0 : empty + 1;
		line[n] = '\0';
		line[strcspn(line, "\r\n")] = '\0';
		obey(line, argv[1]);
	}
	return empty ? 21 : 20;
}
