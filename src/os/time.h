/* time.h - the clocks of the system. Threads: any.  Blocking: time_sleep_ms.
 *
 * Microseconds of a clock that never goes back and counts while the machine runs.
 *
 *	int64_t time_now_us(void);
 *
 * Nanoseconds since 1970, UTC: what people call the time.
 *
 *	int64_t time_wall_ns(void);
 */
#pragma once

#include <stdint.h>

#include "time_native.h"

/* Wait that long; a signal does not end the wait early. */
void time_sleep_ms(int64_t ms);
