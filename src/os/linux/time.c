/* time.c - see time.h */
#include "os/time.h"

#include <errno.h>

void time_sleep_ms(int64_t ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}
