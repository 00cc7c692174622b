/* random.h - random numbers as text, for ids that nobody may guess. Threads: any. */
#pragma once

#include "os/random.h"

/* `digits` hexadecimal digits, an even number of them, and a NUL. */
void random_hex(char *out, size_t digits);
