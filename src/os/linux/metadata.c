/* metadata.c - see metadata.h */
#include "os/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#ifndef STATX_BTIME /* musl 1.2.3: the time of creation is not known */
int metadata_of(const char *path, struct metadata *out)
{
	struct stat st, link;

	if (stat(path, &st) < 0)
		return -errno;
	*out = (struct metadata){
		.directory = S_ISDIR(st.st_mode),
		.file = S_ISREG(st.st_mode),
		.symlink = lstat(path, &link) == 0 && S_ISLNK(link.st_mode),
		.device = (unsigned long long)major(st.st_dev) << 32 | minor(st.st_dev),
		.inode = st.st_ino,
		.size = (long long)st.st_size,
		.modified_ms = (long long)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000
	};
	return 0;
}
#else
static long long metadata_ms(const struct statx_timestamp *t)
{
	return (long long)t->tv_sec * 1000 + t->tv_nsec / 1000000;
}

int metadata_of(const char *path, struct metadata *out)
{
	struct statx st;
	struct stat link;

	if (statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
		return -errno;
	*out = (struct metadata){ .directory = S_ISDIR(st.stx_mode),
				  .file = S_ISREG(st.stx_mode),
				  .symlink = lstat(path, &link) == 0 && S_ISLNK(link.st_mode),
				  .device = (unsigned long long)st.stx_dev_major << 32 |
					    st.stx_dev_minor,
				  .inode = st.stx_ino,
				  .size = (long long)st.stx_size,
				  .modified_ms = metadata_ms(&st.stx_mtime) };
	if (st.stx_mask & STATX_BTIME)
		out->created_ms = metadata_ms(&st.stx_btime);
	return 0;
}
#endif
