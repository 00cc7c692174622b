/* random.c - see random.h */
#include "os/random.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* RtlGenRandom, which is exported under this name; it needs no provider and no handle. */
BOOLEAN NTAPI SystemFunction036(PVOID out, ULONG len);

int random_try(void *out, size_t len)
{
	assert(len <= RANDOM_MAX);
	return SystemFunction036(out, (ULONG)len) ? 0 : -EIO;
}

void random_fill(void *out, size_t len)
{
	if (random_try(out, len) < 0)
		abort();
}
