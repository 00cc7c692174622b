/* clock.h - the keeper's two clocks, in microseconds and milliseconds. */
#pragma once

#include <time.h>

/* Time that stops while the machine is suspended, for budgets: a suspended laptop must not make a
 * deadline pass. */
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

/* Milliseconds until a time of clock_us, rounded up, as a timeout for epoll_wait; 0: the time has
 * passed; -1: deadline_us is 0, which means no deadline. */
static inline int clock_left_ms(long long deadline_us)
{
	long long left = deadline_us - clock_us();

	if (!deadline_us)
		return -1;
	return left <= 0 ? 0 : (int)((left + 999) / 1000);
}
