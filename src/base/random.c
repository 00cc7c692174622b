/* random.c - see random.h */
#include "base/random.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>

void random_fill(void *out, size_t len)
{
	ssize_t n;

	assert(len <= RANDOM_MAX);
	do
		n = getrandom(out, len, 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)len)
		abort();
}

void random_hex(char *out, size_t digits)
{
	unsigned char bytes[RANDOM_MAX];

	assert(digits % 2 == 0);
	random_fill(bytes, digits / 2);
	for (size_t i = 0; i < digits / 2; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}
