/* tap.h - TAP for the test programs of Windows, which cannot use t.h: there is no fork.
 *
 * Threads: any; each call writes whole lines. The lines go to standard output, which
 * tests/windows/judge reads in Wine and a person on Windows.
 */
#pragma once

#include <stdbool.h>

/* One test. skip: the reason why it was not run, or NULL. */
void tap_result(bool ok, const char *skip, const char *fmt, ...)
	__attribute__((format(__MINGW_PRINTF_FORMAT, 3, 4)));
/* A comment; lines above a failed test explain it. */
void tap_note(const char *fmt, ...) __attribute__((format(__MINGW_PRINTF_FORMAT, 1, 2)));
/* The plan. Returns the exit status of the program: 0 when no test failed and there was one. */
int tap_finish(void);
/* For others that write whole lines to standard output and wait for an answer: hold the lock of the
 * lines. */
void tap_lock(void);
void tap_unlock(void);
