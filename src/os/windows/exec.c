/* exec.c - see exec.h */
#include "os/exec.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "error.h"
#include "os/env.h"
#include "utf16.h"

/* A .cmd or .bat file has other rules for its arguments: only real programs are started. */
static bool exec_is_exe(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && env_compare_names(path + len - 4, ENV_EXE, 4) == 0;
}

static int exec_start(const wchar_t *path, wchar_t *line, PROCESS_INFORMATION *out)
{
	STARTUPINFOW start = { .cb = sizeof(start) };

	return CreateProcessW(path, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, out)
		       ? 0
		       : error_of(GetLastError());
}

int exec_program(char *const *argv)
{
	AUTO(utf16_done) struct utf16 line = { .text = NULL };
	AUTO(mem_drop) wchar_t *wide = NULL;
	PROCESS_INFORMATION started;
	char path[4096];
	DWORD code = 1;
	int r;

	if (!env_find_program(env_get("PATH"), argv[0], path, sizeof(path)) || !exec_is_exe(path))
		return -ENOENT;
	for (char *const *word = argv; *word; word++)
		if (!utf16_add_arg(&line, *word))
			return -EINVAL;
	wide = utf16_of(path);
	if (!wide)
		return -EINVAL;
	r = exec_start(wide, line.text, &started);
	if (r < 0)
		return r;
	WaitForSingleObject(started.hProcess, INFINITE);
	GetExitCodeProcess(started.hProcess, &code);
	exit((int)code);
}
