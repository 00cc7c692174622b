/* server.c - a stdio MCP server for the tests of the library on Windows.
 *
 *	server polite|deaf|child|hostile|bulk FILE
 *
 * polite: the zoo's server, with the tools `echo` and `hang`. deaf: stays after the end of stdin,
 * and has left the console through which Ctrl-Break comes. child: starts a copy of this program,
 * detached and with nothing inherited, which sleeps. hostile: deaf and child, and a daemon, which
 * is such a copy whose parent has exited and which leaves the job if it may. bulk: bulk.h. Each mode
 * writes the pids of its processes to FILE, one per line, before it answers; not that of a daemon.
 */
#include <fcntl.h>
#include <io.h>
#include <stdbool.h>
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

/* Outside of the job of this process, where the job permits that and the flag asks for it. */
static unsigned long start_child(const char *mode, DWORD flag)
{
	STARTUPINFOA si = { .cb = sizeof(si) };
	PROCESS_INFORMATION pi;
	char self[MAX_PATH], line[MAX_PATH + 16];

	GetModuleFileNameA(NULL, self, sizeof(self));
	snprintf(line, sizeof(line), "\"%s\" %s", self, mode);
	if (!CreateProcessA(self, line, NULL, NULL, FALSE, DETACHED_PROCESS | flag, NULL, NULL, &si,
			    &pi))
		return flag ? start_child(mode, 0) : 0;
	if (strcmp(mode, "daemon") == 0) /* no client may end the server before that */
		WaitForSingleObject(pi.hProcess, INFINITE);
	return pi.dwProcessId;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	bool hostile = strcmp(mode, "hostile") == 0;
	bool deaf = hostile || strcmp(mode, "deaf") == 0;
	FILE *f = argc > 2 ? fopen(argv[2], "a") : NULL;

	if (strcmp(mode, "sleep") == 0)
		zoo_linger();
	if (strcmp(mode, "daemon") == 0)
		return start_child("sleep", CREATE_BREAKAWAY_FROM_JOB) ? 0 : 1;
	_setmode(0, _O_BINARY);
	_setmode(1, _O_BINARY);
	if (hostile)
		start_child("daemon", 0);
	if (f) {
		fprintf(f, "%lu\n", GetCurrentProcessId());
		if (hostile || strcmp(mode, "child") == 0)
			fprintf(f, "%lu\n", start_child("sleep", 0));
		fclose(f);
	}
	if (strcmp(mode, "bulk") == 0)
		return bulk_serve();
	if (deaf)
		FreeConsole(); /* Wine does not run handlers of console events */
	return zoo_serve(deaf ? ZOO_STAY : ZOO_LEAVE);
}
