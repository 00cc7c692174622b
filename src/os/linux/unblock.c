/* unblock.c - see unblock.h */
#include "os/unblock.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

bool unblock(int fd, enum unblock_for use)
{
	int mode = use == UNBLOCK_BOTH ? O_RDWR : use == UNBLOCK_WRITING ? O_WRONLY : O_RDONLY;
	struct stat st;
	char path[32];
	int own, flags;

	/* a regular file keeps its offset */
	if (fstat(fd, &st) < 0 || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, mode | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own >= 0) {
		dup3(own, fd, O_CLOEXEC);
		close(own);
		return false;
	}
	flags = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	return !(flags & O_NONBLOCK);
}

void unblock_undo(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}
