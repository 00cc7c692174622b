/* status.h - how a process ended: an exit code or a signal.
 *
 * Signals have the numbers and names of Linux everywhere, because a report may come from an
 * executor on Linux. Threads: any.  Blocking: never.
 */
#pragma once

/* Split the status that the keeper sends ("exited", keeper/control.h): the code, or -1 and the
 * signal; the signal is 0 if there is none. */
void status_split(int status, int *out_code, int *out_signal);

/* "KILL" for 9; NULL if the signal has no name. Static. */
const char *status_signal_name(int signal);
/* 9 for "KILL"; 0 if there is no such signal. "SIG35" is 35: real-time signals have no name. */
int status_signal_number(const char *name);
