/* tap.c - see tap.h */
#include <windows.h>
#include <stdarg.h>
#include <stdio.h>

#include "tap.h"

static SRWLOCK tap_lines = SRWLOCK_INIT;
static int tap_count, tap_failed;

void tap_lock(void)
{
	AcquireSRWLockExclusive(&tap_lines);
}

void tap_unlock(void)
{
	fflush(stdout);
	ReleaseSRWLockExclusive(&tap_lines);
}

void tap_result(bool ok, const char *skip, const char *fmt, ...)
{
	char name[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	tap_lock();
	tap_failed += !ok;
	printf("%s %d - %s", ok ? "ok" : "not ok", ++tap_count, name);
	printf(skip ? " # SKIP %s\n" : "\n", skip);
	tap_unlock();
}

void tap_note(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tap_lock();
	printf("# %s\n", text);
	tap_unlock();
}

int tap_finish(void)
{
	tap_lock();
	printf("1..%d\n", tap_count);
	tap_unlock();
	return tap_failed || !tap_count;
}
