/* utf16.c - see utf16.h */
#include "utf16.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <stdlib.h>

#include "base/mem.h"

wchar_t *utf16_of(const char *utf8)
{
	int len = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8, -1, NULL, 0);
	wchar_t *out;

	if (len <= 0)
		return NULL;
	out = mem_grow(NULL, (size_t)len, sizeof(*out));
	MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8, -1, out, len);
	return out;
}

char *utf16_to_utf8(const wchar_t *text)
{
	int len = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
	char *out = mem_grow(NULL, len > 0 ? (size_t)len : 1, 1);

	out[0] = '\0';
	WideCharToMultiByte(CP_UTF8, 0, text, -1, out, len, NULL, NULL);
	return out;
}

void utf16_add_char(struct utf16 *w, wchar_t c)
{
	if (w->len + 2 > w->room) {
		w->room = w->room ? 2 * w->room : 256;
		w->text = mem_grow(w->text, w->room, sizeof(*w->text));
	}
	w->text[w->len++] = c;
	w->text[w->len] = L'\0';
}

bool utf16_add(struct utf16 *w, const char *utf8)
{
	wchar_t *text = utf16_of(utf8);

	if (!text)
		return false;
	for (const wchar_t *p = text; *p; p++)
		utf16_add_char(w, *p);
	free(text);
	return true;
}

static void utf16_add_slashes(struct utf16 *w, size_t count)
{
	while (count--)
		utf16_add_char(w, L'\\');
}

/* Backslashes are plain characters, except in front of a quote: there each is doubled. */
bool utf16_add_arg(struct utf16 *w, const char *utf8)
{
	wchar_t *text = utf16_of(utf8);
	size_t slashes = 0;

	if (!text)
		return false;
	if (w->len)
		utf16_add_char(w, L' ');
	utf16_add_char(w, L'"');
	for (const wchar_t *p = text; *p; p++) {
		if (*p == L'"')
			utf16_add_slashes(w, slashes + 1);
		slashes = *p == L'\\' ? slashes + 1 : 0;
		utf16_add_char(w, *p);
	}
	utf16_add_slashes(w, slashes);
	utf16_add_char(w, L'"');
	free(text);
	return true;
}

void utf16_done(struct utf16 *w)
{
	free(w->text);
	*w = (struct utf16){ .text = NULL };
}
