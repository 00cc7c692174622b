/* bytes.c - see bytes.h: glibc and musl compare many bytes at once. */
#include "os/bytes.h"

#include <string.h>

const void *bytes_last(const void *in, int c, size_t len)
{
	return memrchr(in, c, len);
}
