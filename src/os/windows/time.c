/* time.c - see time.h */
#include "os/time.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#define EPOCH_100NS 116444736000000000LL /* from 1601, where Windows begins, to 1970 */

/* The frequency is fixed at boot. Seconds and the rest are scaled apart: the product of the
 * counter and 1,000,000 would overflow after some days. */
int64_t time_now_us(void)
{
	static volatile LONG64 frequency;
	LARGE_INTEGER now;
	LONG64 f = frequency;

	if (!f) {
		LARGE_INTEGER asked;

		QueryPerformanceFrequency(&asked);
		frequency = f = asked.QuadPart;
	}
	QueryPerformanceCounter(&now);
	return now.QuadPart / f * 1000000 + now.QuadPart % f * 1000000 / f;
}

int64_t time_wall_ns(void)
{
	FILETIME ft;
	ULARGE_INTEGER t;

	GetSystemTimeAsFileTime(&ft);
	t.LowPart = ft.dwLowDateTime;
	t.HighPart = ft.dwHighDateTime;
	return ((int64_t)t.QuadPart - EPOCH_100NS) * 100;
}

void time_sleep_ms(int64_t ms)
{
	Sleep((DWORD)ms);
}
