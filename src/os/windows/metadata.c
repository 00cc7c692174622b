/* metadata.c - see metadata.h */
#include "os/metadata.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

#include "error.h"
#include "utf16.h"

#define METADATA_EPOCH_MS 11644473600000LL /* from 1601, where Windows begins, to 1970 */

static long long metadata_ms(const FILETIME *t)
{
	unsigned long long units = (unsigned long long)t->dwHighDateTime << 32 | t->dwLowDateTime;

	return units ? (long long)(units / 10000) - METADATA_EPOCH_MS : 0;
}

/* Opened for nothing but its attributes: no other program is disturbed. FILE_FLAG_BACKUP_SEMANTICS
 * lets a directory be opened. */
int metadata_of(const char *path, struct metadata *out)
{
	BY_HANDLE_FILE_INFORMATION info;
	wchar_t *name = utf16_of(path);
	DWORD link;
	HANDLE h;
	int r = 0;

	if (!name)
		return -ENOENT;
	link = GetFileAttributesW(name);
	h = CreateFileW(name, FILE_READ_ATTRIBUTES,
			FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
			FILE_FLAG_BACKUP_SEMANTICS, NULL);
	free(name);
	if (h == INVALID_HANDLE_VALUE)
		return error_of(GetLastError());
	if (!GetFileInformationByHandle(h, &info))
		r = error_of(GetLastError());
	CloseHandle(h);
	if (r < 0)
		return r;
	*out = (struct metadata){
		.directory = info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY,
		.file = !(info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY),
		.symlink = link != INVALID_FILE_ATTRIBUTES && (link & FILE_ATTRIBUTE_REPARSE_POINT),
		.device = info.dwVolumeSerialNumber,
		.inode = (unsigned long long)info.nFileIndexHigh << 32 | info.nFileIndexLow,
		.size = (long long)((unsigned long long)info.nFileSizeHigh << 32 |
				    info.nFileSizeLow),
		.created_ms = metadata_ms(&info.ftCreationTime),
		.modified_ms = metadata_ms(&info.ftLastWriteTime),
	};
	return 0;
}
