/* unblock.c - see unblock.h */
#include "os/unblock.h"

bool unblock(int fd, enum unblock_for use)
{
	(void)fd;
	(void)use;
	return false;
}

void unblock_undo(int fd)
{
	(void)fd;
}
