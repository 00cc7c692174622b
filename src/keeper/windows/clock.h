/* clock.h - the keeper's clocks, in microseconds and milliseconds. */
#pragma once

#include "win.h"

/* For budgets. The counter may go on while the machine sleeps: then a deadline has passed when the
 * machine wakes, and the end is earlier than planned, never later. */
static inline long long clock_us(void)
{
	LARGE_INTEGER hz, now;

	QueryPerformanceFrequency(&hz);
	QueryPerformanceCounter(&now);
	return now.QuadPart / hz.QuadPart * 1000000 +
	       now.QuadPart % hz.QuadPart * 1000000 / hz.QuadPart;
}

/* Time since boot, the same for every process: for records. */
static inline long long clock_boot_ms(void)
{
	return (long long)GetTickCount64();
}

/* Milliseconds until a time of clock_us, rounded up, for WaitForMultipleObjects; 0: the time has
 * passed; INFINITE: deadline_us is 0, which means no deadline. */
static inline DWORD clock_left_ms(long long deadline_us)
{
	long long left = deadline_us - clock_us();

	if (!deadline_us)
		return INFINITE;
	return left <= 0 ? 0 : (DWORD)((left + 999) / 1000);
}
