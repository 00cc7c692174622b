/* utf16.h - text of Windows (UTF-16) and text of ours (UTF-8).
 *
 * Names of files, variables and arguments need not be valid UTF-16 on Windows; a lone surrogate
 * becomes U+FFFD in UTF-8. Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

/* A copy as UTF-16, for free(); NULL if the text is no UTF-8. */
wchar_t *utf16_of(const char *utf8);
/* A copy as UTF-8, for free(). */
char *utf16_to_utf8(const wchar_t *text);

struct utf16 { /* a text that grows; zero: empty */
	wchar_t *text;
	size_t len, room;
};
void utf16_add_char(struct utf16 *w, wchar_t c);
/* False: the text is no UTF-8 and nothing was added. */
bool utf16_add(struct utf16 *w, const char *utf8);
/* One argument of a command line, quoted as CommandLineToArgvW and the C runtimes read it back; a
 * space before it unless it is the first. */
bool utf16_add_arg(struct utf16 *w, const char *utf8);
void utf16_done(struct utf16 *w);
