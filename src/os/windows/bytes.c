/* bytes.c - see bytes.h */
#include "os/bytes.h"

const void *bytes_last(const void *in, int c, size_t len)
{
	const unsigned char *p = in;

	while (len-- > 0)
		if (p[len] == (unsigned char)c)
			return p + len;
	return NULL;
}
