/* ear.c - see ear.h */
#include "ear.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <winternl.h>

#include "program.h"

#define EAR_LINE_MAX 64

/* NamedPipeState of FilePipeLocalInformation, from the headers for drivers. */
enum { PIPE_DISCONNECTED = 1, PIPE_CLOSING = 4 };

/* FilePipeLocalInformation tells of the hang-up also while bytes are unread; PeekNamedPipe does
 * not. */
static bool ear_query(HANDLE in, ULONG *out_state)
{
	FILE_PIPE_LOCAL_INFORMATION info = { .NamedPipeState = 0 };
	IO_STATUS_BLOCK io;

	if (NtQueryInformationFile(in, &io, &info, sizeof(info), FilePipeLocalInformation) != 0)
		return false;
	*out_state = info.NamedPipeState;
	return true;
}

static bool ear_is_closed(HANDLE in)
{
	ULONG state;

	return ear_query(in, &state) && (state == PIPE_CLOSING || state == PIPE_DISCONNECTED);
}

bool ear_can_hear(HANDLE in)
{
	ULONG state;

	return GetFileType(in) == FILE_TYPE_PIPE && ear_query(in, &state);
}

/* A copy of `from` that a new process inherits; NULL: none. */
static HANDLE ear_copy(HANDLE from)
{
	HANDLE copy = NULL;

	DuplicateHandle(GetCurrentProcess(), from, GetCurrentProcess(), &copy, 0, TRUE,
			DUPLICATE_SAME_ACCESS);
	return copy;
}

static DWORD ear_spawn(struct ear *e, const struct job *j, HANDLE in, HANDLE ask)
{
	static wchar_t program[PROGRAM_MAX];
	wchar_t line[EAR_LINE_MAX];
	HANDLE both[] = { in, ask };
	struct job_start start = { .program = program,
				   .line = line,
				   .inherit = both,
				   .inherit_count = 2,
				   .in = in,
				   .flags = DETACHED_PROCESS, /* no console: no Ctrl-C either */
				   .guard = seal_child() };
	DWORD pid;

	if (GetModuleFileNameW(NULL, program, PROGRAM_MAX) >= PROGRAM_MAX)
		return ERROR_FILENAME_EXCED_RANGE;
	swprintf(line, EAR_LINE_MAX, L"killick ear %llu", (unsigned long long)(ULONG_PTR)ask);
	return job_spawn(j, &start, &e->process, &pid);
}

DWORD ear_start(struct ear *e, const struct job *j, HANDLE in)
{
	HANDLE its_in = ear_copy(in), its_ask;
	DWORD error = ERROR_NOT_ENOUGH_MEMORY;

	assert(!e->process);
	e->ask = CreateEventW(NULL, TRUE, FALSE, NULL);
	its_ask = e->ask ? ear_copy(e->ask) : NULL;
	if (its_in && its_ask)
		error = ear_spawn(e, j, its_in, its_ask);
	if (its_in)
		CloseHandle(its_in);
	if (its_ask)
		CloseHandle(its_ask);
	return error;
}

enum ear_news ear_news(const struct ear *e)
{
	DWORD code;

	if (!GetExitCodeProcess(e->process, &code) || (code != EAR_OPEN && code != EAR_CLOSED))
		return EAR_LOST;
	return (enum ear_news)code;
}

enum ear_news ear_ask(struct ear *e)
{
	SetEvent(e->ask);
	if (WaitForSingleObject(e->process, EAR_PERIOD_MS) != WAIT_OBJECT_0)
		return EAR_OPEN;
	return ear_news(e);
}

int ear_main(const char *handle)
{
	HANDLE ask = (HANDLE)(ULONG_PTR)strtoull(handle, NULL, 10);
	HANDLE in = GetStdHandle(STD_INPUT_HANDLE);
	DWORD asked = WAIT_TIMEOUT;

	for (;;) {
		if (ear_is_closed(in))
			return EAR_CLOSED;
		if (asked == WAIT_OBJECT_0)
			return EAR_OPEN;
		asked = WaitForSingleObject(ask, EAR_PERIOD_MS);
		if (asked == WAIT_FAILED)
			return EAR_LOST;
	}
}
