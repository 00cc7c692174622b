/* await.c - see await.h */
#include "os/await.h"

void await_readable(int fd)
{
	(void)fd;
}

void await_writable(int fd)
{
	(void)fd;
}
