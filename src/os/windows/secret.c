/* secret.c - see secret.h */
#include "os/secret.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

#include "error.h"
#include "utf16.h"

ssize_t secret_read(const char *file, char *out, size_t size)
{
	wchar_t *name = utf16_of(file);
	DWORD n = 0;
	HANDLE h;
	int r = 0;

	if (!name)
		return -ENOENT;
	h = CreateFileW(name, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING,
			0, NULL);
	free(name);
	if (h == INVALID_HANDLE_VALUE)
		return error_of(GetLastError());
	if (!ReadFile(h, out, (DWORD)size, &n, NULL) && GetLastError() != ERROR_BROKEN_PIPE)
		r = error_of(GetLastError());
	CloseHandle(h);
	return r < 0 ? r : (ssize_t)n;
}

void secret_wipe(void *bytes, size_t len)
{
	SecureZeroMemory(bytes, len);
}
