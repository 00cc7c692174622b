/* reason.h - the text of an errno, for any thread.
 *
 * POSIX lets strerror share its room between threads, and C libraries disagree about what
 * strerror_r returns. Threads: any.  Blocking: never.
 */
#pragma once

#define REASON_SIZE 100

/* The text of `error`, which is positive: static, or in `room`. */
const char *reason_text(int error, char room[REASON_SIZE]);
