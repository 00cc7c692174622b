/* relay.c - start a program with pipes of Windows and copy lines between them and this program's
 * own.
 *
 * relay PROGRAM [ARG...]
 *
 * node.exe cannot use the pipes of Linux that Wine hands to the first program. This program can.
 */
#include <windows.h>
#include <stdio.h>
#include <wchar.h>

#include "child.h"

#define LINE_ROOM 32768

static DWORD WINAPI relay_input(void *arg)
{
	static char line[65536];

	while (fgets(line, sizeof(line), stdin))
		child_tell(arg, line);
	child_close_in(arg);
	return 0;
}

int wmain(int argc, wchar_t **argv); /* the C runtime declares none */

int wmain(int argc, wchar_t **argv)
{
	static wchar_t line[LINE_ROOM];
	static char text[65536];
	struct child c;
	DWORD code = 70;

	for (int i = 1; i < argc; i++)
		child_quote(line, LINE_ROOM, argv[i]);
	if (argc < 2 ||
	    child_start(&c, &(struct child_spec){ .line = line, .hear_errors = true })) {
		fprintf(stderr, "relay: cannot start '%ls'\n", argc < 2 ? L"" : argv[1]);
		return 69;
	}
	CloseHandle(CreateThread(NULL, 0, relay_input, &c, 0, NULL));
	while (child_hear(&c, text, sizeof(text), INFINITE)) {
		puts(text);
		fflush(stdout);
	}
	WaitForSingleObject(c.process, INFINITE);
	GetExitCodeProcess(c.process, &code);
	return (int)code;
}
