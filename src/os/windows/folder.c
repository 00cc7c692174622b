/* folder.c - see folder.h: the directory is kept open without the right to share its removal, so
 * its path stays valid. */
#include "os/folder.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "error.h"
#include "os/file.h"
#include "utf16.h"

int folder_open(const char *path, enum folder_how how, struct folder *out)
{
	DWORD link = how == FOLDER_NO_LINK ? FILE_FLAG_OPEN_REPARSE_POINT : 0;
	AUTO(mem_drop) wchar_t *wide = utf16_of(path);
	HANDLE h = INVALID_HANDLE_VALUE;
	BY_HANDLE_FILE_INFORMATION info;

	*out = (struct folder)FOLDER_INIT;
	if (how == FOLDER_NO_LINKS)
		return -ENOSYS;
	SetLastError(ERROR_INVALID_NAME);
	if (wide)
		h = CreateFileW(wide, FILE_LIST_DIRECTORY, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
				OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | link, NULL);
	if (h == INVALID_HANDLE_VALUE)
		return error_of(GetLastError());
	if (!GetFileInformationByHandle(h, &info) ||
	    !(info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) ||
	    (link && info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)) {
		CloseHandle(h);
		return -ENOTDIR;
	}
	*out = (struct folder){ .handle = (intptr_t)h, .path = mem_dup(path) };
	return 0;
}

int folder_copy(const struct folder *f, struct folder *out)
{
	return folder_open(f->path, FOLDER_FOLLOW, out);
}

/* The path of a name in the directory. */
static char *folder_join(const struct folder *f, const char *name)
{
	size_t size = strlen(f->path) + strlen(name) + 2;
	char *path = mem_grow(NULL, size, 1);

	snprintf(path, size, "%s\\%s", f->path, name);
	return path;
}

static int folder_open_file(const struct folder *f, const char *name, DWORD access, DWORD creation,
			    int flags)
{
	AUTO(mem_drop) char *path = folder_join(f, name);
	AUTO(mem_drop) wchar_t *wide = utf16_of(path);
	HANDLE h = INVALID_HANDLE_VALUE;
	int fd;

	SetLastError(ERROR_INVALID_NAME);
	if (wide)
		h = CreateFileW(
			wide, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
			creation, FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	if (h == INVALID_HANDLE_VALUE)
		return error_of(GetLastError());
	fd = _open_osfhandle((intptr_t)h, flags | _O_NOINHERIT | _O_BINARY);
	if (fd < 0)
		CloseHandle(h);
	return fd < 0 ? -EMFILE : fd;
}

/* Access to the DACL as well, for file_copy_rights. */
int folder_read(const struct folder *f, const char *name)
{
	return folder_open_file(f, name, GENERIC_READ, OPEN_EXISTING, _O_RDONLY);
}

int folder_create(const struct folder *f, const char *name)
{
	return folder_open_file(f, name, GENERIC_WRITE | READ_CONTROL | WRITE_DAC, CREATE_NEW,
				_O_WRONLY);
}

int folder_write(const struct folder *f, const char *name)
{
	AUTO(mem_drop) char *path = folder_join(f, name);
	AUTO(mem_drop) wchar_t *wide = utf16_of(path);
	DWORD is = wide ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
	int fd;

	if (is != INVALID_FILE_ATTRIBUTES &&
	    is & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT))
		return -EBADF;
	fd = folder_open_file(f, name, GENERIC_WRITE, OPEN_ALWAYS, _O_WRONLY);
	if (fd < 0)
		return fd;
	if (GetFileType((HANDLE)_get_osfhandle(fd)) == FILE_TYPE_DISK &&
	    SetEndOfFile((HANDLE)_get_osfhandle(fd)))
		return fd;
	_close(fd);
	return -EBADF;
}

int folder_make_directory(const struct folder *f, const char *name)
{
	AUTO(mem_drop) char *path = folder_join(f, name);
	AUTO(mem_drop) wchar_t *wide = utf16_of(path);

	SetLastError(ERROR_INVALID_NAME);
	return wide && CreateDirectoryW(wide, NULL) ? 0 : error_of(GetLastError());
}

int folder_create_unnamed(const struct folder *f)
{
	(void)f;
	return -EOPNOTSUPP;
}

int folder_give_name(const struct folder *f, int fd, const char *name)
{
	(void)f, (void)fd, (void)name;
	return -EOPNOTSUPP;
}

bool folder_has(const struct folder *f, const char *name)
{
	AUTO(mem_drop) char *path = folder_join(f, name);

	return file_exists(path);
}

int folder_remove(const struct folder *f, const char *name)
{
	AUTO(mem_drop) char *path = folder_join(f, name);

	return file_remove(path);
}

int folder_remove_directory(const struct folder *f, const char *name)
{
	AUTO(mem_drop) char *path = folder_join(f, name);
	AUTO(mem_drop) wchar_t *wide = utf16_of(path);

	SetLastError(ERROR_INVALID_NAME);
	return wide && RemoveDirectoryW(wide) ? 0 : error_of(GetLastError());
}

int folder_rename(const struct folder *f, const char *from, const char *to)
{
	AUTO(mem_drop) char *a = folder_join(f, from), *b = folder_join(f, to);

	return file_rename(a, b);
}

/* The file system of Windows writes names in its log; there is nothing to ask for. */
void folder_sync(const struct folder *f)
{
	(void)f;
}

void folder_close(struct folder *f)
{
	if (f->handle != -1)
		CloseHandle((HANDLE)f->handle);
	mem_drop(&f->path);
	f->handle = -1;
}
