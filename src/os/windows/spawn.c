/* spawn.c - see spawn.h: CreateProcess with a list of the handles that the program gets.
 *
 * CREATE_NO_WINDOW gives the program a console without a window, through which a keeper can send
 * Ctrl-Break to its server. CREATE_NEW_PROCESS_GROUP keeps the host's Ctrl-C away from it.
 */
#include "os/spawn.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "error.h"
#include "table.h"
#include "utf16.h"

#define SPAWN_FLAGS                                                                                \
	(EXTENDED_STARTUPINFO_PRESENT | CREATE_UNICODE_ENVIRONMENT | CREATE_NO_WINDOW |            \
	 CREATE_NEW_PROCESS_GROUP)

static bool spawn_command_line(const struct spawn *s, struct utf16 *out)
{
	for (size_t i = 0; s->argv[i]; i++)
		if (!utf16_add_arg(out, s->argv[i]))
			return false;
	return true;
}

static int spawn_compare_variables(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;

	return _strnicmp(x, y, strcspn(x, "=") + 1);
}

/* Windows wants the variables sorted by name, each with a NUL, and a NUL at the end. */
static bool spawn_environment(const struct spawn *s, struct utf16 *out)
{
	AUTO(mem_drop) const char **sorted = NULL;
	size_t count = 0;

	while (s->envp[count])
		count++;
	sorted = mem_grow(NULL, count + 1, sizeof(*sorted));
	memcpy(sorted, s->envp, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), spawn_compare_variables);
	for (size_t i = 0; i < count; i++) {
		if (!utf16_add(out, sorted[i]))
			return false;
		utf16_add_char(out, L'\0');
	}
	utf16_add_char(out, L'\0');
	utf16_add_char(out, L'\0'); /* an empty block has two */
	return true;
}

/* The distinct handles in s->fds: a list with one handle twice is refused by Windows. */
static size_t spawn_handles(const struct spawn *s, HANDLE out[SPAWN_FDS])
{
	size_t count = 0;

	for (int i = 0; i < SPAWN_FDS; i++) {
		HANDLE h = table_handle(s->fds[i]);
		bool known = false;

		assert(h);
		for (size_t k = 0; k < count; k++)
			known = known || out[k] == h;
		if (!known)
			out[count++] = h;
	}
	return count;
}

/* A handle in the list must be inheritable. Programs that other threads of the host start at this
 * moment without such a list may inherit it, so it is so for this one call only. */
static void spawn_set_inheritable(const HANDLE *list, size_t count, bool on)
{
	for (size_t i = 0; i < count; i++)
		SetHandleInformation(list[i], HANDLE_FLAG_INHERIT, on ? HANDLE_FLAG_INHERIT : 0);
}

/* 0, or an error of Windows. */
static DWORD spawn_create(const struct spawn *s, const wchar_t *path, struct utf16 *line,
			  struct utf16 *env, PROCESS_INFORMATION *out)
{
	STARTUPINFOEXW si = { .StartupInfo = { .cb = sizeof(si),
					       .dwFlags = STARTF_USESTDHANDLES,
					       .hStdInput = table_handle(s->fds[0]),
					       .hStdOutput = table_handle(s->fds[1]),
					       .hStdError = table_handle(s->fds[2]) } };
	AUTO(mem_drop) void *attributes = NULL;
	HANDLE list[SPAWN_FDS] = { NULL };
	size_t count = spawn_handles(s, list);
	DWORD error = 0;
	SIZE_T size = 0;

	InitializeProcThreadAttributeList(NULL, 1, 0, &size);
	attributes = mem_grow(NULL, size, 1);
	si.lpAttributeList = attributes;
	if (!InitializeProcThreadAttributeList(si.lpAttributeList, 1, 0, &size))
		return GetLastError();
	spawn_set_inheritable(list, count, true);
	if (!UpdateProcThreadAttribute(si.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
				       list, count * sizeof(list[0]), NULL, NULL) ||
	    !CreateProcessW(path, line->text, NULL, NULL, TRUE, SPAWN_FLAGS, env->text, NULL,
			    &si.StartupInfo, out))
		error = GetLastError();
	spawn_set_inheritable(list, count, false);
	DeleteProcThreadAttributeList(si.lpAttributeList);
	return error;
}

static bool spawn_is_about_the_file(DWORD error)
{
	return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND ||
	       error == ERROR_ACCESS_DENIED || error == ERROR_BAD_EXE_FORMAT ||
	       error == ERROR_EXE_MACHINE_TYPE_MISMATCH || error == ERROR_DIRECTORY;
}

static int spawn_adopt(const PROCESS_INFORMATION *started, struct spawned *out)
{
	int fd = table_assign(started->hProcess, TABLE_PROCESS);

	CloseHandle(started->hThread);
	if (fd < 0) { /* its end could not be seen */
		TerminateProcess(started->hProcess, 1);
		CloseHandle(started->hProcess);
		return fd;
	}
	*out = (struct spawned){ fd, (int)started->dwProcessId };
	return 0;
}

int spawn_detached(const struct spawn *s, struct spawned *out, const char **out_failed)
{
	AUTO(utf16_done) struct utf16 line = { .text = NULL }, env = { .text = NULL };
	AUTO(mem_drop) wchar_t *path = utf16_of(s->path);
	PROCESS_INFORMATION started;
	DWORD error;

	*out_failed = "UTF-8";
	if (!path || !spawn_command_line(s, &line) || !spawn_environment(s, &env))
		return -EILSEQ;
	error = spawn_create(s, path, &line, &env, &started);
	*out_failed = error && spawn_is_about_the_file(error) ? NULL : "CreateProcess";
	return error ? error_of(error) : spawn_adopt(&started, out);
}

bool spawn_reap(int process, int pid)
{
	(void)pid;
	return WaitForSingleObject(table_handle(process), 0) == WAIT_OBJECT_0;
}

int spawn_adopt_orphans(void)
{
	return -1;
}

void spawn_reap_orphans(int fd)
{
	(void)fd;
}

bool spawn_is_gone(int pid)
{
	HANDLE h = OpenProcess(SYNCHRONIZE, FALSE, (DWORD)pid);
	bool gone;

	if (!h)
		return GetLastError() == ERROR_INVALID_PARAMETER;
	gone = WaitForSingleObject(h, 0) == WAIT_OBJECT_0;
	CloseHandle(h);
	return gone;
}

void spawn_name(const struct spawn *s, char out[SPAWN_NAME_SIZE])
{
	/* an inherited handle has the same value in the child */
	snprintf(out, SPAWN_NAME_SIZE, "%llu",
		 (unsigned long long)(uintptr_t)table_handle(s->fds[SPAWN_FDS - 1]));
}

unsigned long spawn_raise_limit(void)
{
	return 0; /* there is no limit that could be raised */
}

bool spawn_keeper_can_leave_processes(void)
{
	return false; /* the keeper has the only handle of the job */
}

int spawn_own_pid(void)
{
	return (int)GetCurrentProcessId();
}
