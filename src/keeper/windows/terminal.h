/* terminal.h - a terminal for the server: a pseudo console between two pipes of the client.
 *
 *   client -- stdin --> host (conhost.exe) <---- console ----> server and its processes
 *   client <- stdout --/
 *
 * The host is a process that Windows starts, as a child of killick, and that shows the console as
 * text with escape sequences. It is not in the tree's job, so that the limits of the job, its count
 * and its end are the same with a terminal and without. Windows offers no way to start the host
 * inside of a job. So killick first puts itself into a job of the same kind, the guard: its
 * children are born there, and the kernel ends those that are left when killick ends, however
 * killick ends. A host whose killick was ended ends itself as well, but not when killick was killed
 * while Windows made the console (Wine 10).
 *
 * Pseudo consoles came with Windows 10 1809: the functions are looked up when killick runs.
 *
 * Life: terminal_is_possible -> terminal_open -> job_spawn with `console` -> terminal_send ... ->
 * terminal_end, after the tree has ended.
 * Threads: one; terminal_end starts one more.  Blocking: terminal_end, for its budgets.
 * Allocates: never after terminal_open.
 */
#pragma once

#include <stdbool.h>

#include "job.h"
#include "win.h"

#define TERMINAL_COLUMNS  80
#define TERMINAL_LINES    24
#define TERMINAL_FLUSH_MS 1000 /* how long the host may wait for a client that does not read */

struct terminal {
	void *console; /* NULL: none */
	HANDLE host;   /* NULL: not found */
	struct job
		guard; /* has killick itself; its only handle is here, as that of the tree's job */
};

/* Does this Windows have pseudo consoles? */
bool terminal_is_possible(void);

/* Make a console that reads keys from `in` and writes to `out`; both stay open and the caller's. 0,
 * or an error of Windows: then there is no console. No other process may be started by killick
 * meanwhile. */
DWORD terminal_open(struct terminal *t, HANDLE in, HANDLE out);

/* Send CTRL_C_EVENT or CTRL_BREAK_EVENT to all processes of the console. `pid` is one of them. A
 * process of killick does so, because the event reaches its sender, too. It is not awaited. 0, or
 * an error of Windows. */
DWORD terminal_send(DWORD pid, DWORD event);

/* Close the console, let the host write the rest of the output, and end the host. Does nothing
 * without a console. Returns the number of processes that are left after budget_ms: 0 or 1. */
unsigned terminal_end(struct terminal *t, unsigned budget_ms);

/* Be the process of terminal_send: `killick event PID NUMBER`. Returns its exit code. */
int terminal_event_main(const char *pid, const char *event);
