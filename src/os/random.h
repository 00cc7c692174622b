/* random.h - random bytes of the system, which nobody can guess. Threads: any. */
#pragma once

#include <stddef.h>

#define RANDOM_MAX 256 /* bytes that Linux gives in one piece */

/* Fill len bytes, at most RANDOM_MAX. Waits early at boot only. A system without random bytes ends
 * the program: an id that could be guessed is worse. */
void random_fill(void *out, size_t len);
/* The same, never waiting: 0, or -errno and unchanged bytes. */
int random_try(void *out, size_t len);
