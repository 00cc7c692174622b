/* reason.c - see reason.h: glibc's own strerror_r, which returns the text. */
#include "os/reason.h"

#include <string.h>

const char *reason_text(int error, char room[REASON_SIZE])
{
	return strerror_r(error, room, REASON_SIZE);
}
