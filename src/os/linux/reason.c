/* reason.c - see reason.h. strerror_r of glibc returns the text, that of POSIX (musl) a status. */
#include "os/reason.h"

#include <string.h>

const char *reason_text(int error, char room[REASON_SIZE])
{
#ifdef __GLIBC__
	return strerror_r(error, room, REASON_SIZE);
#else
	strerror_r(error, room, REASON_SIZE); /* musl knows a text for every number */
	return room;
#endif
}
