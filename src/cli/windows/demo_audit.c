/* demo_audit.c - see demo_audit.h */
#include "demo_audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <winternl.h>

enum { PIDS_MAX = 512, LINE_LEN = 32768, ROUND_MS = 5 };

struct audit_process {
	struct demo_process process;
	unsigned long long start; /* units of Windows */
};

HANDLE audit_open(void)
{
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION info = { .BasicLimitInformation.LimitFlags =
							      JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE };
	HANDLE job = CreateJobObjectW(NULL, NULL);

	if (job &&
	    !SetInformationJobObject(job, JobObjectExtendedLimitInformation, &info, sizeof(info))) {
		CloseHandle(job);
		job = NULL;
	}
	return job;
}

void audit_close(HANDLE job)
{
	if (job)
		CloseHandle(job);
}

size_t audit_count(HANDLE job)
{
	JOBOBJECT_BASIC_ACCOUNTING_INFORMATION info;

	if (!QueryInformationJobObject(job, JobObjectBasicAccountingInformation, &info,
				       sizeof(info), NULL))
		abort();
	return info.ActiveProcesses;
}

/* The words of a command line as the view wants them: the program without directory and ".exe", and
 * no quotes. */
static void audit_words(wchar_t *line, char *out, int size)
{
	const wchar_t last = *line == L'"' ? L'"' : L' ';
	wchar_t *end = wcschr(*line ? line + 1 : line, last);
	wchar_t *name = line, *stop = end ? end : line + wcslen(line);
	size_t n = 0;

	for (wchar_t *c = line; c < stop; c++)
		if (*c == L'\\' || *c == L'/' || *c == L'"')
			name = c + 1;
	if (stop - name > 4 && _wcsnicmp(stop - 4, L".exe", 4) == 0)
		memmove(stop - 4, stop, (wcslen(stop) + 1) * sizeof(*stop));
	for (wchar_t *c = name; *c && n + 1 < (size_t)size; c++)
		if (*c != L'"')
			line[n++] = *c;
	line[n] = L'\0';
	if (!WideCharToMultiByte(CP_UTF8, 0, line, -1, out, size, NULL, NULL))
		snprintf(out, (size_t)size, "?");
}

/* killick grants nobody the right to read its memory: then only the program is known. */
static HANDLE audit_open_process(DWORD pid)
{
	HANDLE process =
		OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_VM_READ, FALSE, pid);

	return process ? process : OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, pid);
}

/* The command line is in the memory of the process, which may have changed it. */
static bool audit_read_line(HANDLE process, const PEB *peb, wchar_t *out)
{
	RTL_USER_PROCESS_PARAMETERS *at, parameters;
	size_t len;

	if (!ReadProcessMemory(process, &peb->ProcessParameters, &at, sizeof(at), NULL) ||
	    !ReadProcessMemory(process, at, &parameters, sizeof(parameters), NULL))
		return false;
	len = parameters.CommandLine.Length / sizeof(*out);
	if (!len || len >= LINE_LEN ||
	    !ReadProcessMemory(process, parameters.CommandLine.Buffer, out, len * sizeof(*out),
			       NULL))
		return false;
	out[len] = L'\0';
	return true;
}

static void audit_describe(HANDLE process, struct audit_process *p)
{
	static wchar_t line[LINE_LEN];
	PROCESS_BASIC_INFORMATION basic = { .PebBaseAddress = NULL };
	FILETIME made, gone, kernel, user;
	DWORD len = LINE_LEN;
	ULONG n;

	if (GetProcessTimes(process, &made, &gone, &kernel, &user))
		p->start = (unsigned long long)made.dwHighDateTime << 32 | made.dwLowDateTime;
	if (NtQueryInformationProcess(process, ProcessBasicInformation, &basic, sizeof(basic),
				      &n) >= 0)
		p->process.ppid = (int)(intptr_t)basic.InheritedFromUniqueProcessId;
	if (audit_read_line(process, basic.PebBaseAddress, line) ||
	    QueryFullProcessImageNameW(process, 0, line, &len))
		audit_words(line, p->process.args, sizeof(p->process.args));
}

static int audit_by_start(const void *a, const void *b)
{
	const struct audit_process *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

size_t audit_scan(HANDLE job, struct demo_process *out_list, size_t max)
{
	static union {
		JOBOBJECT_BASIC_PROCESS_ID_LIST list;
		char room[sizeof(JOBOBJECT_BASIC_PROCESS_ID_LIST) + PIDS_MAX * sizeof(ULONG_PTR)];
	} pids;
	static struct audit_process found[PIDS_MAX];
	size_t count;

	if (!QueryInformationJobObject(job, JobObjectBasicProcessIdList, &pids, sizeof(pids),
				       NULL) &&
	    GetLastError() != ERROR_MORE_DATA)
		abort();
	count = pids.list.NumberOfProcessIdsInList;
	for (size_t i = 0; i < count && i < PIDS_MAX; i++) {
		DWORD pid = (DWORD)pids.list.ProcessIdList[i];
		HANDLE process = audit_open_process(pid);

		found[i] = (struct audit_process){ .process = { .pid = (int)pid, .args = "?" } };
		if (process)
			audit_describe(process, &found[i]);
		if (process)
			CloseHandle(process);
	}
	count = count < PIDS_MAX ? count : PIDS_MAX;
	qsort(found, count, sizeof(found[0]), audit_by_start);
	for (size_t i = 0; i < count && i < max; i++)
		out_list[i] = found[i].process;
	return pids.list.NumberOfAssignedProcesses;
}

size_t audit_kill(HANDLE job, int budget_ms)
{
	size_t left;

	do {
		TerminateJobObject(job, 1);
		left = audit_count(job);
		if (left)
			Sleep(ROUND_MS);
		budget_ms -= ROUND_MS;
	} while (left && budget_ms > 0);
	return left;
}
