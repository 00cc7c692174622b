/* ownstdio.c - see ownstdio.h */
#include "os/ownstdio.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/auto.h"
#include "os/fd.h"

int ownstdio_take(int *out_in, int *out_out)
{
	AUTO(fd_drop) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	*out_in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 5);
	*out_out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 5);
	if (*out_in < 0 || *out_out < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0)
		return -errno;
	if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0 && dup2(null, STDOUT_FILENO) < 0)
		return -errno;
	return 0;
}
