/* file_make.c - paths of files that are to be made, the same on every operating system: see file.h
 */
#include <errno.h>
#include <string.h>

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

int file_real_path_of_new(const char *path, char *out, size_t size)
{
	const char *separators = PATH_NATIVE == PATH_WINDOWS ? "\\/" : "/", *name;
	AUTO(mem_drop) char *parent = mem_dup(path);
	size_t end, len;
	int r;

	while ((r = file_real_path(parent, out, size)) == -ENOENT &&
	       path_kind(parent) == PATH_NATIVE && path_go_up(parent))
		;
	if (r < 0)
		return r;
	end = strlen(out);
	for (name = path + strlen(parent); *(name += strspn(name, separators)); name += len) {
		len = strcspn(name, separators);
		if (len <= 2 && strncmp(name, "..", len) == 0) /* of no directory */
			return -ENOENT;
		if (end + len + 2 > size)
			return -ENAMETOOLONG;
		if (!strchr(separators, out[end - 1]))
			out[end++] = PATH_SEPARATOR;
		memcpy(out + end, name, len);
		end += len;
		out[end] = '\0';
	}
	return 0;
}
