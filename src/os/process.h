/* process.h - another process, whose end is awaited. Threads: any.  Blocking: never. */
#pragma once

#include <stdbool.h>

/* A descriptor for the loop, which is readable when the process has ended; for fd_close. -ESRCH:
 * there is no such process. */
int process_open(int pid);
/* Has the process of this descriptor ended? What was read about its pid is about this process only
 * if the process has not ended afterwards. */
bool process_has_ended(int fd);
/* The pid of the process that started this one; 0: it has ended, or is not visible here (on Linux
 * in a pid namespace). On Linux 1 after the end of the parent. */
int process_parent(void);
/* From now on the end of the parent continues this process if it is stopped (SIGSTOP); the end of
 * the parent's thread that started this process does, too. Does nothing on Windows. */
void process_wake_with_parent(void);
/* Continue the process if it is stopped. Does nothing on Windows. */
void process_continue(int fd);
/* A descriptor of the parent of another process. -ESRCH: one of the two has ended; -ENOSYS on
 * Windows. */
int process_open_parent(int pid);
/* Another descriptor of the same process, and on Linux, while the process lives, not a copy: the
 * kernel lets one open file be in 500 epolls that are in an epoll (epoll_ctl then fails with
 * EINVAL). -ENOSYS on Windows. */
int process_again(int fd);
