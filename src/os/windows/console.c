/* console.c - see console.h */
#include "os/console.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "os/env.h"
#include "utf16.h"

enum { BUFFER_BYTES = 32768 };

static HANDLE console_of(int fd)
{
	return (HANDLE)_get_osfhandle(fd);
}

/* A device such as NUL is no console, although _isatty says so. */
bool console_is_terminal(int fd)
{
	DWORD mode;

	return GetConsoleMode(console_of(fd), &mode);
}

/* The C runtime writes to a console byte by byte, which breaks characters of several bytes in two:
 * so stdout gets a buffer, as it has for a pipe. The buffer is written by fflush and at the end. */
static void console_buffer(void)
{
	static char room[BUFFER_BYTES];

	if (console_is_terminal(1))
		setvbuf(stdout, room, _IOFBF, sizeof(room));
}

/* The code page of the console is not restored: other programs of the same console print in it, and
 * each of them chooses its own. */
bool console_is_utf8(void)
{
	console_buffer();
	if (console_is_terminal(1) || console_is_terminal(2))
		return SetConsoleOutputCP(CP_UTF8);
	return true;
}

bool console_can_draw(int fd)
{
	const char *term = env_get("TERM");
	DWORD mode;

	if (!GetConsoleMode(console_of(fd), &mode) || (term && strcmp(term, "dumb") == 0))
		return false;
	return SetConsoleMode(console_of(fd),
			      mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

size_t console_columns(int fd)
{
	CONSOLE_SCREEN_BUFFER_INFO info;
	int columns;

	if (!console_is_terminal(fd))
		return 0;
	if (!GetConsoleScreenBufferInfo(console_of(fd), &info))
		return 80;
	columns = info.srWindow.Right - info.srWindow.Left + 1;
	return columns >= 20 ? (size_t)columns : 80;
}

size_t console_rows(void)
{
	CONSOLE_SCREEN_BUFFER_INFO info;

	if (!GetConsoleScreenBufferInfo(console_of(1), &info) ||
	    info.srWindow.Bottom < info.srWindow.Top)
		return 24;
	return (size_t)(info.srWindow.Bottom - info.srWindow.Top + 1);
}

/* Ctrl-C ends the read with nothing; the program goes on. */
static BOOL WINAPI console_on_ctrl(DWORD what)
{
	return what == CTRL_C_EVENT;
}

static bool console_read_line(char *out, size_t size)
{
	wchar_t line[256];
	AUTO(mem_drop) char *utf8 = NULL;
	DWORD n = 0;

	if (!ReadConsoleW(console_of(0), line, sizeof(line) / sizeof(line[0]) - 1, &n, NULL) ||
	    n == 0 || line[0] == 0x1a) /* Ctrl-Z */
		return false;
	line[n] = L'\0';
	utf8 = utf16_to_utf8(line);
	snprintf(out, size, "%s", utf8);
	return true;
}

bool console_ask(FILE *to, const char *question, char *answer, size_t size)
{
	bool good;

	fputs(question, to);
	fflush(to);
	SetConsoleCtrlHandler(console_on_ctrl, TRUE);
	good = console_read_line(answer, size);
	SetConsoleCtrlHandler(console_on_ctrl, FALSE);
	if (!good)
		fputc('\n', to);
	return good;
}
