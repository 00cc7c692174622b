/* procs.c - see procs.h: a toolhelp snapshot, and the counters of one process. */
#include "os/procs.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#define PSAPI_VERSION 2 /* GetProcessMemoryInfo is in kernel32 */
/* after windows.h */
#include <psapi.h>
#include <tlhelp32.h>

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "error.h"

int procs_list(struct procs_list *out)
{
	PROCESSENTRY32W e = { .dwSize = sizeof(e) };
	HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
	size_t room = 0;

	*out = (struct procs_list){ .list = NULL };
	if (snapshot == INVALID_HANDLE_VALUE)
		return error_of(GetLastError());
	for (BOOL more = Process32FirstW(snapshot, &e); more; more = Process32NextW(snapshot, &e)) {
		if (out->count == room) {
			room = room ? 2 * room : 256;
			out->list = mem_grow(out->list, room, sizeof(*out->list));
		}
		out->list[out->count++] =
			(struct procs_entry){ .pid = (int)e.th32ProcessID,
					      .parent = (int)e.th32ParentProcessID };
	}
	CloseHandle(snapshot);
	return 0;
}

void procs_list_done(struct procs_list *l)
{
	free(l->list);
	*l = (struct procs_list){ .list = NULL };
}

static unsigned long long procs_ticks(FILETIME t)
{
	return (unsigned long long)t.dwHighDateTime << 32 | t.dwLowDateTime;
}

unsigned long long procs_used(const struct procs_entry *e)
{
	HANDLE h = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)e->pid);
	FILETIME created, ended, kernel, user;
	unsigned long long sum = 0;
	IO_COUNTERS io;

	if (!h)
		return 0;
	if (GetProcessTimes(h, &created, &ended, &kernel, &user))
		sum += procs_ticks(kernel) + procs_ticks(user);
	if (GetProcessIoCounters(h, &io))
		sum += io.ReadTransferCount + io.WriteTransferCount + io.OtherTransferCount;
	CloseHandle(h);
	return sum;
}

unsigned long long procs_memory(const struct procs_entry *e)
{
	HANDLE h = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)e->pid);
	PROCESS_MEMORY_COUNTERS m = { .cb = sizeof(m) };
	bool known;

	if (!h)
		return 0;
	known = GetProcessMemoryInfo(h, &m, sizeof(m));
	CloseHandle(h);
	return known ? m.WorkingSetSize : 0;
}
