/* child.c - see child.h */
#include "child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define CHILD_POLL_MS 5

double child_now_ms(void)
{
	LARGE_INTEGER f, t;

	QueryPerformanceFrequency(&f);
	QueryPerformanceCounter(&t);
	return (double)t.QuadPart * 1e3 / (double)f.QuadPart;
}

void child_own_dir(wchar_t *out, size_t size)
{
	wchar_t *end;

	GetModuleFileNameW(NULL, out, (DWORD)size);
	end = wcsrchr(out, L'\\');
	end[1] = L'\0';
}

bool child_temp_dir(wchar_t *out, size_t size)
{
	wchar_t temp[MAX_PATH];
	LARGE_INTEGER t;

	if (!GetTempPathW(MAX_PATH, temp))
		return false;
	QueryPerformanceCounter(
		&t); /* process ids repeat in Wine, and a killed test leaves its directory */
	swprintf(out, size, L"%lskillick-%lu-%llx", temp, GetCurrentProcessId(), t.QuadPart);
	return CreateDirectoryW(out, NULL);
}

char *child_utf8(const wchar_t *text, char *out, size_t size)
{
	if (!WideCharToMultiByte(CP_UTF8, 0, text, -1, out, (int)size, NULL, NULL))
		out[size - 1] = '\0';
	return out;
}

static bool child_add(wchar_t *line, size_t size, wchar_t c, size_t times)
{
	size_t len = wcslen(line);

	if (len + times + 1 > size)
		return false;
	while (times--)
		line[len++] = c;
	line[len] = L'\0';
	return true;
}

bool child_quote(wchar_t *line, size_t size, const wchar_t *word)
{
	bool ok = !*line || child_add(line, size, L' ', 1);
	size_t slashes = 0;

	ok = ok && child_add(line, size, L'"', 1);
	for (; ok && *word; word++) {
		if (*word == L'"') /* double the backslashes in front of the quote, and escape it */
			ok = child_add(line, size, L'\\', slashes + 1);
		slashes = *word == L'\\' ? slashes + 1 : 0;
		ok = ok && child_add(line, size, *word, 1);
	}
	return ok && child_add(line, size, L'\\', slashes) && child_add(line, size, L'"', 1);
}

/* The ends of two pipes and NUL: child ends may be inherited, the others not. */
static bool child_pipes(struct child *c, HANDLE ends[3])
{
	SECURITY_ATTRIBUTES inherit = { sizeof(inherit), NULL, TRUE };

	return CreatePipe(&ends[0], &c->in, &inherit, 0) &&
	       CreatePipe(&c->out, &ends[1], &inherit, 0) &&
	       SetHandleInformation(c->in, HANDLE_FLAG_INHERIT, 0) &&
	       SetHandleInformation(c->out, HANDLE_FLAG_INHERIT, 0) &&
	       (ends[2] = CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE,
				      FILE_SHARE_READ | FILE_SHARE_WRITE, &inherit, OPEN_EXISTING,
				      0, NULL)) != INVALID_HANDLE_VALUE;
}

static BOOL child_create(struct child *c, const struct child_spec *spec, HANDLE ends[3])
{
	STARTUPINFOEXW si = { .StartupInfo = { .cb = sizeof(si),
					       .dwFlags = STARTF_USESTDHANDLES } };
	PROCESS_INFORMATION pi;
	SIZE_T size = 0;
	DWORD flags = EXTENDED_STARTUPINFO_PRESENT | CREATE_UNICODE_ENVIRONMENT | spec->flags;
	wchar_t *line = _wcsdup(spec->line);
	BOOL ok;

	InitializeProcThreadAttributeList(NULL, 1, 0, &size);
	si.lpAttributeList = calloc(1, size);
	InitializeProcThreadAttributeList(si.lpAttributeList, 1, 0, &size);
	UpdateProcThreadAttribute(si.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, ends,
				  3 * sizeof(*ends), NULL, NULL);
	si.StartupInfo.hStdInput = ends[0];
	si.StartupInfo.hStdOutput = ends[1];
	si.StartupInfo.hStdError = spec->hear_errors ? ends[1] : ends[2];
	ok = CreateProcessW(spec->program, line, NULL, NULL, TRUE, flags, (void *)spec->env,
			    spec->cwd, &si.StartupInfo, &pi);
	if (ok) {
		CloseHandle(pi.hThread);
		c->process = pi.hProcess;
		c->pid = pi.dwProcessId;
	}
	DeleteProcThreadAttributeList(si.lpAttributeList);
	free(si.lpAttributeList);
	free(line);
	return ok;
}

DWORD child_start(struct child *c, const struct child_spec *spec)
{
	HANDLE ends[3] = { NULL, NULL, NULL };
	DWORD error = 0;

	memset(c, 0, sizeof(*c));
	if (!child_pipes(c, ends) || !child_create(c, spec, ends))
		error = GetLastError();
	for (int i = 0; i < 3; i++)
		if (ends[i] && ends[i] != INVALID_HANDLE_VALUE)
			CloseHandle(ends[i]);
	if (error)
		child_done(c);
	return error;
}

bool child_tell(struct child *c, const char *text)
{
	DWORD n;

	return c->in && WriteFile(c->in, text, (DWORD)strlen(text), &n, NULL);
}

static bool child_take_line(struct child *c, char *out, size_t size, bool last)
{
	char *end = memchr(c->heard, '\n', c->heard_len);
	size_t len = end ? (size_t)(end - c->heard) : c->heard_len;
	size_t used = end ? len + 1 : len;

	if (!end && c->heard_len < sizeof(c->heard) && !(last && c->heard_len))
		return false;
	if (len && c->heard[len - 1] == '\r')
		len--;
	if (len >= size)
		len = size - 1;
	memcpy(out, c->heard, len);
	out[len] = '\0';
	memmove(c->heard, c->heard + used, c->heard_len - used);
	c->heard_len -= used;
	return true;
}

bool child_hear(struct child *c, char *out, size_t size, DWORD ms)
{
	double until = child_now_ms() + ms;
	DWORD n;

	for (;;) {
		if (child_take_line(c, out, size, false))
			return true;
		/* a peek, because a read of an anonymous pipe has no deadline */
		n = 1;
		if (ms != INFINITE && !PeekNamedPipe(c->out, NULL, 0, NULL, &n, NULL))
			return child_take_line(c, out, size, true);
		if (n > 0) {
			DWORD room = (DWORD)(sizeof(c->heard) - c->heard_len);

			if (!ReadFile(c->out, c->heard + c->heard_len, room, &n, NULL))
				return child_take_line(c, out, size, true);
			c->heard_len += n;
		} else if (child_now_ms() > until) {
			return false;
		} else {
			Sleep(CHILD_POLL_MS);
		}
	}
}

void child_close_in(struct child *c)
{
	if (c->in)
		CloseHandle(c->in);
	c->in = NULL;
}

void child_done(struct child *c)
{
	child_close_in(c);
	if (c->out)
		CloseHandle(c->out);
	if (c->process)
		CloseHandle(c->process);
	c->out = c->process = NULL;
}
