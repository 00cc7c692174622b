/* process.h - another process, whose end is awaited. Threads: any.  Blocking: never. */
#pragma once

/* A descriptor for the loop, which is readable when the process has ended; for fd_close. -ESRCH:
 * there is no such process. */
int process_open(int pid);
/* The pid of the process that started this one; 0: it has ended, or is not visible here (on Linux
 * in a pid namespace). On Linux 1 after the end of the parent. */
int process_parent(void);
