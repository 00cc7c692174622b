/* quote.h - a command line that gives a program its arguments unchanged.
 *
 * Windows passes one text to a new process, which splits the text itself. Programs split it by the
 * rules of Microsoft's C runtime. A batch file is run by cmd.exe, which reads the whole text as a
 * line of its own language first: characters such as & | % and " mean something there, and an
 * argument could start another program (CVE-2024-24576).
 *
 * Life: QUOTE_INIT -> quote_... -> `failed` says whether the text is usable.
 * Threads: one per line.  Blocking: never.  Allocates: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

struct quote {
	wchar_t *text; /* the caller's memory of `room` characters; always with a NUL */
	size_t len, room;
	bool failed; /* the text does not fit */
};
static inline struct quote quote_init(wchar_t *text, size_t room)
{
	text[0] = L'\0';
	return (struct quote){ .text = text, .room = room };
}

void quote_add(struct quote *q, const wchar_t *text);

/* One argument for a program; with a space in front. */
void quote_native(struct quote *q, const wchar_t *arg);

/* One argument for a batch file; with a space in front. False: no quoting makes it arrive
 * unchanged. */
bool quote_batch(struct quote *q, const wchar_t *arg);

/* The path of a batch file, in quotes, as the first word of the line for cmd.exe. */
void quote_batch_path(struct quote *q, const wchar_t *path);
