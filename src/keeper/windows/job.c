/* job.c - see job.h */
#include "job.h"

#include <assert.h>

#include "clock.h"

#define ATTRIBUTES_MAX 256 /* bytes of a list of three attributes; x86_64 needs 96 */
#define PIDS_MAX       64
#define LOOK_MS        10 /* how long to wait for a message before the next look */

/* PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE: headers show it only to programs that demand Windows 10 1809
 */
#define ATTRIBUTE_CONSOLE 0x20016

DWORD job_open(struct job *j, const unsigned long long limits[LIMIT_COUNT], unsigned own)
{
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION info = { .BasicLimitInformation.LimitFlags =
							      JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE };
	JOBOBJECT_ASSOCIATE_COMPLETION_PORT to;

	if (limits[LIMIT_PROCS]) {
		info.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_ACTIVE_PROCESS;
		info.BasicLimitInformation.ActiveProcessLimit = (DWORD)limits[LIMIT_PROCS] + own;
	}
	if (limits[LIMIT_MEMORY]) {
		info.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_JOB_MEMORY;
		info.JobMemoryLimit = (SIZE_T)limits[LIMIT_MEMORY];
	}
	j->handle = CreateJobObjectW(NULL, NULL);
	j->port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 1);
	to = (JOBOBJECT_ASSOCIATE_COMPLETION_PORT){ j->handle, j->port };
	if (!j->handle || !j->port ||
	    !SetInformationJobObject(j->handle, JobObjectExtendedLimitInformation, &info,
				     sizeof(info)) ||
	    !SetInformationJobObject(j->handle, JobObjectAssociateCompletionPortInformation, &to,
				     sizeof(to)))
		return GetLastError();
	return 0;
}

static bool job_attributes(LPPROC_THREAD_ATTRIBUTE_LIST list, const struct job *j,
			   const struct job_start *start)
{
	SIZE_T size = ATTRIBUTES_MAX;

	return InitializeProcThreadAttributeList(list, 3, 0, &size) &&
	       (!j ||
		UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_JOB_LIST,
					  (void *)&j->handle, sizeof(j->handle), NULL, NULL)) &&
	       (!start->inherit_count ||
		UpdateProcThreadAttribute(
			list, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, start->inherit,
			start->inherit_count * sizeof(*start->inherit), NULL, NULL)) &&
	       (!start->console ||
		UpdateProcThreadAttribute(list, 0, ATTRIBUTE_CONSOLE, start->console,
					  sizeof(start->console), NULL, NULL));
}

DWORD job_spawn(const struct job *j, const struct job_start *start, HANDLE *out_process,
		DWORD *out_pid)
{
	static _Alignas(16) char attributes[ATTRIBUTES_MAX];
	STARTUPINFOEXW info = {
		.StartupInfo = { .cb = sizeof(info),
				 .dwFlags = STARTF_USESTDHANDLES,
				 .hStdInput = start->in,
				 .hStdOutput = start->out,
				 .hStdError = start->err },
		.lpAttributeList = (LPPROC_THREAD_ATTRIBUTE_LIST)attributes,
	};
	PROCESS_INFORMATION made;

	assert((!j || j->handle) && start->inherit_count <= 3);
	assert(!start->console || !start->inherit_count);
	if (!job_attributes(info.lpAttributeList, j, start))
		return GetLastError();
	if (!CreateProcessW(start->program, start->line, start->guard.process, start->guard.thread,
			    start->inherit_count > 0, start->flags | EXTENDED_STARTUPINFO_PRESENT,
			    NULL, NULL, &info.StartupInfo, &made))
		return GetLastError();
	CloseHandle(made.hThread);
	*out_process = made.hProcess;
	*out_pid = made.dwProcessId;
	return 0;
}

unsigned job_count(const struct job *j)
{
	JOBOBJECT_BASIC_ACCOUNTING_INFORMATION info;

	if (!QueryInformationJobObject(j->handle, JobObjectBasicAccountingInformation, &info,
				       sizeof(info), NULL))
		return ~0u; /* not known is not empty */
	return info.ActiveProcesses;
}

unsigned job_kill(const struct job *j, unsigned budget_ms)
{
	long long end_us = clock_us() + budget_ms * 1000LL;
	OVERLAPPED *which;
	DWORD message;
	ULONG_PTR key;
	unsigned left;

	for (;;) {
		TerminateJobObject(j->handle, JOB_KILLED);
		left = job_count(j);
		if (!left || clock_left_ms(end_us) == 0)
			return left;
		/* messages may be lost: they only end the wait early */
		while (GetQueuedCompletionStatus(j->port, &message, &key, &which, LOOK_MS) &&
		       message != JOB_OBJECT_MSG_ACTIVE_PROCESS_ZERO)
			;
	}
}

void job_spare(const struct job *j)
{
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION none = { .BasicLimitInformation.LimitFlags = 0 };

	SetInformationJobObject(j->handle, JobObjectExtendedLimitInformation, &none, sizeof(none));
}

unsigned job_pids(const struct job *j, DWORD *pids, unsigned max)
{
	struct {
		JOBOBJECT_BASIC_PROCESS_ID_LIST list;
		ULONG_PTR more[PIDS_MAX - 1];
	} ids = { .list.NumberOfProcessIdsInList = 0 };
	unsigned n = 0;

	/* fails with ERROR_MORE_DATA when there are more; those that fit are there */
	QueryInformationJobObject(j->handle, JobObjectBasicProcessIdList, &ids, sizeof(ids), NULL);
	for (; n < ids.list.NumberOfProcessIdsInList && n < max; n++)
		pids[n] = (DWORD)ids.list.ProcessIdList[n];
	return n;
}
