/* threadfiles.h - keep the descriptors of this process out of a thread that may hang.
 *
 * On Linux a thread that hangs in the kernel cannot be killed. The thread would keep every
 * descriptor of a killed process open, and other processes would wait for sockets that never hang
 * up. So such a thread gets a descriptor table of its own. Before Linux 5.9 that is not possible,
 * and the thread shares the table of the process. On Windows nothing is done: a killed process
 * loses all its handles, whatever its threads do. Threads: any.  Blocking: never.
 */
#pragma once

/* The calling thread keeps stdio and this one descriptor. */
void threadfiles_keep_only(int fd);
