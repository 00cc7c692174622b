/* dirs.c - see dirs.h */
#include "os/dirs.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "os/env.h"
#include "utf16.h"

#define DIRS_MAX 32768 /* characters of the longest path */

static bool dirs_of(const char *below, char *out, size_t size)
{
	const char *local = env_get("LOCALAPPDATA");

	return local && *local && snprintf(out, size, "%s\\%s", local, below) < (int)size;
}

bool dirs_cache(char *out, size_t size)
{
	return dirs_of("killick\\cache", out, size);
}

bool dirs_state(char *out, size_t size)
{
	return dirs_of("killick", out, size);
}

/* The text that a function of Windows wrote; len as that function returned it. */
static bool dirs_take(const wchar_t *text, DWORD len, char *out, size_t size)
{
	AUTO(mem_drop) char *utf8 = NULL;

	if (len == 0 || len >= DIRS_MAX)
		return false;
	utf8 = utf16_to_utf8(text);
	return snprintf(out, size, "%s", utf8) < (int)size;
}

bool dirs_current(char *out, size_t size)
{
	static wchar_t text[DIRS_MAX];

	return dirs_take(text, GetCurrentDirectoryW(DIRS_MAX, text), out, size);
}

bool dirs_program(char *out, size_t size)
{
	static wchar_t text[DIRS_MAX];

	return dirs_take(text, GetModuleFileNameW(NULL, text, DIRS_MAX), out, size);
}
