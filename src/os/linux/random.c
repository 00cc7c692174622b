/* random.c - see random.h */
#include "os/random.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>

static int random_ask(void *out, size_t len, unsigned flags)
{
	ssize_t n;

	assert(len <= RANDOM_MAX);
	do
		n = getrandom(out, len, flags);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
}

void random_fill(void *out, size_t len)
{
	if (random_ask(out, len, 0) < 0)
		abort();
}

int random_try(void *out, size_t len)
{
	return random_ask(out, len, GRND_NONBLOCK);
}
