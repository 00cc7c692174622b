/* threadfiles.c - see threadfiles.h */
#include "os/threadfiles.h"

#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

void threadfiles_keep_only(int fd)
{
	const unsigned first = 3, kept = (unsigned)fd;

	if (kept < first)
		return;
	/* musl has no close_range() */
	if (syscall(SYS_close_range, kept + 1, ~0u, CLOSE_RANGE_UNSHARE) == 0 && kept > first)
		syscall(SYS_close_range, first, kept - 1, 0);
}
