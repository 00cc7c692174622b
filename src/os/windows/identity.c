/* identity.c - see identity.h */
#include "os/identity.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <io.h>

#include "base/auto.h"
#include "error.h"
#include "utf16.h"

static int identity_take(HANDLE h, struct identity *out)
{
	BY_HANDLE_FILE_INFORMATION info;
	FILETIME *t = &info.ftLastWriteTime;

	if (!GetFileInformationByHandle(h, &info))
		return error_of(GetLastError());
	*out = (struct identity){
		.volume = info.dwVolumeSerialNumber,
		.number = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow,
		.size = (long long)((uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow),
		.changed_ns =
			(long long)((uint64_t)t->dwHighDateTime << 32 | t->dwLowDateTime) * 100,
		.names = info.nNumberOfLinks,
		.regular = GetFileType(h) == FILE_TYPE_DISK &&
			   !(info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY),
		.read_only = info.dwFileAttributes & FILE_ATTRIBUTE_READONLY,
	};
	return 0;
}

int identity_of_path(const char *path, struct identity *out)
{
	AUTO(mem_drop) wchar_t *wide = utf16_of(path);
	HANDLE h = INVALID_HANDLE_VALUE;
	int r;

	SetLastError(ERROR_INVALID_NAME);
	if (wide)
		h = CreateFileW(wide, FILE_READ_ATTRIBUTES,
				FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
				OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
	if (h == INVALID_HANDLE_VALUE)
		return error_of(GetLastError());
	r = identity_take(h, out);
	CloseHandle(h);
	return r;
}

int identity_of_file(int fd, struct identity *out)
{
	return identity_take((HANDLE)_get_osfhandle(fd), out);
}

bool identity_is_same(const struct identity *a, const struct identity *b)
{
	return a->number && a->number == b->number && a->volume == b->volume;
}

bool identity_is_unchanged(const struct identity *a, const struct identity *b)
{
	return a->number == b->number && a->volume == b->volume && a->size == b->size &&
	       a->changed_ns == b->changed_ns;
}
