/* backup.c - see backup.h */
#include "backup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "gitindex.h"
#include "os/dirs.h"
#include "os/file.h"

/* bytes of a path that are no bytes of a file name; in names of POSIX only the slash */
#define BACKUP_ENCODED (PATH_NATIVE == PATH_WINDOWS ? "/\\:%" : "/%")

#define BACKUP_LIST "wrapped" /* the directory of the remembered paths */

enum { BACKUP_NUMBERS = 10, BACKUP_NAME = 220 };

struct backup_place {
	struct folder dir;
	bool beside;
	char shown[PATH_MAX];         /* the directory */
	char name[BACKUP_NAME + 100]; /* the name of the first copy */
};

/* Turn the path into a file name, with %2F for each separator. If the name is too long, use a hash
 * and the end of the path. */
static void backup_encode(const char *path, char out[BACKUP_NAME + 100])
{
	char text[3 * PATH_MAX + 1], hash[SHA256_HEX_SIZE];
	struct sha256 s;
	size_t len = 0;

	for (const char *p = path; *p && len + 4 < sizeof(text); p++) {
		if (strchr(BACKUP_ENCODED, *p))
			len += (size_t)snprintf(text + len, 4, "%%%02X", (unsigned char)*p);
		else
			text[len++] = *p;
	}
	text[len] = '\0';
	if (len <= BACKUP_NAME) {
		memcpy(out, text, len + 1);
		return;
	}
	sha256_init(&s);
	sha256_add(&s, path, strlen(path));
	sha256_hex(&s, hash);
	snprintf(out, BACKUP_NAME + 100, "%.32s-%s", hash, text + len - (BACKUP_NAME - 40));
}

/* Open a directory of the state directory, which is made if it is missing, and make the name for
 * `path`. */
static int backup_open_state(const char *directory, const char *path, struct backup_place *out)
{
	char state[PATH_MAX];
	int error;

	if (!dirs_state(state, sizeof(state)))
		return -ENOENT;
	if (snprintf(out->shown, sizeof(out->shown), "%s%c%s", state, PATH_SEPARATOR, directory) >=
	    (int)sizeof(out->shown))
		return -ENAMETOOLONG;
	error = file_make_directories(out->shown);
	if (error)
		return error;
	backup_encode(path, out->name);
	return folder_open(out->shown, FOLDER_FOLLOW, &out->dir);
}

static int backup_open(const struct replace *r, struct backup_place *out)
{
	const char *name = path_name(r->path, PATH_NATIVE);

	char work_tree[PATH_MAX];

	out->beside = !gitindex_work_tree(r->path, work_tree, sizeof(work_tree));
	if (!out->beside)
		return backup_open_state("backups", r->path, out);
	snprintf(out->shown, sizeof(out->shown), "%.*s", (int)(name - r->path) - 1, r->path);
	if (snprintf(out->name, sizeof(out->name), "%s" BACKUP_SUFFIX, name) >=
	    (int)sizeof(out->name))
		return -ENAMETOOLONG;
	return folder_copy(&r->dir, &out->dir);
}

static void backup_close(struct backup_place *p)
{
	folder_close(&p->dir);
}

/* Returns the name of copy n, and writes its path to *out. */
static const char *backup_name(const struct backup_place *p, unsigned n, struct backup *out)
{
	char number[16] = "";

	if (n)
		snprintf(number, sizeof(number), ".%u", n);
	snprintf(out->path, sizeof(out->path), "%s%c%s%s", p->shown, PATH_SEPARATOR, p->name,
		 number);
	return path_name(out->path, PATH_NATIVE);
}

static bool backup_is_same(const struct backup_place *p, const char *name,
			   const struct fd_piece *pieces, size_t count)
{
	AUTO(fd_drop) int fd = folder_read(&p->dir, name);

	return fd >= 0 && replace_has_bytes(fd, pieces, count);
}

/* Write a new copy. -EEXIST: a file with this name exists. */
static int backup_write(const struct replace *r, const struct backup_place *p, const char *name)
{
	struct fd_piece old = { r->text.data, r->text.len };
	AUTO(fd_drop) int fd = -1;
	bool named = true;
	int error;

	if (folder_has(&p->dir, name))
		return -EEXIST;
	fd = replace_create(&p->dir, name, &named);
	if (fd < 0)
		return fd;
	error = replace_write_pieces(fd, &old, 1);
	if (!error && p->beside)
		error = replace_copy_owner(r, fd);
	if (!error && !named)
		return folder_give_name(&p->dir, fd, name);
	if (error && named) {
		fd_drop(&fd); /* Windows removes no open file */
		folder_remove(&p->dir, name);
	}
	return error;
}

int backup_keep(const struct replace *r, bool wrapped, struct backup *out, struct err *e)
{
	AUTO(backup_close) struct backup_place p = { .dir = FOLDER_INIT };
	struct fd_piece old = { r->text.data, r->text.len };
	int error = backup_open(r, &p);

	for (unsigned n = 0; !error && n < BACKUP_NUMBERS; n++) {
		const char *name = backup_name(&p, n, out);

		error = backup_write(r, &p, name);
		out->fresh = error == 0;
		if (!error)
			return 0;
		if (error != -EEXIST)
			break;
		if (wrapped || backup_is_same(&p, name, &old, 1))
			return 0;
		error = n + 1 < BACKUP_NUMBERS ? 0 : -EEXIST;
	}
	err_set(e, error, "cannot write %.160s, the copy of the old file: %s",
		*out->path ? out->path : p.shown, strerror(-error));
	*out = (struct backup){ .fresh = false };
	return error;
}

void backup_drop(const struct replace *r, const struct fd_piece *pieces, size_t count,
		 struct backup *out)
{
	AUTO(backup_close) struct backup_place p = { .dir = FOLDER_INIT };
	struct backup found;

	*out = (struct backup){ .fresh = false };
	if (backup_open(r, &p) < 0)
		return;
	for (unsigned n = 0; n < BACKUP_NUMBERS; n++) {
		const char *name = backup_name(&p, n, &found);

		if (!folder_has(&p.dir, name))
			continue;
		if (backup_is_same(&p, name, pieces, count))
			folder_remove(&p.dir, name);
		else if (!*out->path)
			*out = found;
	}
}

void backup_remember(const struct replace *r)
{
	AUTO(backup_close) struct backup_place p = { .dir = FOLDER_INIT };
	struct fd_piece path = { r->path, strlen(r->path) };
	AUTO(fd_drop) int fd = -1;

	if (backup_open_state(BACKUP_LIST, r->path, &p) == 0)
		fd = folder_create(&p.dir, p.name);
	if (fd >= 0)
		replace_write_pieces(fd, &path, 1);
}

void backup_forget(const struct replace *r)
{
	AUTO(backup_close) struct backup_place p = { .dir = FOLDER_INIT };

	if (backup_open_state(BACKUP_LIST, r->path, &p) == 0)
		folder_remove(&p.dir, p.name);
}

char **backup_remembered(void)
{
	char state[PATH_MAX], dir[PATH_MAX + 16], path[2 * PATH_MAX];
	char **names = NULL, **found = NULL;

	if (dirs_state(state, sizeof(state))) {
		snprintf(dir, sizeof(dir), "%s%c" BACKUP_LIST, state, PATH_SEPARATOR);
		names = file_names(dir);
	}
	for (char **name = names; name && *name; name++) {
		AUTO(replace_done) struct replace file = REPLACE_INIT;

		snprintf(path, sizeof(path), "%s%c%s", dir, PATH_SEPARATOR, *name);
		if (replace_read(&file, path, NULL) == 0 && file_exists(file.text.data))
			strings_add(&found, mem_dup(file.text.data));
	}
	strings_free(names);
	return found;
}
