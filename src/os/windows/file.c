/* file.c - see file.h: files of the C runtime. A profile directory, where these files are, belongs
 * to its user alone already. */
#include "os/file.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <aclapi.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "error.h"
#include "utf16.h"

#define FILE_PATH_MAX 32768 /* characters of the longest path */
#define SHARE         (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

int file_open(const char *path, enum file_how how)
{
	static const struct {
		DWORD access, creation;
		int flags;
	} kinds[] = {
		[FILE_READ] = { GENERIC_READ, OPEN_EXISTING, _O_RDONLY },
		[FILE_READ_NOW] = { GENERIC_READ, OPEN_EXISTING, _O_RDONLY },
		[FILE_READ_OWN] = { GENERIC_READ, OPEN_EXISTING, _O_RDONLY },
		[FILE_APPEND] = { FILE_APPEND_DATA | SYNCHRONIZE, OPEN_ALWAYS,
				  _O_WRONLY | _O_APPEND },
		[FILE_REPORT] = { FILE_APPEND_DATA | SYNCHRONIZE, OPEN_ALWAYS,
				  _O_WRONLY | _O_APPEND },
		[FILE_PRIVATE] = { GENERIC_WRITE, CREATE_ALWAYS, _O_WRONLY },
	};
	AUTO(mem_drop) wchar_t *wide = utf16_of(path);
	HANDLE h = INVALID_HANDLE_VALUE;
	int fd;

	SetLastError(ERROR_INVALID_NAME);
	if (wide)
		h = CreateFileW(wide, kinds[how].access, SHARE, NULL, kinds[how].creation,
				FILE_ATTRIBUTE_NORMAL, NULL);
	if (h == INVALID_HANDLE_VALUE)
		return error_of(GetLastError());
	fd = _open_osfhandle((intptr_t)h, kinds[how].flags | _O_NOINHERIT | _O_BINARY);
	if (fd >= 0)
		return fd;
	CloseHandle(h);
	return error_of(ERROR_TOO_MANY_OPEN_FILES);
}

int file_copy(int fd)
{
	HANDLE h = (HANDLE)_get_osfhandle(fd), copy;
	int other;

	if (h == INVALID_HANDLE_VALUE ||
	    !DuplicateHandle(GetCurrentProcess(), h, GetCurrentProcess(), &copy, 0, FALSE,
			     DUPLICATE_SAME_ACCESS))
		return -EBADF;
	other = _open_osfhandle((intptr_t)copy, _O_NOINHERIT | _O_BINARY);
	if (other < 0)
		CloseHandle(copy);
	return other < 0 ? -EMFILE : other;
}

/* A program without a console has no standard handles; the C runtime then uses no handle for the
 * numbers, and does not give them to other files. */
bool file_may_hang(int fd)
{
	(void)fd;
	return false;
}

void file_open_standard(void)
{
	for (int fd = FILE_STDIN; fd <= FILE_STDERR; fd++)
		_setmode(fd, _O_BINARY);
}

bool file_has_no_stdin(void)
{
	HANDLE h = GetStdHandle(STD_INPUT_HANDLE);
	DWORD mode;

	if (!h || h == INVALID_HANDLE_VALUE)
		return true;
	/* a character device that is no console is NUL */
	return GetFileType(h) == FILE_TYPE_CHAR && !GetConsoleMode(h, &mode);
}

int file_rename(const char *from, const char *to)
{
	AUTO(mem_drop) wchar_t *a = utf16_of(from), *b = utf16_of(to);

	SetLastError(ERROR_INVALID_NAME);
	return a && b && MoveFileExW(a, b, MOVEFILE_REPLACE_EXISTING) ? 0
								      : error_of(GetLastError());
}

int file_remove(const char *path)
{
	AUTO(mem_drop) wchar_t *wide = utf16_of(path);

	SetLastError(ERROR_INVALID_NAME);
	return wide && DeleteFileW(wide) ? 0 : error_of(GetLastError());
}

int file_make_directory(const char *path)
{
	AUTO(mem_drop) wchar_t *wide = utf16_of(path);

	SetLastError(ERROR_INVALID_NAME);
	return wide && CreateDirectoryW(wide, NULL) ? 0 : error_of(GetLastError());
}

int file_sync(int fd)
{
	return FlushFileBuffers((HANDLE)_get_osfhandle(fd)) ? 0 : error_of(GetLastError());
}

/* The owner is not copied: setting an owner needs a privilege, and the directory of a user belongs
 * to that user. */
int file_copy_rights(int from, int to)
{
	SECURITY_INFORMATION what = DACL_SECURITY_INFORMATION;
	PSECURITY_DESCRIPTOR all = NULL;
	SECURITY_DESCRIPTOR_CONTROL control;
	ACL *rights = NULL;
	DWORD error = GetSecurityInfo((HANDLE)_get_osfhandle(from), SE_FILE_OBJECT, what, NULL,
				      NULL, &rights, NULL, &all);
	DWORD revision;

	if (error)
		return error_of(error);
	if (GetSecurityDescriptorControl(all, &control, &revision))
		what |= control & SE_DACL_PROTECTED ? PROTECTED_DACL_SECURITY_INFORMATION
						    : UNPROTECTED_DACL_SECURITY_INFORMATION;
	error = SetSecurityInfo((HANDLE)_get_osfhandle(to), SE_FILE_OBJECT, what, NULL, NULL,
				rights, NULL);
	LocalFree(all);
	return error ? error_of(error) : 0;
}

bool file_exists(const char *path)
{
	AUTO(mem_drop) wchar_t *wide = utf16_of(path);

	return wide && GetFileAttributesW(wide) != INVALID_FILE_ATTRIBUTES;
}

int file_may_read(const char *path)
{
	int fd = file_open(path, FILE_READ);

	if (fd < 0)
		return fd;
	_close(fd);
	return 0;
}

/* Without the \\?\ of the system: \\?\UNC\server\x becomes \\server\x. */
static int file_take_path(wchar_t *path, char *out, size_t size)
{
	AUTO(mem_drop) char *utf8 = NULL;

	if (wcsncmp(path, L"\\\\?\\UNC\\", 8) == 0) {
		path += 6;
		path[0] = L'\\';
	} else if (wcsncmp(path, L"\\\\?\\", 4) == 0) {
		path += 4;
	}
	utf8 = utf16_to_utf8(path);
	return snprintf(out, size, "%s", utf8) < (int)size ? 0 : -ENAMETOOLONG;
}

int file_real_path(const char *path, char *out, size_t size)
{
	AUTO(mem_drop) wchar_t *wide = utf16_of(path), *real = NULL;
	HANDLE h = INVALID_HANDLE_VALUE;
	DWORD len, error;

	SetLastError(ERROR_INVALID_NAME);
	if (wide)
		h = CreateFileW(wide, FILE_READ_ATTRIBUTES, SHARE, NULL, OPEN_EXISTING,
				FILE_FLAG_BACKUP_SEMANTICS, NULL);
	if (h == INVALID_HANDLE_VALUE)
		return error_of(GetLastError());
	real = mem_grow(NULL, FILE_PATH_MAX, sizeof(*real));
	len = GetFinalPathNameByHandleW(h, real, FILE_PATH_MAX, FILE_NAME_NORMALIZED);
	error = GetLastError();
	CloseHandle(h);
	if (len == 0 || len >= FILE_PATH_MAX)
		return len ? -ENAMETOOLONG : error_of(error);
	return file_take_path(real, out, size);
}

static HANDLE file_find_first(const char *directory, WIN32_FIND_DATAW *out)
{
	size_t size = strlen(directory) + 3;
	AUTO(mem_drop) char *pattern = mem_grow(NULL, size, 1);
	AUTO(mem_drop) wchar_t *wide = NULL;

	snprintf(pattern, size, "%s\\*", directory);
	wide = utf16_of(pattern);
	return wide ? FindFirstFileW(wide, out) : INVALID_HANDLE_VALUE;
}

char **file_names(const char *directory)
{
	WIN32_FIND_DATAW found;
	HANDLE h = file_find_first(directory, &found);
	char **names = NULL;
	size_t count = 0;

	if (h == INVALID_HANDLE_VALUE)
		return NULL;
	do {
		if (wcscmp(found.cFileName, L".") == 0 || wcscmp(found.cFileName, L"..") == 0)
			continue;
		names = mem_grow(names, count + 2, sizeof(*names));
		names[count++] = utf16_to_utf8(found.cFileName);
		names[count] = NULL;
	} while (FindNextFileW(h, &found));
	FindClose(h);
	return names;
}
