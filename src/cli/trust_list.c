/* trust_list.c - see trust_list.h */
#include "trust_list.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "config/config.h"
#include "os/dirs.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/spawn.h"

enum { LIST_MAX = 1 << 20, DIGEST_LEN = SHA256_HEX_SIZE - 1 };

static bool trust_list_file(char *out, size_t size)
{
	char dir[PATH_MAX];

	return dirs_state(dir, sizeof(dir)) && file_make_directories(dir) == 0 &&
	       snprintf(out, size, "%s%ctrusted", dir, PATH_SEPARATOR) < (int)size;
}

void trust_list_read(struct trust_list *l)
{
	char file[PATH_MAX], piece[4096];
	AUTO(fd_drop) int fd = -1;
	ssize_t n = 1;

	l->text = (struct buf)BUF_INIT(LIST_MAX);
	if (!trust_list_file(file, sizeof(file)))
		return;
	fd = file_open(file, FILE_READ_OWN);
	while (fd >= 0 && n > 0) {
		n = fd_read(fd, piece, sizeof(piece));
		if (n > 0 && buf_add(&l->text, piece, (size_t)n) < 0)
			break;
	}
}

bool trust_list_next(const struct trust_list *l, size_t *at, struct trust_entry *out)
{
	while (*at < l->text.len) {
		const char *line = l->text.data + *at;
		const char *end = memchr(line, '\n', l->text.len - *at);
		size_t len = end ? (size_t)(end - line) : l->text.len - *at;

		*at += len + (end != NULL);
		if (len <= DIGEST_LEN + 1 || line[DIGEST_LEN] != ' ')
			continue;
		memcpy(out->digest, line, DIGEST_LEN);
		out->digest[DIGEST_LEN] = '\0';
		out->path = line + DIGEST_LEN + 1;
		out->path_len = len - DIGEST_LEN - 1;
		return true;
	}
	return false;
}

bool trust_list_has(const struct trust_list *l, const char *path, const char *digest)
{
	struct trust_entry e;

	for (size_t at = 0; trust_list_next(l, &at, &e);)
		if (strcmp(e.digest, digest) == 0 && e.path_len == strlen(path) &&
		    memcmp(e.path, path, e.path_len) == 0)
			return true;
	return false;
}

/* Replace the file as a whole. */
static int trust_list_write(const struct buf *text, struct err *e)
{
	char file[PATH_MAX], name[PATH_MAX + 16];
	int fd, error = 0;

	if (!trust_list_file(file, sizeof(file)))
		return err_set(e, -ENOENT, "there is no state directory; set HOME");
	snprintf(name, sizeof(name), "%s.%d", file, spawn_own_pid());
	fd = file_open(name, FILE_PRIVATE);
	if (fd < 0)
		error = fd;
	else if (fd_write(fd, text->data, text->len) != (ssize_t)text->len)
		error = -EIO;
	if (fd >= 0)
		fd_close(fd);
	if (!error)
		error = file_rename(name, file);
	if (error && fd >= 0)
		file_remove(name);
	return error ? err_set(e, error, "cannot write %.180s: %s", file, strerror(-error)) : 0;
}

int trust_list_add(const char *path, const char *digest, struct err *e)
{
	AUTO(trust_list_done) struct trust_list l;

	trust_list_read(&l);
	if (trust_list_has(&l, path, digest))
		return 0;
	if (!config_is_printable(path))
		return err_set(e, -EINVAL, "the path has control characters");
	if (buf_addf(&l.text, "%s %s\n", digest, path) < 0)
		return err_set(e, -EFBIG,
			       "the list of trusted files is full; 'killick trust "
			       "--forget DIR' removes entries");
	return trust_list_write(&l.text, e);
}

int trust_list_forget(const char *path, struct err *e)
{
	AUTO(trust_list_done) struct trust_list l;
	AUTO(buf_done) struct buf kept = BUF_INIT(LIST_MAX);
	size_t len = strlen(path);
	struct trust_entry x;
	int count = 0, error;

	trust_list_read(&l);
	for (size_t at = 0; trust_list_next(&l, &at, &x);) {
		if (x.path_len >= len && memcmp(x.path, path, len) == 0 &&
		    (x.path_len == len || strchr("/\\", x.path[len]) || len == 1))
			count++;
		else
			buf_addf(&kept, "%s %.*s\n", x.digest, (int)x.path_len, x.path);
	}
	error = count ? trust_list_write(&kept, e) : 0;
	return error ? error : count;
}

void trust_list_done(struct trust_list *l)
{
	buf_done(&l->text);
}
