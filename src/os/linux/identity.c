/* identity.c - see identity.h */
#include "os/identity.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int identity_take(const struct stat *st, struct identity *out)
{
	*out = (struct identity){
		.volume = st->st_dev,
		.number = st->st_ino,
		.size = st->st_size,
		.changed_ns = (long long)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
		.names = (unsigned)st->st_nlink,
		.regular = S_ISREG(st->st_mode),
		.read_only = !(st->st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)),
		.others_own = st->st_uid != geteuid() && st->st_uid != 0,
		.others_write = st->st_mode & S_IWOTH,
	};
	return 0;
}

int identity_of_path(const char *path, struct identity *out)
{
	struct stat st;

	return stat(path, &st) < 0 ? -errno : identity_take(&st, out);
}

int identity_of_file(int fd, struct identity *out)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? -errno : identity_take(&st, out);
}

bool identity_is_same(const struct identity *a, const struct identity *b)
{
	return a->number && a->number == b->number && a->volume == b->volume;
}

bool identity_is_unchanged(const struct identity *a, const struct identity *b)
{
	return a->number == b->number && a->volume == b->volume && a->size == b->size &&
	       a->changed_ns == b->changed_ns;
}
