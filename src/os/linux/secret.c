/* secret.c - see secret.h */
#include "os/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "os/fd.h"

ssize_t secret_read(const char *file, char *out, size_t size)
{
	AUTO(fd_drop) int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size);

	return n < 0 ? -errno : n;
}

void secret_wipe(void *bytes, size_t len)
{
	explicit_bzero(bytes, len);
}
