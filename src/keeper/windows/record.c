/* record.c - see record.h */
#include "record.h"

#include <stdarg.h>
#include <stdio.h>

#include "line_handle.h"
#include "program.h"
#include "wide.h"

#define RECORD_TEXT_MAX 8192

/* The directory of records, without a backslash at its end; made if it is missing. */
static DWORD record_dir(wchar_t out[PROGRAM_MAX])
{
	static const wchar_t *const below[] = { L"\\killick", L"\\trees" };
	DWORD n = GetEnvironmentVariableW(L"" RECORD_ENV, out, PROGRAM_MAX - 64);

	if (n > 0 && n < PROGRAM_MAX - 64)
		return CreateDirectoryW(out, NULL) || GetLastError() == ERROR_ALREADY_EXISTS
			       ? 0
			       : GetLastError();
	n = GetEnvironmentVariableW(L"LOCALAPPDATA", out, PROGRAM_MAX - 64);
	if (n == 0 || n >= PROGRAM_MAX - 64)
		return ERROR_ENVVAR_NOT_FOUND;
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		size_t len = wcslen(below[i]);

		wmemcpy(out + n, below[i], len + 1);
		n += (DWORD)len;
		if (!CreateDirectoryW(out, NULL) && GetLastError() != ERROR_ALREADY_EXISTS)
			return GetLastError();
	}
	return 0;
}

struct who record_who(HANDLE process, DWORD pid)
{
	FILETIME made, gone, kernel, user;
	struct who w = { .pid = (int)pid };

	if (GetProcessTimes(process, &made, &gone, &kernel, &user))
		w.start = (unsigned long long)made.dwHighDateTime << 32 | made.dwLowDateTime;
	return w;
}

DWORD record_open(struct record_file *f, const struct record *rec)
{
	static wchar_t path[PROGRAM_MAX];
	static struct line l;
	wchar_t id[TREE_ID_LEN + 1];
	DWORD error = record_dir(path);
	size_t len = wcslen(path);
	HANDLE h;

	if (error)
		return error;
	wide_from_utf8(rec->tree, id, TREE_ID_LEN + 1);
	path[len] = L'\\';
	wmemcpy(path + len + 1, id, TREE_ID_LEN + 1);
	h = CreateFileW(path, FILE_APPEND_DATA | SYNCHRONIZE | DELETE,
			FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, CREATE_NEW,
			FILE_ATTRIBUTE_NORMAL | FILE_FLAG_DELETE_ON_CLOSE, NULL);
	if (h == INVALID_HANDLE_VALUE)
		return GetLastError();
	f->handle = h;
	line_init(&l);
	line_add(&l,
		 RECORD_FIRST_LINE "tree=%s\nowner=%d %llu\nwatch=%d %llu\ngrace_ms=%u\n"
				   "started_ms=%lld\n",
		 rec->tree, rec->owner.pid, rec->owner.start, rec->watch.pid, rec->watch.start,
		 rec->grace_ms, rec->started_ms);
	line_write(&l, h);
	return 0;
}

void record_add(const struct record_file *f, const char *key, const char *fmt, ...)
{
	static struct line l;
	va_list ap;

	if (!f->handle)
		return;
	va_start(ap, fmt);
	record_line(&l, key, fmt, ap);
	va_end(ap);
	line_write(&l, f->handle);
}

/* --- reading --- */

static bool record_is_id(const wchar_t *name)
{
	return wcslen(name) == TREE_ID_LEN && wcsspn(name, L"0123456789abcdef") == TREE_ID_LEN;
}

static bool record_read(const wchar_t *path, struct record *out)
{
	static char text[RECORD_TEXT_MAX];
	HANDLE h = CreateFileW(path, GENERIC_READ,
			       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
			       OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	DWORD n = 0;
	bool done;

	if (h == INVALID_HANDLE_VALUE)
		return false;
	done = GetFileType(h) == FILE_TYPE_DISK && ReadFile(h, text, sizeof(text) - 1, &n, NULL);
	CloseHandle(h);
	text[n] = '\0';
	return done && record_parse(text, out) == 0;
}

/* Is the process that wrote the record alive? A process that may not be asked counts as alive. */
static bool record_is_kept(const struct record *rec)
{
	HANDLE h = OpenProcess(SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION, FALSE,
			       (DWORD)rec->watch.pid);
	bool kept;

	if (!h)
		return GetLastError() == ERROR_ACCESS_DENIED;
	kept = WaitForSingleObject(h, 0) == WAIT_TIMEOUT &&
	       record_who(h, 0).start == rec->watch.start;
	CloseHandle(h);
	return kept;
}

static int record_visit(const wchar_t *path, record_fn fn, void *ctx)
{
	static struct record rec;

	if (!record_read(path, &rec)) /* it is being written, or has just been removed */
		return 0;
	rec.kept = record_is_kept(&rec);
	if (rec.kept)
		return fn(ctx, &rec);
	DeleteFileW(path);
	return 0;
}

int record_each(record_fn fn, void *ctx)
{
	static wchar_t path[PROGRAM_MAX];
	WIN32_FIND_DATAW found;
	DWORD error = record_dir(path);
	size_t len = wcslen(path);
	HANDLE search;
	int r = 0;

	if (error)
		return -(int)error;
	wmemcpy(path + len, L"\\*", 3);
	search = FindFirstFileW(path, &found);
	if (search == INVALID_HANDLE_VALUE)
		return -(int)GetLastError();
	do {
		if (!record_is_id(found.cFileName))
			continue;
		wmemcpy(path + len + 1, found.cFileName, TREE_ID_LEN + 1);
		r = record_visit(path, fn, ctx);
	} while (r == 0 && FindNextFileW(search, &found));
	FindClose(search);
	return r;
}
