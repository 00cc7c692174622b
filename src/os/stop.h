/* stop.h - requests from outside to end this program: signals, Ctrl-C.
 *
 * On Linux SIGTERM, SIGINT, SIGHUP and SIGQUIT; and as process 1 of a container the waiting thread
 * reaps orphans meanwhile. On Windows Ctrl-C, Ctrl-Break and the end of the console.
 * Life: stop_init, by the first thread, before any other thread starts -> stop_wait ... For
 * programs of killick, not for hosts. Threads: stop_wake any; the others the first one.  Blocking:
 * stop_wait.
 */
#pragma once

#include <stdbool.h>

void stop_init(void);
/* Wait. True: the program is asked to end; may come more than once. False: stop_wake was called. */
bool stop_wait(void);
void stop_wake(void);
