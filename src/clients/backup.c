/* backup.c - see backup.h */
#include "backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/sha256.h"

enum { BACKUP_NUMBERS = 10, BACKUP_NAME = 220 };

struct backup_place {
	int dir;
	bool beside;
	char shown[PATH_MAX];         /* the directory */
	char name[BACKUP_NAME + 100]; /* the name of the first copy */
};

/* Is the file in the work tree of a git repository? */
static bool backup_is_in_git(const char *path)
{
	char dir[PATH_MAX + 8];

	if (snprintf(dir, sizeof(dir) - 8, "%s", path) >= (int)sizeof(dir) - 8)
		return false;
	for (char *slash; (slash = strrchr(dir, '/')) != NULL; *slash = '\0') {
		memcpy(slash, "/.git", 6);
		if (access(dir, F_OK) == 0)
			return true;
	}
	return false;
}

/* Turn the path into a file name, with %2F for each slash. If the name is too long, use a hash and
 * the end of the path. */
static void backup_encode(const char *path, char out[BACKUP_NAME + 100])
{
	char text[3 * PATH_MAX + 1], hash[SHA256_HEX_SIZE];
	struct sha256 s;
	size_t len = 0;

	for (const char *p = path; *p && len + 4 < sizeof(text); p++) {
		if (*p == '/' || *p == '%')
			len += (size_t)snprintf(text + len, 4, *p == '/' ? "%%2F" : "%%25");
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

/* Make the directories of the path, for this user only. */
static int backup_make_dirs(char *path)
{
	for (char *p = path + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST) {
			*p = '/';
			return -errno;
		}
		*p = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int backup_open_state(const struct replace *r, struct backup_place *out)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	bool given = state && *state == '/';
	int error;

	if (!given && (!home || *home != '/'))
		return -ENOENT;
	if (snprintf(out->shown, sizeof(out->shown), "%s%s/killick/backups", given ? state : home,
		     given ? "" : "/.local/state") >= (int)sizeof(out->shown))
		return -ENAMETOOLONG;
	error = backup_make_dirs(out->shown);
	if (error)
		return error;
	out->dir = open(out->shown, O_PATH | O_DIRECTORY | O_CLOEXEC);
	backup_encode(r->path, out->name);
	return out->dir < 0 ? -errno : 0;
}

static int backup_open(const struct replace *r, struct backup_place *out)
{
	const char *slash = strrchr(r->path, '/');

	out->beside = !backup_is_in_git(r->path);
	if (!out->beside)
		return backup_open_state(r, out);
	snprintf(out->shown, sizeof(out->shown), "%.*s", (int)(slash - r->path), r->path);
	if (snprintf(out->name, sizeof(out->name), "%s" BACKUP_SUFFIX, slash + 1) >=
	    (int)sizeof(out->name))
		return -ENAMETOOLONG;
	out->dir = fcntl(r->dir, F_DUPFD_CLOEXEC, 3);
	return out->dir < 0 ? -errno : 0;
}

static void backup_close(struct backup_place *p)
{
	fd_drop(&p->dir);
}

/* Returns the name of copy n, and writes its path to *out. */
static const char *backup_name(const struct backup_place *p, unsigned n, struct backup *out)
{
	char number[16] = "";

	if (n)
		snprintf(number, sizeof(number), ".%u", n);
	snprintf(out->path, sizeof(out->path), "%s/%s%s", p->shown, p->name, number);
	return strrchr(out->path, '/') + 1;
}

static bool backup_is_same(const struct backup_place *p, const char *name,
			   const struct iovec *pieces, size_t count)
{
	AUTO(fd_drop)
	int fd = openat(p->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd >= 0 && replace_has_bytes(fd, pieces, count);
}

/* Write a new copy. -EEXIST: a file with this name exists. */
static int backup_write(const struct replace *r, const struct backup_place *p, const char *name)
{
	struct iovec old = { r->text.data, r->text.len };
	AUTO(fd_drop)
	int fd = openat(p->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int error;

	if (fd < 0)
		return -errno;
	error = replace_write_pieces(fd, &old, 1);
	if (!error && p->beside)
		error = replace_copy_owner(r, fd);
	if (error)
		unlinkat(p->dir, name, 0);
	return error;
}

int backup_keep(const struct replace *r, bool wrapped, struct backup *out, struct err *e)
{
	AUTO(backup_close) struct backup_place p = { .dir = -1 };
	struct iovec old = { r->text.data, r->text.len };
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

void backup_drop(const struct replace *r, const struct iovec *pieces, size_t count,
		 struct backup *out)
{
	AUTO(backup_close) struct backup_place p = { .dir = -1 };
	struct backup found;

	*out = (struct backup){ .fresh = false };
	if (backup_open(r, &p) < 0)
		return;
	for (unsigned n = 0; n < BACKUP_NUMBERS; n++) {
		const char *name = backup_name(&p, n, &found);

		if (faccessat(p.dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (backup_is_same(&p, name, pieces, count))
			unlinkat(p.dir, name, 0);
		else if (!*out->path)
			*out = found;
	}
}
