/* terminal.c - see terminal.h */
#include "terminal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <tlhelp32.h>
#include <winternl.h>

#include "program.h"

#define CHILDREN_MAX   16 /* of killick: the ear, the hosts of its own console and of this one */
#define EVENT_LINE_MAX 64

typedef HRESULT(WINAPI *terminal_create_fn)(COORD size, HANDLE in, HANDLE out, DWORD flags,
					    void **console);
typedef void(WINAPI *terminal_close_fn)(void *console);

/* By way of an integer: a FARPROC is no pointer to a function of this type. */
static ULONG_PTR terminal_find(const char *name)
{
	HMODULE kernel = GetModuleHandleW(L"kernel32.dll");

	return kernel ? (ULONG_PTR)GetProcAddress(kernel, name) : 0;
}

bool terminal_is_possible(void)
{
	return terminal_find("CreatePseudoConsole") && terminal_find("ClosePseudoConsole");
}

/* --- the host --- */

struct terminal_children {
	DWORD pids[CHILDREN_MAX];
	unsigned count;
};

static bool terminal_list(struct terminal_children *out)
{
	HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
	PROCESSENTRY32W p = { .dwSize = sizeof(p) };
	DWORD own = GetCurrentProcessId();

	out->count = 0;
	if (all == INVALID_HANDLE_VALUE)
		return false;
	for (BOOL more = Process32FirstW(all, &p); more; more = Process32NextW(all, &p)) {
		if (p.th32ParentProcessID == own && out->count < CHILDREN_MAX)
			out->pids[out->count++] = p.th32ProcessID;
	}
	CloseHandle(all);
	return true;
}

static bool terminal_has(const struct terminal_children *c, DWORD pid)
{
	for (unsigned i = 0; i < c->count; i++) {
		if (c->pids[i] == pid)
			return true;
	}
	return false;
}

/* The number alone may be that of another process by now; an open handle cannot. */
static bool terminal_is_child(HANDLE process)
{
	PROCESS_BASIC_INFORMATION info = { .UniqueProcessId = 0 };

	return NtQueryInformationProcess(process, ProcessBasicInformation, &info, sizeof(info),
					 NULL) == 0 &&
	       (DWORD)(ULONG_PTR)info.InheritedFromUniqueProcessId == GetCurrentProcessId();
}

static HANDLE terminal_open_host(DWORD pid)
{
	HANDLE h = OpenProcess(PROCESS_TERMINATE | SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION,
			       FALSE, pid);

	if (h && !terminal_is_child(h)) {
		CloseHandle(h);
		h = NULL;
	}
	return h;
}

/* The host is the child that was not there `before`: killick has started no other process. */
static void terminal_find_host(struct terminal *t, const struct terminal_children *before)
{
	struct terminal_children now;

	if (!terminal_list(&now))
		return;
	for (unsigned i = 0; i < now.count && !t->host; i++) {
		if (!terminal_has(before, now.pids[i]))
			t->host = terminal_open_host(now.pids[i]);
	}
}

static DWORD terminal_enter_guard(struct job *guard)
{
	const unsigned long long no_limits[LIMIT_COUNT] = { 0 };
	DWORD error = job_open(guard, no_limits, 0);

	if (error == 0 && !AssignProcessToJobObject(guard->handle, GetCurrentProcess()))
		error = GetLastError();
	return error;
}

DWORD terminal_open(struct terminal *t, HANDLE in, HANDLE out)
{
	const COORD size = { TERMINAL_COLUMNS, TERMINAL_LINES };
	terminal_create_fn create = (terminal_create_fn)terminal_find("CreatePseudoConsole");
	struct terminal_children before;
	DWORD error = terminal_enter_guard(&t->guard);
	HRESULT made;

	assert(create && !t->console);
	if (error)
		return error;
	if (!terminal_list(&before))
		return GetLastError();
	made = create(size, in, out, 0, &t->console);
	if (FAILED(made)) {
		t->console = NULL;
		return (DWORD)HRESULT_CODE(made);
	}
	terminal_find_host(t, &before);
	return 0;
}

/* --- the end --- */

/* Before Windows 11 24H2 the function waits for the host, which waits until its output is read. */
static DWORD WINAPI terminal_close_thread(void *console)
{
	terminal_close_fn close = (terminal_close_fn)terminal_find("ClosePseudoConsole");

	assert(close);
	close(console);
	return 0;
}

unsigned terminal_end(struct terminal *t, unsigned budget_ms)
{
	HANDLE thread;

	if (!t->console)
		return 0;
	thread = CreateThread(NULL, 0, terminal_close_thread, t->console, 0, NULL);
	if (thread) /* without one, the end of killick closes the console */
		WaitForSingleObject(t->host ? t->host : thread, TERMINAL_FLUSH_MS);
	if (!t->host && job_count(&t->guard) > 1)
		return 1; /* the end of killick closes the guard, and ends the host */
	if (t->host) {
		TerminateProcess(t->host, JOB_KILLED);
		if (WaitForSingleObject(t->host, budget_ms) != WAIT_OBJECT_0)
			return 1;
	}
	/* killick is in the guard, too, and must exit with its own code when the guard is closed */
	job_spare(&t->guard);
	return 0;
}

/* --- events --- */

DWORD terminal_send(DWORD pid, DWORD event)
{
	static wchar_t program[PROGRAM_MAX];
	wchar_t line[EVENT_LINE_MAX];
	struct job_start start = { .program = program, .line = line, .flags = DETACHED_PROCESS };
	HANDLE process;
	DWORD error;

	if (GetModuleFileNameW(NULL, program, PROGRAM_MAX) >= PROGRAM_MAX)
		return ERROR_FILENAME_EXCED_RANGE;
	swprintf(line, EVENT_LINE_MAX, L"killick event %lu %lu", pid, event);
	error = job_spawn(NULL, &start, &process, &pid); /* in the guard, as killick */
	if (error == 0)
		CloseHandle(process);
	return error;
}

static BOOL WINAPI terminal_ignore(DWORD event)
{
	(void)event;
	return TRUE;
}

int terminal_event_main(const char *pid, const char *event)
{
	/* the handler after AttachConsole, which forgets handlers */
	return AttachConsole(strtoul(pid, NULL, 10)) &&
			       SetConsoleCtrlHandler(terminal_ignore, TRUE) &&
			       GenerateConsoleCtrlEvent(strtoul(event, NULL, 10), 0)
		       ? 0
		       : 1;
}
