/* clock.h - the keeper's two clocks, in microseconds and milliseconds. */
#pragma once

#include <time.h>

/* Time that passes while the machine runs: for budgets. A suspended laptop kills no server. */
static inline long long clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

/* Time since boot, the same for every process: for records. */
static inline long long clock_boot_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}
