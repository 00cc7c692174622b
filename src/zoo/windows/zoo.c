/* zoo.c - the modes of the zoo on Windows, and the bounds they all live under; see zoo.h.
 *
 * A process of a mode is this program again: zoo +ROLE LEFT_MS PID, where LEFT_MS is the rest of
 * the life of the server and PID the process that started it. Every process ends itself when its
 * time is over.
 */
#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zoo/zoo_internal.h"

#define ZOO_MAX_STARTS 100   /* by one process */
#define ZOO_LINE_MAX   66000 /* two paths of the longest kind */

static long long zoo_end_ms; /* zoo_now_ms */
static DWORD zoo_starter;
static wchar_t zoo_self[32768];

/* Not GetTickCount64, whose steps have 16 ms. */
static long long zoo_now_ms(void)
{
	LARGE_INTEGER hz, now;

	QueryPerformanceFrequency(&hz);
	QueryPerformanceCounter(&now);
	return now.QuadPart / (hz.QuadPart / 1000);
}

static DWORD WINAPI zoo_die(void *unused)
{
	long long now;

	(void)unused;
	while ((now = zoo_now_ms()) < zoo_end_ms)
		Sleep((DWORD)(zoo_end_ms - now));
	TerminateProcess(GetCurrentProcess(), 0);
	return 0;
}

void zoo_begin(const char *mode, int argc, char **argv)
{
	long life_ms = *mode == '+' && argc >= 4 ? atol(argv[2]) : ZOO_LIFE_MS;
	DWORD n = GetModuleFileNameW(NULL, zoo_self, sizeof(zoo_self) / sizeof(zoo_self[0]));

	zoo_end_ms = zoo_now_ms() + (life_ms < ZOO_LIFE_MS ? life_ms : ZOO_LIFE_MS);
	zoo_starter = *mode == '+' && argc >= 4 ? strtoul(argv[3], NULL, 10) : 0;
	_setmode(0, _O_BINARY);
	_setmode(1, _O_BINARY);
	if (!n || n == sizeof(zoo_self) / sizeof(zoo_self[0]) ||
	    !CreateThread(NULL, 0, zoo_die, NULL, 0, NULL))
		abort();
}

_Noreturn void zoo_linger(void)
{
	for (;;)
		Sleep(INFINITE); /* zoo_die ends the process */
}

/* Returns the process for CloseHandle; NULL: not started. */
static HANDLE zoo_create(wchar_t *line, bool inherit, DWORD flags)
{
	STARTUPINFOW info = { .cb = sizeof(info) };
	PROCESS_INFORMATION made;

	if (!CreateProcessW(NULL, line, NULL, NULL, inherit, flags, NULL, NULL, &info, &made))
		return NULL;
	CloseHandle(made.hThread);
	return made.hProcess;
}

/* Start a process of this server, which inherits nothing. A job that forbids to leave it refuses a
 * start with CREATE_BREAKAWAY_FROM_JOB: then without that. */
static HANDLE zoo_start(const char *role, DWORD flags)
{
	static wchar_t line[ZOO_LINE_MAX];
	static int starts;
	HANDLE process;

	if (starts++ >= ZOO_MAX_STARTS)
		return NULL;
	swprintf(line, ZOO_LINE_MAX, L"\"%ls\" %hs %hs %lld %lu", zoo_self, zoo_verb, role,
		 zoo_end_ms - zoo_now_ms(), GetCurrentProcessId());
	process = zoo_create(line, false, flags);
	if (!process && (flags & CREATE_BREAKAWAY_FROM_JOB))
		process = zoo_create(line, false, flags & ~(DWORD)CREATE_BREAKAWAY_FROM_JOB);
	return process;
}

static BOOL WINAPI zoo_ignore_console(DWORD event)
{
	(void)event;
	return TRUE;
}

int zoo_plain(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return zoo_serve(ZOO_LEAVE);
}

int zoo_ignorer(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	SetConsoleCtrlHandler(zoo_ignore_console, TRUE);
	return zoo_serve(ZOO_STAY);
}

int zoo_bg(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	zoo_start("+idle", 0);
	return zoo_serve(ZOO_LEAVE);
}

static int zoo_breakaway(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	zoo_start("+idle", DETACHED_PROCESS | CREATE_BREAKAWAY_FROM_JOB);
	return zoo_serve(ZOO_LEAVE);
}

int zoo_daemon(int argc, char **argv)
{
	HANDLE between = zoo_start("+between", DETACHED_PROCESS);

	(void)argc;
	(void)argv;
	if (between)
		WaitForSingleObject(between, INFINITE);
	return zoo_serve(ZOO_LEAVE);
}

/* The event by which the first twin tells the server that both twins run. */
static HANDLE zoo_twins_event(DWORD server)
{
	wchar_t name[64];

	swprintf(name, 64, L"Local\\killick-zoo-%lu", server);
	return CreateEventW(NULL, TRUE, FALSE, name);
}

static int zoo_twins(int argc, char **argv)
{
	HANDLE complete = zoo_twins_event(GetCurrentProcessId());

	(void)argc;
	(void)argv;
	if (complete && zoo_start("+first", DETACHED_PROCESS))
		WaitForSingleObject(complete, INFINITE); /* zoo_die ends it */
	return zoo_serve(ZOO_LEAVE);
}

/* As npx does: the server is a child of cmd.exe. With /s cmd.exe removes the outer quotes and no
 * other. */
int zoo_npx(int argc, char **argv)
{
	static wchar_t line[ZOO_LINE_MAX], system[MAX_PATH];
	UINT n = GetSystemDirectoryW(system, MAX_PATH);
	const char *inner = argc > 0 ? argv[0] : "plain";
	HANDLE shell = NULL;
	DWORD code = 1;

	if (n && n < MAX_PATH && strspn(inner, "abcdefghijklmnopqrstuvwxyz") == strlen(inner)) {
		swprintf(line, ZOO_LINE_MAX, L"\"%ls\\cmd.exe\" /d /s /c \"\"%ls\" %hs %hs\"",
			 system, zoo_self, zoo_verb, inner);
		shell = zoo_create(line, true, 0);
	}
	if (shell && WaitForSingleObject(shell, INFINITE) == WAIT_OBJECT_0)
		GetExitCodeProcess(shell, &code);
	return (int)code;
}

/* --- processes of the modes --- */

static int zoo_idle(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	SetConsoleCtrlHandler(zoo_ignore_console, TRUE);
	zoo_linger();
}

static int zoo_between(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	zoo_start("+idle", DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP | CREATE_BREAKAWAY_FROM_JOB);
	return 0;
}

/* Whenever the other twin ends, start it again. */
static _Noreturn void zoo_guard(HANDLE other)
{
	while (other) {
		WaitForSingleObject(other, INFINITE);
		CloseHandle(other);
		other = zoo_start("+second", DETACHED_PROCESS);
	}
	zoo_linger();
}

static int zoo_first(int argc, char **argv)
{
	HANDLE other = zoo_start("+second", DETACHED_PROCESS);

	(void)argc;
	(void)argv;
	SetEvent(zoo_twins_event(zoo_starter));
	zoo_guard(other);
}

static int zoo_second(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	zoo_guard(OpenProcess(SYNCHRONIZE, FALSE, zoo_starter));
}

const struct zoo_mode zoo_modes[] = {
	{ "plain", zoo_plain, "a well-behaved server: leaves on EOF" },
	{ "ignore", zoo_ignorer, "ignores EOF and Ctrl-Break" },
	{ "bg", zoo_bg, "leaves a child" },
	{ "breakaway", zoo_breakaway, "leaves a child that asks to leave the job" },
	{ "daemon", zoo_daemon, "leaves a daemon: detached, its parent has exited" },
	{ "twins", zoo_twins, "leaves two processes that start each other again" },
	{ "npx", zoo_npx, "a server behind cmd.exe behind a launcher [inner mode]" },
	{ "+idle", zoo_idle, NULL },
	{ "+between", zoo_between, NULL },
	{ "+first", zoo_first, NULL },
	{ "+second", zoo_second, NULL },
	{ NULL, NULL, NULL },
};
