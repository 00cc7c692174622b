/* demo_part.c - the client of the demo, see demo_part.h */
#include "demo_part.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/demo.h"

enum { ANSWER_MAX = 4096, HANDLES = 4, ATTRIBUTES = 2 };

/* The handles of the list, which become inheritable; none twice, which Windows refuses. */
static size_t part_handles(const struct demo_start *s, HANDLE out[HANDLES])
{
	const HANDLE all[HANDLES] = { s->in, s->out, s->also, GetStdHandle(STD_ERROR_HANDLE) };
	size_t count = 0;

	for (size_t i = 0; i < HANDLES; i++) {
		bool skip = !all[i] || all[i] == INVALID_HANDLE_VALUE;

		for (size_t k = 0; k < count; k++)
			skip = skip || out[k] == all[i];
		if (skip)
			continue;
		SetHandleInformation(all[i], HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
		out[count++] = all[i];
	}
	return count;
}

DWORD demo_spawn(const struct demo_start *s)
{
	STARTUPINFOEXW info = { .StartupInfo = { .cb = sizeof(info),
						 .dwFlags = STARTF_USESTDHANDLES,
						 .hStdInput = s->in,
						 .hStdOutput = s->out,
						 .hStdError = GetStdHandle(STD_ERROR_HANDLE) } };
	HANDLE list[HANDLES] = { NULL }, job = s->job;
	size_t count = part_handles(s, list);
	AUTO(mem_drop) void *attributes = NULL;
	SIZE_T size = 0;
	DWORD error = 0;

	InitializeProcThreadAttributeList(NULL, ATTRIBUTES, 0, &size);
	attributes = mem_grow(NULL, size, 1);
	info.lpAttributeList = attributes;
	if (!InitializeProcThreadAttributeList(info.lpAttributeList, ATTRIBUTES, 0, &size))
		return GetLastError();
	if ((count &&
	     !UpdateProcThreadAttribute(info.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
					list, count * sizeof(list[0]), NULL, NULL)) ||
	    (job &&
	     !UpdateProcThreadAttribute(info.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_JOB_LIST,
					&job, sizeof(job), NULL, NULL)) ||
	    !CreateProcessW(NULL, s->line, NULL, NULL, count > 0, EXTENDED_STARTUPINFO_PRESENT,
			    NULL, NULL, &info.StartupInfo, s->made))
		error = GetLastError();
	DeleteProcThreadAttributeList(info.lpAttributeList);
	return error;
}

static bool part_say(HANDLE to, const char *text)
{
	DWORD n;

	return WriteFile(to, text, (DWORD)strlen(text), &n, NULL) && n == strlen(text);
}

/* Read up to the first newline. The demo ends a client whose server does not answer. */
static bool part_read_line(HANDLE from, char *line, DWORD size)
{
	DWORD len = 0, n;

	while (len < size - 1 && ReadFile(from, line + len, size - 1 - len, &n, NULL) && n > 0) {
		len += n;
		line[len] = '\0';
		if (memchr(line, '\n', len))
			return true;
	}
	return false;
}

/* Start the server and say hello. */
static bool part_talk(wchar_t *server_line)
{
	HANDLE server_in, to_server, from_server, server_out;
	PROCESS_INFORMATION made;
	char line[ANSWER_MAX];
	bool started;

	if (!CreatePipe(&server_in, &to_server, NULL, 0) ||
	    !CreatePipe(&from_server, &server_out, NULL, 0))
		return false;
	started =
		demo_spawn(&(struct demo_start){
			.line = server_line, .in = server_in, .out = server_out, .made = &made }) ==
		0;
	CloseHandle(server_in);
	CloseHandle(server_out);
	return started && part_say(to_server, DEMO_HELLO) &&
	       part_read_line(from_server, line, sizeof(line)) && strstr(line, "\"result\"") &&
	       part_say(to_server, DEMO_INITIALIZED);
}

int demo_part(int argc, char **argv)
{
	/* The rest of the line is the server's, with its quotes. */
	wchar_t *at = wcsstr(GetCommandLineW(), L" demo-part client ");
	HANDLE ready;

	if (argc < 4 || strcmp(argv[1], "client") != 0 || !at)
		return EXIT_USAGE;
	ready = (HANDLE)(uintptr_t)strtoull(argv[2], NULL, 10);
	at += wcslen(L" demo-part client ");
	at += wcscspn(at, L" ");
	if (!part_talk(at + wcsspn(at, L" ")) || !SetEvent(ready))
		return EXIT_UNAVAILABLE;
	Sleep(INFINITE);
	return EXIT_SUCCESS;
}
