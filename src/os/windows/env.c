/* env.c - see env.h: the variables of Windows are UTF-16. */
#include "os/env.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "utf16.h"

#define ENV_PATH_MAX 32768 /* characters of the longest path */

/* TypeScript and Python SDKs pass the most of these; codex has the others as well. */
const char *const env_passed[] = {
	"APPDATA",
	"COMSPEC",
	"HOMEDRIVE",
	"HOMEPATH",
	"LOCALAPPDATA",
	"PATH",
	"PATHEXT",
	"PROCESSOR_ARCHITECTURE",
	"PROGRAMDATA",
	"PROGRAMFILES",
	"PROGRAMFILES(X86)",
	"PROGRAMW6432",
	"SYSTEMDRIVE",
	"SYSTEMROOT",
	"TEMP",
	"TMP",
	"USERDOMAIN",
	"USERNAME",
	"USERPROFILE",
	"WINDIR",
	/* how this network is reached; names have no case here */
	"ALL_PROXY",
	"HTTPS_PROXY",
	"HTTP_PROXY",
	"NO_PROXY",
	ENV_CERTIFICATES,
	NULL,
};
/* Without SYSTEMROOT neither sockets nor random numbers work in many runtimes; the keeper finds
 * programs by PATH and PATHEXT, and cmd.exe by COMSPEC's directory. */
const char *const env_needed[] = { "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "WINDIR", NULL };

struct env env_read(void)
{
	wchar_t *block = GetEnvironmentStringsW();
	struct env e = { mem_grow(NULL, 1, sizeof(*e.list)) };
	size_t count = 0;

	for (const wchar_t *p = block; p && *p; p += wcslen(p) + 1) {
		if (*p == L'=') /* the current directory of a drive, which is no variable */
			continue;
		e.list = mem_grow(e.list, count + 2, sizeof(*e.list));
		e.list[count++] = utf16_to_utf8(p);
	}
	e.list[count] = NULL;
	if (block)
		FreeEnvironmentStringsW(block);
	return e;
}

void env_done(struct env *e)
{
	for (char **p = e->list; p && *p; p++)
		free(*p);
	free(e->list);
	e->list = NULL;
}

/* The values that env_get has returned. They are kept, so that a caller may use a value as it would
 * use that of getenv; a value that was returned before is found again. */
struct env_value {
	struct env_value *next;
	char text[];
};
static struct env_value *values;
static SRWLOCK values_lock = SRWLOCK_INIT;

static const char *env_keep(const char *text)
{
	size_t size = strlen(text) + 1;
	struct env_value *v;

	AcquireSRWLockExclusive(&values_lock);
	for (v = values; v && strcmp(v->text, text) != 0; v = v->next)
		;
	if (!v) {
		v = mem_grow(NULL, sizeof(*v) + size, 1);
		memcpy(v->text, text, size);
		v->next = values;
		values = v;
	}
	ReleaseSRWLockExclusive(&values_lock);
	return v->text;
}

const char *env_get(const char *name)
{
	AUTO(mem_drop) wchar_t *wide = utf16_of(name), *value = NULL;
	AUTO(mem_drop) char *text = NULL;
	DWORD size = wide ? GetEnvironmentVariableW(wide, NULL, 0) : 0, len;

	if (!size) /* an empty variable has a size of 1 */
		return NULL;
	value = mem_grow(NULL, size, sizeof(*value));
	len = GetEnvironmentVariableW(wide, value, size);
	if (len >= size) /* it was changed meanwhile */
		return NULL;
	value[len] = L'\0';
	text = utf16_to_utf8(value);
	return env_keep(text);
}

/* Windows has no setuid programs. */
const char *env_get_secure(const char *name)
{
	return env_get(name);
}

int env_set(const char *name, const char *value)
{
	AUTO(mem_drop) wchar_t *wide = utf16_of(name), *text = value ? utf16_of(value) : NULL;

	if (!wide || (value && !text))
		return -EILSEQ;
	/* the C runtime has a copy of its own; an empty value removes the variable */
	return _wputenv_s(wide, text ? text : L"") == 0 ? 0 : -EINVAL;
}

int env_compare_names(const char *a, const char *b, size_t len)
{
	return _strnicmp(a, b, len);
}

bool env_is_named(const char *entry, const char *name, size_t len)
{
	return _strnicmp(entry, name, len) == 0 && entry[len] == '=';
}

void env_host_name(char *out, size_t size)
{
	AUTO(mem_drop) char *text = NULL;
	wchar_t name[256];
	DWORD len = sizeof(name) / sizeof(name[0]);

	out[0] = '\0';
	if (!GetComputerNameExW(ComputerNameDnsHostname, name, &len))
		return;
	text = utf16_to_utf8(name);
	snprintf(out, size, "%s", text);
}

static bool env_is_file(const char *file)
{
	AUTO(mem_drop) wchar_t *wide = utf16_of(file);
	DWORD a = wide ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;

	return a != INVALID_FILE_ATTRIBUTES && !(a & FILE_ATTRIBUTE_DIRECTORY);
}

bool env_is_program(const char *file)
{
	return strpbrk(file, "\\/:") && env_is_file(file);
}

/* Try out, which has len bytes, with the extensions of PATHEXT. A file without an extension is no
 * program: beside npx.cmd lies `npx`, a shell script. */
static bool env_try_extensions(const char *extensions, char *out, size_t len, size_t size)
{
	while (*extensions) {
		size_t n = strcspn(extensions, ";");

		if (n && len + n < size) {
			memcpy(out + len, extensions, n);
			out[len + n] = '\0';
			if (env_is_file(out))
				return true;
		}
		extensions += n + (extensions[n] == ';');
	}
	return false;
}

bool env_find_program(const char *path, const char *name, char *out, size_t size)
{
	const char *extensions = env_get("PATHEXT");

	if (!extensions)
		extensions = ".COM;.EXE;.BAT;.CMD";
	while (path && *path) {
		size_t len = strcspn(path, ";"), quoted = len > 1 && path[0] == '"' ? 1 : 0;
		int n = snprintf(out, size, "%.*s\\%s", (int)(len - 2 * quoted), path + quoted,
				 name);

		if (len > 2 * quoted && n < (int)size &&
		    ((strchr(name, '.') && env_is_file(out)) ||
		     env_try_extensions(extensions, out, (size_t)n, size)))
			return true;
		path += len + (path[len] == ';');
	}
	return false;
}

bool env_find_beside(const char *name, char *out, size_t size)
{
	const DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
			  GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
	AUTO(mem_drop) wchar_t *file = mem_grow(NULL, ENV_PATH_MAX, sizeof(*file));
	AUTO(mem_drop) char *text = NULL;
	HMODULE module = NULL;
	char *slash;
	DWORD len;
	int n;

	/* the DLL, or the program that this library is linked to */
	GetModuleHandleExW(how, (const wchar_t *)(const void *)env_passed, &module);
	len = GetModuleFileNameW(module, file, ENV_PATH_MAX);
	if (!len || len >= ENV_PATH_MAX)
		return false;
	text = utf16_to_utf8(file);
	slash = strrchr(text, '\\');
	if (!slash)
		return false;
	n = snprintf(out, size, "%.*s\\%s.exe", (int)(slash - text), text, name);
	return n < (int)size && env_is_file(out);
}
