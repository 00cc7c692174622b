/* threadfiles.c - see threadfiles.h */
#include "os/threadfiles.h"

void threadfiles_keep_only(int fd)
{
	(void)fd;
}
