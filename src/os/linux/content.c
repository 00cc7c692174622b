/* content.c - see content.h */
#include "os/content.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "os/fd.h"
#include "os/time.h"

#define LEASE_MS      5000
#define LEASE_STEP_MS 20

/* Another process may hold a lease on the file. The kernel then asks that process to give up the
 * lease, and the file can be opened afterwards. A blocking open would wait for up to 45 s. */
static int content_open_file(const char *path)
{
	int64_t until = time_now_us() + (int64_t)LEASE_MS * 1000;
	int fd;

	while ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) < 0 &&
	       errno == EAGAIN && time_now_us() < until)
		time_sleep_ms(LEASE_STEP_MS);
	return fd;
}

int content_open(const char *path, struct content *out)
{
	AUTO(fd_drop) int fd = -1;
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADF;
	fd = content_open_file(path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADF;
	*out = (struct content){ .size = st.st_size, .file = TAKE_FD(fd) };
	return 0;
}

ssize_t content_read(struct content *c, void *out, size_t size)
{
	ssize_t n;

	do {
		n = read((int)c->file, out, size);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

void content_close(struct content *c)
{
	if (c->file >= 0)
		close((int)c->file);
	c->file = -1;
}
