/* process.c - see process.h */
#include "os/process.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int process_open(int pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

int process_parent(void)
{
	return getppid();
}
