/* dir.c - see dir.h */
#include "dir.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct entry { /* the kernel's linux_dirent64 */
	uint64_t ino;
	int64_t off;
	uint16_t size;
	uint8_t type;
	char name[];
};

int dir_each(int dirfd, dir_fn fn, void *ctx)
{
	_Alignas(struct entry) char buf[4096];

	lseek(dirfd, 0, SEEK_SET);
	for (;;) {
		long n = syscall(SYS_getdents64, dirfd, buf, sizeof(buf));
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		for (long at = 0; at < n;) {
			const struct entry *e = (const void *)(buf + at);
			if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0) {
				int r = fn(ctx, dirfd, e->name);
				if (r)
					return r;
			}
			at += e->size;
		}
	}
}
