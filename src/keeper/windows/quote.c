/* quote.c - see quote.h */
#include "quote.h"

static void quote_char(struct quote *q, wchar_t c)
{
	if (q->len + 2 > q->room) {
		q->failed = true;
		return;
	}
	q->text[q->len++] = c;
	q->text[q->len] = L'\0';
}

static void quote_times(struct quote *q, wchar_t c, size_t times)
{
	while (times-- > 0)
		quote_char(q, c);
}

void quote_add(struct quote *q, const wchar_t *text)
{
	while (*text)
		quote_char(q, *text++);
}

/* Backslashes are plain, except in front of a quote: there each of them needs another one, and the
 * quote needs one as well. */
void quote_native(struct quote *q, const wchar_t *arg)
{
	size_t slashes = 0;

	quote_char(q, L' ');
	if (*arg && !wcspbrk(arg, L" \t\n\v\r\"")) {
		quote_add(q, arg);
		return;
	}
	quote_char(q, L'"');
	for (; *arg; arg++) {
		if (*arg == L'"')
			quote_times(q, L'\\', slashes + 1);
		slashes = *arg == L'\\' ? slashes + 1 : 0;
		quote_char(q, *arg);
	}
	quote_times(q, L'\\', slashes);
	quote_char(q, L'"');
}

/* cmd.exe replaces %NAME% also in quotes, and has no escape for it on a command line. But the
 * variable part in "%%cd:~,%" is empty text: `%` and then nothing is left of it, and no name can
 * begin there. */
static void quote_percent(struct quote *q)
{
	quote_add(q, L"%%cd:~,%");
}

/* Characters that mean nothing to cmd.exe and do not separate the arguments of a batch file. */
static bool is_plain(wchar_t c)
{
	if (c >= 0x80)
		return c >= 0xa0; /* below are control characters */
	return (c >= L'0' && c <= L'9') || (c >= L'A' && c <= L'Z') || (c >= L'a' && c <= L'z') ||
	       (c && wcschr(L"#$*+-./:?@\\_", c));
}

static bool quote_is_needed(const wchar_t *arg)
{
	size_t len = wcslen(arg);

	/* a backslash at the end may meet the quote of the batch file's own "%1" */
	if (len == 0 || arg[len - 1] == L'\\')
		return true;
	for (; *arg; arg++)
		if (!is_plain(*arg))
			return true;
	return false;
}

/* A quote becomes two of them, which cmd.exe and the programs of a batch file both understand: the
 * part between stays in quotes for cmd.exe. */
bool quote_batch(struct quote *q, const wchar_t *arg)
{
	bool needed = quote_is_needed(arg);
	size_t slashes = 0;

	if (wcspbrk(arg, L"\r\n")) /* the line would end there */
		return false;
	quote_char(q, L' ');
	if (needed)
		quote_char(q, L'"');
	for (; *arg; arg++) {
		if (*arg == L'"') {
			quote_times(q, L'\\', slashes);
			quote_char(q, L'"');
		}
		slashes = *arg == L'\\' ? slashes + 1 : 0;
		if (*arg == L'%')
			quote_percent(q);
		else
			quote_char(q, *arg);
	}
	if (needed) {
		quote_times(q, L'\\', slashes);
		quote_char(q, L'"');
	}
	return true;
}

void quote_batch_path(struct quote *q, const wchar_t *path)
{
	quote_char(q, L'"');
	for (; *path; path++) {
		if (*path == L'%')
			quote_percent(q);
		else
			quote_char(q, *path);
	}
	quote_char(q, L'"');
}
