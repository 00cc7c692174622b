/* dir.c - nested directories are removed at any depth, and in the time that was given. */
#include "keeper/linux/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../t.h"
#include "keeper/linux/clock.h"

/* Make `depth` directories below each other, each with another beside it. Returns the deepest,
 * open.
 */
static int nest(int at, int depth)
{
	static const char name[] =
		"a-directory-with-a-name-so-long-that-few-of-them-make-a-path-too-long";
	int fd = at;

	for (int i = 0; i < depth; i++) {
		int next;

		OK(mkdirat(fd, "beside", 0700) == 0 && mkdirat(fd, name, 0700) == 0);
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		OK(next >= 0);
		if (fd != at)
			close(fd);
		fd = next;
	}
	return fd;
}

static int top(void)
{
	int fd = open(t_audit.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	OK(fd >= 0 && mkdirat(fd, "top", 0700) == 0);
	return fd;
}

static int enter(int at)
{
	int fd = openat(at, "top", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	OK(fd >= 0);
	return fd;
}

TEST(dir_removes_directories_nested_deeper_than_path_max)
{
	int at = top(), fd = enter(at);

	close(nest(fd, 100)); /* PATH_MAX is 4096 */
	close(fd);
	EQ(dir_remove(at, "top", clock_us() + 10000000), 0);
	OK(faccessat(at, "top", F_OK, 0) < 0 && errno == ENOENT);
	EQ(dir_remove(at, "top", clock_us()), 0); /* gone is gone */
	close(at);
}

TEST(dir_returns_the_error_of_a_directory_that_stays)
{
	int at = top(), fd = enter(at), deep = nest(fd, 3);
	long long begun_us = clock_us();

	close(openat(deep, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	EQ(dir_remove(at, "top", begun_us + 50000), -ENOTEMPTY);
	OK(clock_us() - begun_us < 5000000);
	EQ(faccessat(deep, "file", F_OK, 0), 0);
	EQ(unlinkat(deep, "file", 0), 0);
	EQ(dir_remove(at, "top", clock_us() + 5000000), 0);
	close(deep);
	close(fd);
	close(at);
}

TEST(dir_does_not_follow_links)
{
	int at = top(), fd = enter(at);

	OK(mkdirat(at, "other", 0700) == 0 && symlinkat("../other", fd, "link") == 0);
	EQ(dir_remove(at, "top", clock_us() + 20000), -ENOTEMPTY);
	EQ(faccessat(at, "other", F_OK, 0), 0);
	EQ(unlinkat(fd, "link", 0), 0);
	EQ(dir_remove(at, "top", clock_us() + 5000000), 0);
	EQ(dir_remove(at, "other", clock_us() + 5000000), 0);
	close(fd);
	close(at);
}
