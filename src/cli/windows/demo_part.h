/* demo_part.h - the processes of `killick demo` on Windows.
 *
 *   demo                                      counts and draws
 *   |- client - server ...                    the left column
 *   `- client - killick run - server ...      the right column
 *
 * Each column of each scene is a job object of the demo (demo_audit.h). The demo has the only
 * handles of these jobs, and KILL_ON_JOB_CLOSE is set: however the demo ends, all processes end.
 *
 * A client is `killick-more demo-part client EVENT COMMAND LINE`: a minimal MCP client. It starts
 * the command line with two pipes, sends initialize, reads the answer and sets the event, which is
 * the number of an inherited handle. Then the client waits for its end.
 */
#pragma once

#include <windows.h>

int demo_part(int argc, char **argv);

struct demo_start {
	wchar_t *line;             /* the command line; CreateProcess may write to it */
	HANDLE job;                /* NULL: that of this process */
	HANDLE in, out;            /* NULL: none */
	HANDLE also;               /* another handle for the process; NULL: none */
	PROCESS_INFORMATION *made; /* result; both handles are the caller's */
};

/* Start a process that inherits these handles and stderr, and nothing else. 0, or an error of
 * Windows. */
DWORD demo_spawn(const struct demo_start *s);
