/* time_native.h - time.h for Windows: the performance counter. */
#pragma once

#include <stdint.h>

int64_t time_now_us(void);
int64_t time_wall_ns(void);
