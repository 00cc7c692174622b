/* file_make.c - file_make_directories, the same on every operating system: see file.h */
#include <errno.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "os/file.h"

int file_make_directories(const char *path)
{
	AUTO(mem_drop) char *parent = mem_dup(path);
	int r = file_make_directory(path);

	if (r == -ENOENT && path_kind(path) == PATH_NATIVE && path_go_up(parent)) {
		r = file_make_directories(parent);
		if (r == 0)
			r = file_make_directory(path);
	}
	return r == -EEXIST ? 0 : r;
}
