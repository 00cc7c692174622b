/* interrupt.h - requests of a user to end a verb: the first one ends the work, the next one the
 * program.
 *
 * On Linux SIGINT, SIGTERM and SIGHUP; on Windows Ctrl-C, Ctrl-Break and the end of the console.
 * For programs of killick, not for hosts; see stop.h for a program that serves until it is told to
 * end. Life: interrupt_open, before any thread is started -> interrupt_wait, interrupt_take ... ->
 * interrupt_close. Threads: the first one.  Blocking: interrupt_wait.
 */
#pragma once

#include <stdint.h>

enum { INTERRUPT_CTRL_C = 2 }; /* what interrupt_take returns for it */

/* From now on a request makes the descriptor readable; it does not end the program. A descriptor
 * for the loop or for interrupt_wait, or -errno. */
int interrupt_open(void);
/* The request as the number of a signal of Linux; 0: there is none. */
int interrupt_take(int fd);
/* From now on a request ends the program at once. -1: nothing was opened. */
void interrupt_close(int fd);
/* From now on a write to a pipe that nothing reads fails, and does not end the program. */
void interrupt_ignore_pipes(void);
/* Wait until `other` is readable, or a request came; timeout_ms -1: without limit. Both may be -1.
 * `other` is a descriptor; on Windows a HANDLE. */
void interrupt_wait(int fd, intptr_t other, int timeout_ms);
