/* machine.c - see machine.h
 *
 * The shell is cmd.exe of the system directory: every Windows has it, and no variable can name
 * another program.
 */
#include "os/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "os/env.h"
#include "utf16.h"

static const char *machine_variable(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp; envp++)
		if (env_is_named(*envp, name, len) && (*envp)[len + 1])
			return *envp + len + 1;
	return NULL;
}

/* A text that is too long becomes "". */
static void machine_set(char out[MACHINE_PATH], const char *path)
{
	snprintf(out, MACHINE_PATH, "%s", path && strlen(path) < MACHINE_PATH ? path : "");
}

/* The text that a function of Windows wrote; len as that function returned it. */
static void machine_set_wide(char out[MACHINE_PATH], const wchar_t *text, DWORD len)
{
	char *utf8 = len && len < MACHINE_PATH ? utf16_to_utf8(text) : NULL;

	machine_set(out, utf8);
	free(utf8);
}

void machine_look(char *const *envp, struct machine *out)
{
	wchar_t text[MACHINE_PATH];
	size_t len;

	*out = (struct machine){ .os = "windows", .shell_name = "cmd" };
	machine_set_wide(out->shell, text, GetSystemDirectoryW(text, MACHINE_PATH));
	len = strlen(out->shell);
	snprintf(out->shell + len, sizeof(out->shell) - len, "\\cmd.exe");
	machine_set_wide(out->cwd, text, GetCurrentDirectoryW(MACHINE_PATH, text));
	machine_set(out->home, machine_variable(envp, "USERPROFILE"));
	machine_set_wide(out->temp, text, GetTempPathW(MACHINE_PATH, text));
}
