/* verdict.c - see verdict.h */
#define _WIN32_WINNT 0x0A00
#include "verdict.h"

#include <winternl.h>
#include <tlhelp32.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "child.h"
#include "tap.h"

#define COMMAND_LINE_CLASS 60 /* ProcessCommandLineInformation */
#define POLL_MS            20
#define MEMBER_ACCESS      (SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_TERMINATE)

static bool outside;

void verdict_outside(void)
{
	outside = true;
}

void verdict_open(struct verdict *v)
{
	static volatile LONG last;

	memset(v, 0, sizeof(*v));
	v->members = calloc(VERDICT_MAX, sizeof(*v->members));
	swprintf(v->tag, 16, L"kz%04lx%lx%lx", GetCurrentProcessId() & 0xffff,
		 GetTickCount() & 0xfff, 0x1000 + InterlockedIncrement(&last));
}

void verdict_mark(const wchar_t *tag)
{
	wchar_t value[40];

	swprintf(value, 40, L"-all,-%ls", tag);
	SetEnvironmentVariableW(L"WINEDEBUG", value);
}

/* --- inside --- */

static unsigned long long verdict_birth(HANDLE process)
{
	FILETIME made, gone, kernel, user;

	if (!GetProcessTimes(process, &made, &gone, &kernel, &user))
		return 0;
	return (unsigned long long)made.dwHighDateTime << 32 | made.dwLowDateTime;
}

/* Wine has no ProcessCommandLineInformation: the command line as it is in the memory of the
 * process. */
static bool verdict_command_line(HANDLE process, wchar_t *out, size_t size)
{
	PROCESS_BASIC_INFORMATION info;
	RTL_USER_PROCESS_PARAMETERS params;
	PEB peb;
	SIZE_T n;
	ULONG len;

	if (NtQueryInformationProcess(process, ProcessBasicInformation, &info, sizeof(info),
				      &len) ||
	    !ReadProcessMemory(process, info.PebBaseAddress, &peb, sizeof(peb), &n) ||
	    !ReadProcessMemory(process, peb.ProcessParameters, &params, sizeof(params), &n))
		return false;
	if (params.CommandLine.Length >= size * sizeof(*out))
		params.CommandLine.Length = (USHORT)((size - 1) * sizeof(*out));
	if (!ReadProcessMemory(process, params.CommandLine.Buffer, out, params.CommandLine.Length,
			       &n))
		return false;
	out[params.CommandLine.Length / sizeof(*out)] = L'\0';
	return true;
}

static bool verdict_has_tag(HANDLE process, const wchar_t *tag)
{
	static __thread union {
		UNICODE_STRING text;
		wchar_t room[33000];
	} line;
	ULONG n;

	if (NtQueryInformationProcess(process, (PROCESSINFOCLASS)COMMAND_LINE_CLASS, &line,
				      sizeof(line) - 2, &n) == 0) {
		line.text.Buffer[line.text.Length / 2] = L'\0';
		return wcsstr(line.text.Buffer, tag);
	}
	return verdict_command_line(process, line.room, 33000) && wcsstr(line.room, tag);
}

static struct verdict_member *verdict_find(struct verdict *v, DWORD pid)
{
	for (int i = 0; i < v->count; i++)
		if (v->members[i].pid == pid && WaitForSingleObject(v->members[i].process, 0))
			return &v->members[i];
	return NULL;
}

/* Is the process new here, and of this trial? */
static bool verdict_take(struct verdict *v, const PROCESSENTRY32W *e)
{
	struct verdict_member *parent = verdict_find(v, e->th32ParentProcessID);
	HANDLE h;
	unsigned long long birth;

	if (v->count == VERDICT_MAX || verdict_find(v, e->th32ProcessID))
		return false;
	h = OpenProcess(MEMBER_ACCESS | PROCESS_VM_READ, FALSE, e->th32ProcessID);
	if (!h) /* killick lets nobody read its memory */
		h = OpenProcess(MEMBER_ACCESS, FALSE, e->th32ProcessID);
	if (!h)
		return false;
	birth = verdict_birth(h);
	if (WaitForSingleObject(h, 0) == WAIT_OBJECT_0 ||
	    (e->th32ProcessID != v->first && !verdict_has_tag(h, v->tag) &&
	     !(parent && parent->birth <= birth))) {
		CloseHandle(h);
		return false;
	}
	v->members[v->count] =
		(struct verdict_member){ .pid = e->th32ProcessID, .process = h, .birth = birth };
	child_utf8(e->szExeFile, v->members[v->count].name, sizeof(v->members->name));
	v->count++;
	return true;
}

static void verdict_look_again(struct verdict *v)
{
	PROCESSENTRY32W e = { .dwSize = sizeof(e) };
	HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
	bool more = true;

	while (more) { /* until no process was found whose parent came later in the list */
		more = false;
		for (BOOL ok = Process32FirstW(all, &e); ok; ok = Process32NextW(all, &e))
			more |= verdict_take(v, &e);
	}
	CloseHandle(all);
}

void verdict_look(struct verdict *v, DWORD first)
{
	v->first = first;
	verdict_look_again(v);
	v->first = 0; /* from now on the number may be that of another process */
}

int verdict_count_inside(struct verdict *v, char *text, size_t size)
{
	size_t used = 0;
	int left = 0;

	verdict_look_again(v);
	*text = '\0';
	for (int i = 0; i < v->count; i++) {
		if (WaitForSingleObject(v->members[i].process, 0) == WAIT_OBJECT_0)
			continue;
		left++;
		if (used + 80 < size)
			used += (size_t)snprintf(text + used, size - used, "%s(%lu) ",
						 v->members[i].name, v->members[i].pid);
	}
	return left;
}

/* --- outside --- */

/* One question and its answer, a line that starts with a number. */
static int verdict_ask(const char *word, const wchar_t *tag, char *text, size_t size)
{
	char line[1024] = "";
	int n = -1, at = 0;

	tap_lock();
	printf("?%s %ls\n", word, tag);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin) || sscanf(line, "%d %n", &n, &at) < 1) {
		printf("Bail out! the judge does not answer\n");
		fflush(stdout);
		ExitProcess(70);
	}
	tap_unlock();
	line[strcspn(line, "\r\n")] = '\0';
	if (text)
		snprintf(text, size, "%s", line + at);
	return n;
}

int verdict_count(struct verdict *v, char *text, size_t size)
{
	return outside ? verdict_ask("count", v->tag, text, size)
		       : verdict_count_inside(v, text, size);
}

double verdict_await_empty(struct verdict *v, double ms, char *text, size_t size, int *out_left)
{
	double start = child_now_ms();

	while ((*out_left = verdict_count(v, text, size)) > 0) {
		if (child_now_ms() - start > ms)
			return -1;
		Sleep(POLL_MS);
	}
	return child_now_ms() - start;
}

void verdict_scrub(struct verdict *v)
{
	char text[200];

	if (outside)
		verdict_ask("scrub", v->tag, NULL, 0);
	for (int round = 0; round < 100 && verdict_count_inside(v, text, sizeof(text)); round++) {
		for (int i = 0; i < v->count; i++)
			TerminateProcess(v->members[i].process, 1);
		Sleep(POLL_MS);
	}
}

void verdict_close(struct verdict *v)
{
	for (int i = 0; i < v->count; i++)
		CloseHandle(v->members[i].process);
	free(v->members);
	v->members = NULL;
	v->count = 0;
}
