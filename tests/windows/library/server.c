/* server.c - a stdio MCP server for the tests of the library on Windows.
 *
 *	server polite|deaf|child|bulk FILE
 *
 * polite: the zoo's server, with the tools `echo` and `hang`. deaf: stays after the end of stdin,
 * and has left the console through which Ctrl-Break comes. child: starts a copy of this program,
 * detached and with nothing inherited, which sleeps. bulk: bulk.h. Each mode writes the pids of its
 * processes to FILE, one per line, before it answers.
 */
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "bulk.h"
#include "zoo/zoo_internal.h"

#define LIFE_MS 60000 /* no process of a test lives longer */

_Noreturn void zoo_linger(void)
{
	Sleep(LIFE_MS);
	ExitProcess(1);
}

static unsigned long start_child(void)
{
	STARTUPINFOA si = { .cb = sizeof(si) };
	PROCESS_INFORMATION pi;
	char self[MAX_PATH], line[MAX_PATH + 16];

	GetModuleFileNameA(NULL, self, sizeof(self));
	snprintf(line, sizeof(line), "\"%s\" sleep", self);
	if (!CreateProcessA(self, line, NULL, NULL, FALSE, DETACHED_PROCESS, NULL, NULL, &si, &pi))
		return 0;
	return pi.dwProcessId;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	FILE *f = argc > 2 ? fopen(argv[2], "a") : NULL;

	if (strcmp(mode, "sleep") == 0)
		zoo_linger();
	_setmode(0, _O_BINARY);
	_setmode(1, _O_BINARY);
	if (f) {
		fprintf(f, "%lu\n", GetCurrentProcessId());
		if (strcmp(mode, "child") == 0)
			fprintf(f, "%lu\n", start_child());
		fclose(f);
	}
	if (strcmp(mode, "bulk") == 0)
		return bulk_serve();
	if (strcmp(mode, "deaf") == 0)
		FreeConsole(); /* Wine does not run handlers of console events */
	return zoo_serve(strcmp(mode, "deaf") == 0 ? ZOO_STAY : ZOO_LEAVE);
}
