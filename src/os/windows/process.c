/* process.c - see process.h */
#include "os/process.h"

#include <errno.h>

#include "error.h"
#include "table.h"

#include <tlhelp32.h>

int process_open(int pid)
{
	HANDLE h = OpenProcess(SYNCHRONIZE, FALSE, (DWORD)pid);
	int fd;

	if (!h)
		return GetLastError() == ERROR_INVALID_PARAMETER ? -ESRCH
								 : error_of(GetLastError());
	fd = table_assign(h, TABLE_PROCESS);
	if (fd < 0)
		CloseHandle(h);
	return fd;
}

bool process_has_ended(int fd)
{
	return WaitForSingleObject(table_handle_of(fd, TABLE_PROCESS), 0) != WAIT_TIMEOUT;
}

/* Was the process created before this one? If not, its pid is in use again. */
static bool process_is_older(DWORD pid)
{
	HANDLE h = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, pid);
	FILETIME made, ours, gone, kernel, user;
	bool older = h && GetProcessTimes(h, &made, &gone, &kernel, &user) &&
		     GetProcessTimes(GetCurrentProcess(), &ours, &gone, &kernel, &user) &&
		     CompareFileTime(&made, &ours) <= 0;

	if (h)
		CloseHandle(h);
	return older;
}

int process_parent(void)
{
	HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
	PROCESSENTRY32W e = { .dwSize = sizeof(e) };
	DWORD parent = 0;

	if (all == INVALID_HANDLE_VALUE)
		return 0;
	for (BOOL more = Process32FirstW(all, &e); more; more = Process32NextW(all, &e))
		if (e.th32ProcessID == GetCurrentProcessId())
			parent = e.th32ParentProcessID;
	CloseHandle(all);
	return process_is_older(parent) ? (int)parent : 0;
}

void process_wake_with_parent(void)
{
}

void process_continue(int fd)
{
	(void)fd;
}

int process_open_parent(int pid)
{
	(void)pid;
	return -ENOSYS;
}

int process_again(int fd)
{
	(void)fd;
	return -ENOSYS;
}
