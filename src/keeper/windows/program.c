/* program.c - see program.h */
#include "program.h"

#include <stdbool.h>
#include <stddef.h>

#include "win.h"

static const struct {
	const wchar_t *text;
	enum program_kind kind;
} program_extensions[] = {
	{ L".exe", PROGRAM_NATIVE },
	{ L".com", PROGRAM_NATIVE },
	{ L".bat", PROGRAM_BATCH },
	{ L".cmd", PROGRAM_BATCH },
};
#define EXTENSIONS (sizeof(program_extensions) / sizeof(program_extensions[0]))

/* `len` characters of text: an extension with its dot. */
static enum program_kind program_kind_of(const wchar_t *text, size_t len)
{
	for (size_t i = 0; i < EXTENSIONS; i++)
		if (len == wcslen(program_extensions[i].text) &&
		    _wcsnicmp(text, program_extensions[i].text, len) == 0)
			return program_extensions[i].kind;
	return PROGRAM_OTHER;
}

/* base[0..len) and an extension as a full path in `out`, if there is such a file. Windows drops
 * spaces and dots at the end of a name ("x.bat. ." is x.bat), so the kind is that of the full path.
 */
static enum program_kind program_look(wchar_t *base, size_t len, const wchar_t *extension,
				      size_t extension_len, wchar_t out[PROGRAM_MAX])
{
	static wchar_t full[PROGRAM_MAX];
	wchar_t *name = NULL, *dot;
	DWORD n, attributes;

	if (len + extension_len >= PROGRAM_MAX)
		return PROGRAM_NONE;
	wmemcpy(base + len, extension, extension_len);
	base[len + extension_len] = L'\0';
	n = GetFullPathNameW(base, PROGRAM_MAX, full, &name);
	base[len] = L'\0';
	if (n == 0 || n >= PROGRAM_MAX)
		return PROGRAM_NONE;
	attributes = GetFileAttributesW(full);
	if (attributes == INVALID_FILE_ATTRIBUTES || (attributes & FILE_ATTRIBUTE_DIRECTORY))
		return PROGRAM_NONE;
	wmemcpy(out, full, n + 1);
	dot = name ? wcsrchr(name, L'.') : NULL;
	return dot ? program_kind_of(dot, wcslen(dot)) : PROGRAM_OTHER;
}

/* As it is, then with each extension of PATHEXT that a program can have. */
static enum program_kind program_try(wchar_t *base, wchar_t out[PROGRAM_MAX])
{
	static const wchar_t usual[] = L".COM;.EXE;.BAT;.CMD";
	static wchar_t extensions[PROGRAM_MAX];
	size_t len = wcslen(base), n;
	enum program_kind found = program_look(base, len, L"", 0, out), kind;
	DWORD got;

	if (found == PROGRAM_NATIVE || found == PROGRAM_BATCH)
		return found;
	got = GetEnvironmentVariableW(L"PATHEXT", extensions, PROGRAM_MAX);
	if (got == 0 || got >= PROGRAM_MAX) /* clients pass only a few variables on */
		wmemcpy(extensions, usual, sizeof(usual) / sizeof(usual[0]));
	for (const wchar_t *e = extensions; *e; e += n + (e[n] == L';')) {
		n = wcscspn(e, L";");
		if (program_kind_of(e, n) == PROGRAM_OTHER)
			continue;
		kind = program_look(base, len, e, n, out);
		if (kind != PROGRAM_NONE)
			return kind;
	}
	return found;
}

/* Copy the next directory of a PATH, without the quotes that may be around a part of it. Returns
 * the rest of the PATH. */
static const wchar_t *program_next_dir(const wchar_t *path, wchar_t dir[PROGRAM_MAX])
{
	bool quoted = false;
	size_t len = 0;

	for (; *path && (quoted || *path != L';'); path++) {
		if (*path == L'"')
			quoted = !quoted;
		else
			dir[len++] = *path;
	}
	dir[len] = L'\0';
	return *path ? path + 1 : path;
}

static bool program_is_absolute(const wchar_t *dir)
{
	wchar_t letter = dir[0] | 0x20;

	if (dir[0] == L'\\' && dir[1] == L'\\')
		return true;
	return letter >= L'a' && letter <= L'z' && dir[1] == L':' &&
	       (dir[2] == L'\\' || dir[2] == L'/');
}

static enum program_kind program_search(const wchar_t *word, wchar_t out[PROGRAM_MAX])
{
	static wchar_t path[PROGRAM_MAX], base[PROGRAM_MAX], other[PROGRAM_MAX];
	DWORD got = GetEnvironmentVariableW(L"PATH", path, PROGRAM_MAX);
	enum program_kind found = PROGRAM_NONE, kind;
	const wchar_t *rest = got < PROGRAM_MAX ? path : L"";

	while (got && *rest) {
		size_t len;

		rest = program_next_dir(rest, base);
		len = wcslen(base);
		if (!program_is_absolute(base) || len + 1 + wcslen(word) >= PROGRAM_MAX)
			continue;
		base[len] = L'\\';
		wmemcpy(base + len + 1, word, wcslen(word) + 1);
		kind = program_try(base, found == PROGRAM_NONE ? out : other);
		if (kind == PROGRAM_NATIVE || kind == PROGRAM_BATCH) {
			if (found != PROGRAM_NONE)
				wmemcpy(out, other, wcslen(other) + 1);
			return kind;
		}
		if (found == PROGRAM_NONE)
			found = kind;
	}
	return found;
}

enum program_kind program_find(const wchar_t *word, wchar_t out[PROGRAM_MAX])
{
	static wchar_t base[PROGRAM_MAX];

	if (!wcspbrk(word, L"\\/:"))
		return program_search(word, out);
	if (wcslen(word) >= PROGRAM_MAX)
		return PROGRAM_NONE;
	wmemcpy(base, word, wcslen(word) + 1);
	return program_try(base, out);
}
