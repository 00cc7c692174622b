/* content.c - see content.h */
#include "os/content.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

#include "error.h"
#include "utf16.h"

/* A name such as COM1 or \\.\pipe\x is a device: GetFileType says so without a read. */
int content_open(const char *path, struct content *out)
{
	wchar_t *name = utf16_of(path);
	DWORD attributes;
	LARGE_INTEGER size;
	HANDLE h;
	int r = 0;

	if (!name)
		return -ENOENT;
	attributes = GetFileAttributesW(name);
	if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY)) {
		free(name);
		return -EBADF;
	}
	h = CreateFileW(name, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
			NULL, OPEN_EXISTING, FILE_FLAG_SEQUENTIAL_SCAN, NULL);
	free(name);
	if (h == INVALID_HANDLE_VALUE)
		return error_of(GetLastError());
	if (GetFileType(h) != FILE_TYPE_DISK)
		r = -EBADF;
	else if (!GetFileSizeEx(h, &size))
		r = error_of(GetLastError());
	if (r < 0)
		CloseHandle(h);
	else
		*out = (struct content){ .file = (intptr_t)h, .size = size.QuadPart };
	return r;
}

ssize_t content_read(struct content *c, void *out, size_t size)
{
	DWORD n = 0;

	if (!ReadFile((HANDLE)c->file, out, size > 1u << 30 ? 1u << 30 : (DWORD)size, &n, NULL))
		return GetLastError() == ERROR_HANDLE_EOF ? 0 : error_of(GetLastError());
	return (ssize_t)n;
}

void content_close(struct content *c)
{
	if (c->file != -1)
		CloseHandle((HANDLE)c->file);
	c->file = -1;
}
