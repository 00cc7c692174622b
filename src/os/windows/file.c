/* file.c - see file.h: files of the C runtime. A profile directory, where these files are, belongs
 * to its user alone already. */
#include "os/file.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <stdlib.h>

#include "base/auto.h"
#include "error.h"
#include "utf16.h"

#define SHARE (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

int file_open(const char *path, enum file_how how)
{
	static const struct {
		DWORD access, creation;
		int flags;
	} kinds[] = {
		[FILE_READ] = { GENERIC_READ, OPEN_EXISTING, _O_RDONLY },
		[FILE_READ_NOW] = { GENERIC_READ, OPEN_EXISTING, _O_RDONLY },
		[FILE_APPEND] = { FILE_APPEND_DATA | SYNCHRONIZE, OPEN_ALWAYS,
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
