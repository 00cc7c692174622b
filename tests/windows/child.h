/* child.h - a child process of a test program, with pipes to its standard input and output.
 *
 * Life: child_start -> child_tell, child_hear -> child_done. The child inherits these pipes and
 * nothing else of this process. Threads: one at a time per child; different threads may start
 * children at the same time.
 */
#pragma once

#include <windows.h>
#include <stdbool.h>

struct child {
	HANDLE process;
	DWORD pid;
	HANDLE in, out; /* writing end of its stdin, reading end of its stdout; NULL: closed */
	char heard[4096];
	size_t heard_len;
};

struct child_spec {
	const wchar_t *program; /* NULL: the first word of line, as CreateProcess finds it */
	const wchar_t *line;
	const wchar_t *cwd,
		*env;     /* NULL: as this process; env: a block of CREATE_UNICODE_ENVIRONMENT */
	DWORD flags;      /* of CreateProcess */
	bool hear_errors; /* stderr goes to the same pipe as stdout; otherwise to NUL */
};

/* 0, or the error of Windows; then nothing was started. */
DWORD child_start(struct child *c, const struct child_spec *spec);
bool child_tell(struct child *c, const char *text);
/* The next line without its end. False: end of file (a last line without an end counts as a line),
 * or nothing came for ms milliseconds. */
bool child_hear(struct child *c, char *out, size_t size, DWORD ms);
void child_close_in(struct child *c);
/* Close what is open. The process is left alone. May be called twice. */
void child_done(struct child *c);

/* One word more for a command line, as the C runtime of the child reads it back. False: no room. */
bool child_quote(wchar_t *line, size_t size, const wchar_t *word);

/* Milliseconds since some moment, with fractions. */
double child_now_ms(void);
/* The directory of this program, with a backslash at the end. */
void child_own_dir(wchar_t *out, size_t size);
/* Make a new directory for temporary files. False: not possible. */
bool child_temp_dir(wchar_t *out, size_t size);
/* UTF-8, cut where size ends. Returns out. */
char *child_utf8(const wchar_t *text, char *out, size_t size);
