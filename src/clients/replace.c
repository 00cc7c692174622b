/* replace.c - see replace.h */
#include "replace.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/random.h"
#include "base/strings.h"
#include "os/file.h"

#define REPLACE_PREFIX ".%.200s.killick-" /* and REPLACE_RANDOM digits: a name until the rename */

enum { REPLACE_NAME_MAX = 256, REPLACE_RANDOM = 16, REPLACE_OLD_S = 60 };

static int replace_read_all(struct replace *r, int fd)
{
	size_t size = (size_t)r->was.size;
	ssize_t n;

	if (buf_reserve(&r->text, size + 1) < 0)
		return -ENOMEM;
	/* read one byte more than the size, to notice a file that grows */
	while ((n = fd_read(fd, r->text.data + r->text.len, size + 1 - r->text.len)) > 0) {
		r->text.len += (size_t)n;
		if (r->text.len > size)
			return -ESTALE;
	}
	r->text.data[r->text.len] = '\0';
	return (int)n;
}

/* Returns the name of the file in its directory. */
static const char *replace_name(const struct replace *r)
{
	return path_name(r->path, PATH_NATIVE);
}

static int replace_open_dir(struct replace *r)
{
	AUTO(mem_drop) char *dir = mem_dup(r->path);

	path_go_up(dir);
	return folder_open(dir, FOLDER_NO_LINK, &r->dir);
}

static int replace_open(const struct replace *r)
{
	return folder_read(&r->dir, replace_name(r));
}

int replace_read(struct replace *r, const char *path, struct err *e)
{
	char real[PATH_MAX];
	AUTO(fd_drop) int fd = -1;
	int error = file_real_path(path, real, sizeof(real));

	r->dir = (struct folder)FOLDER_INIT;
	r->path = error ? NULL : mem_dup(real);
	if (!error)
		error = replace_open_dir(r);
	if (!error)
		error = fd = replace_open(r);
	if (fd >= 0)
		error = identity_of_file(fd, &r->was);
	if (error < 0)
		return err_set(e, error, "cannot read %.180s: %s", path, strerror(-error));
	if (!r->was.regular)
		return err_set(e, -EINVAL, "%.180s is not a regular file", path);
	if (r->was.size > REPLACE_MAX - 2)
		return err_set(e, -EFBIG, "%.180s is too large", path);
	error = replace_read_all(r, fd);
	if (error)
		return err_set(e, error, "cannot read %.180s: %s", path,
			       error == -ESTALE ? "it is being written" : strerror(-error));
	return 0;
}

int replace_write_pieces(int fd, const struct fd_piece *pieces, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *p = pieces[i].bytes;
		size_t left = pieces[i].len;

		while (left > 0) {
			ssize_t n = fd_write(fd, p, left);

			if (n < 0 && n != -EINTR)
				return (int)n;
			if (n > 0) {
				p += n;
				left -= (size_t)n;
			}
		}
	}
	return file_sync(fd);
}

bool replace_has_bytes(int fd, const struct fd_piece *pieces, size_t count)
{
	char bytes[65536];
	ssize_t n;

	for (size_t i = 0; i < count; i++) {
		const char *p = pieces[i].bytes;
		size_t left = pieces[i].len;

		while (left > 0) {
			n = fd_read(fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes));
			if (n <= 0 || memcmp(bytes, p, (size_t)n) != 0)
				return false;
			p += n;
			left -= (size_t)n;
		}
	}
	return fd_read(fd, bytes, 1) == 0;
}

int replace_copy_owner(const struct replace *r, int fd)
{
	AUTO(fd_drop) int from = replace_open(r);

	return from < 0 ? from : file_copy_rights(from, fd);
}

/* Remove the files that a killed process has left under names of replace_temp_name. A younger file
 * may belong to a process that works. */
static void replace_sweep(const struct replace *r)
{
	AUTO(mem_drop) char *dir = mem_dup(r->path);
	char prefix[REPLACE_NAME_MAX];
	size_t n = (size_t)snprintf(prefix, sizeof(prefix), REPLACE_PREFIX, replace_name(r));
	char **names, **name;

	path_go_up(dir);
	names = file_names(dir);
	for (name = names; name && *name; name++) {
		struct identity was;
		AUTO(fd_drop) int fd = -1;

		if (strncmp(*name, prefix, n) != 0 || strlen(*name) != n + REPLACE_RANDOM ||
		    strspn(*name + n, "0123456789abcdef") != REPLACE_RANDOM)
			continue;
		fd = folder_read(&r->dir, *name);
		if (fd >= 0 && identity_of_file(fd, &was) == 0 && was.regular &&
		    was.changed_ns / 1000000000 + REPLACE_OLD_S < (long long)time(NULL))
			folder_remove(&r->dir, *name);
	}
	strings_free(names);
}

/* Was the file changed since it was read? The bytes are compared as well, because two writes within
 * one tick of the kernel can have the same time. */
static bool replace_is_stale(const struct replace *r)
{
	AUTO(fd_drop) int fd = replace_open(r);
	struct fd_piece old = { r->text.data, r->text.len };
	struct identity now;

	return fd < 0 || identity_of_file(fd, &now) < 0 || !identity_is_unchanged(&now, &r->was) ||
	       !replace_has_bytes(fd, &old, 1);
}

int replace_create(const struct folder *dir, const char *name, bool *out_named)
{
	int fd = folder_create_unnamed(dir);

	*out_named = fd == -EOPNOTSUPP;
	return *out_named ? folder_create(dir, name) : fd;
}

/* Write a new file and rename it, unless the old file has changed. The new file gets its name when
 * it is complete, so that a killed process leaves no file behind; where the file system has no
 * files without a name, the next replace_put removes what was left. */
static int replace_put(const struct replace *r, const struct fd_piece *pieces, size_t count)
{
	char temp[REPLACE_NAME_MAX + REPLACE_RANDOM + 1], tail[REPLACE_RANDOM + 1];
	AUTO(fd_drop) int fd = -1;
	bool named;
	int error;

	random_hex(tail, REPLACE_RANDOM);
	snprintf(temp, sizeof(temp), REPLACE_PREFIX "%s", replace_name(r), tail);
	replace_sweep(r);
	fd = replace_create(&r->dir, temp, &named);
	if (fd < 0)
		return fd;
	error = replace_copy_owner(r, fd);
	if (!error)
		error = replace_write_pieces(fd, pieces, count);
	if (!error && replace_is_stale(r))
		error = -ESTALE;
	if (!error && !named) {
		error = folder_give_name(&r->dir, fd, temp);
		named = !error;
	}
	fd_drop(&fd); /* Windows renames and removes no open file */
	if (!error)
		error = folder_rename(&r->dir, temp, replace_name(r));
	if (error && named)
		folder_remove(&r->dir, temp);
	return error;
}

static int replace_say_stale(const struct replace *r, struct err *e)
{
	return err_set(e, -ESTALE,
		       "%.150s was changed by another program meanwhile; nothing was written, try "
		       "again",
		       r->path);
}

int replace_check(const struct replace *r, struct err *e)
{
	if (r->was.names > 1)
		return err_set(e, -EMLINK,
			       "%.120s has another name (a hard link), under which the old file "
			       "would stay: edit it by hand",
			       r->path);
	return replace_is_stale(r) ? replace_say_stale(r, e) : 0;
}

int replace_write(const struct replace *r, const struct fd_piece *pieces, size_t count,
		  struct err *e)
{
	int error = replace_check(r, e);

	if (error)
		return error;
	error = replace_put(r, pieces, count);
	if (error == -ESTALE)
		return replace_say_stale(r, e);
	if (error)
		return err_set(e, error, "cannot write %.180s: %s", r->path, strerror(-error));
	folder_sync(&r->dir);
	return 0;
}

void replace_done(struct replace *r)
{
	if (r->path)
		folder_close(&r->dir);
	mem_drop(&r->path);
	buf_done(&r->text);
}
