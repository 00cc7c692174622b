/* win.c - see win.h */
#include "win.h"

#include <stdio.h>

#include "wide.h"

const char *win_error(DWORD error)
{
	static char out[300];
	wchar_t wide[120];
	char text[240] = "";
	DWORD n = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL,
				 error, 0, wide, sizeof(wide) / sizeof(wide[0]), NULL);

	/* the texts of Windows end with ".\r\n" */
	while (n > 0 && (wide[n - 1] <= L' ' || wide[n - 1] == L'.'))
		wide[--n] = L'\0';
	if (n == 0 || wide_to_utf8(wide, text, sizeof(text)) > sizeof(text))
		snprintf(out, sizeof(out), "error %lu", error);
	else
		snprintf(out, sizeof(out), "%s (error %lu)", text, error);
	return out;
}
