/* random.c - see random.h */
#include "base/random.h"

#include <assert.h>
#include <stdio.h>

void random_hex(char *out, size_t digits)
{
	unsigned char bytes[RANDOM_MAX];

	assert(digits % 2 == 0);
	random_fill(bytes, digits / 2);
	for (size_t i = 0; i < digits / 2; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}
