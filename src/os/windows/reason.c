/* reason.c - see reason.h: the texts of libc.h are static. */
#include "os/reason.h"

#include <string.h>

const char *reason_text(int error, char room[REASON_SIZE])
{
	(void)room;
	return strerror(error);
}
