/* seal.h - access rights by which the server cannot harm its keeper.
 *
 * The server runs as the same user, and by default a process may do everything with the processes
 * of its user. A copy of the job's handle, taken out of killick, would keep the job alive after
 * killick's end: then nothing would end the tree. So killick gives its processes and its main
 * thread an access list of their own: other processes of the user may wait for killick, ask who it
 * is and end it (then the kernel ends the tree), but not copy its handles, write to its memory,
 * suspend it, or use it as the parent of a new process. The client's own handle, which it has from
 * CreateProcess, keeps all rights. Administrators can take every right back.
 *
 * Threads: one.  Blocking: never.  Allocates: never.
 */
#pragma once

#include "win.h"

/* Seal this process and this thread. 0, or an error of Windows: then nothing is sealed. */
DWORD seal_self(void);

/* For the ear, which only killick may end: the attributes of a new process and of its thread. They
 * are valid as long as the program runs; both NULL when they could not be made. */
struct seal_child {
	SECURITY_ATTRIBUTES *process, *thread;
};
struct seal_child seal_child(void);
