/* unblock.c - see unblock.h */
#include "os/unblock.h"

void unblock(int fd, enum unblock_for use)
{
	(void)fd;
	(void)use;
}
