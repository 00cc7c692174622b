/* random.h - random numbers of the kernel.
 *
 * For ids that nobody may guess. Threads: any.  Blocking: early at boot only.
 */
#pragma once

#include <stddef.h>

#define RANDOM_MAX 256 /* bytes that the kernel gives in one piece */

/* Fill len bytes, at most RANDOM_MAX. A kernel without getrandom ends the program: an id that could
 * be guessed is worse. */
void random_fill(void *out, size_t len);
/* `digits` hexadecimal digits, an even number of them, and a NUL. */
void random_hex(char *out, size_t digits);
