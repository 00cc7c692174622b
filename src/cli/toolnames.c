/* toolnames.c - see toolnames.h */
#include "toolnames.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/sha256.h"
#include "cli.h"
#include "config/config.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/spawn.h"

enum { SERVER_SIZE = 128, TOOL_SIZE = 256, DIGITS = 24 };

void toolnames_add(struct toolnames *n, const char *server, const char *tool)
{
	if (strlen(server) < SERVER_SIZE && strlen(tool) < TOOL_SIZE &&
	    config_is_printable(server) && config_is_printable(tool))
		buf_addf(&n->lines, "%s\t%s\n", server, tool);
}

/* Write the path of the file for a config; its name has a hash of the config's path. */
static bool toolnames_file(const char *config, char *out, size_t size)
{
	char dir[PATH_MAX], path[PATH_MAX], hash[SHA256_HEX_SIZE];
	struct sha256 s;

	if (file_real_path(config, path, sizeof(path)) < 0 || !cli_find_cache(dir, sizeof(dir)))
		return false;
	sha256_init(&s);
	sha256_add(&s, path, strlen(path));
	sha256_hex(&s, hash);
	file_make_directories(dir);
	return snprintf(out, size, "%s/tools-%.*s", dir, DIGITS, hash) < (int)size;
}

void toolnames_read(struct toolnames *n, const char *config)
{
	char file[PATH_MAX];
	AUTO(fd_drop) int fd = -1;
	ssize_t got = 1;

	if (!toolnames_file(config, file, sizeof(file)))
		return;
	fd = file_open(file, FILE_READ_NOW);
	while (fd >= 0 && got > 0) {
		char piece[4096];

		got = fd_read(fd, piece, sizeof(piece));
		if (got > 0 && buf_add(&n->lines, piece, (size_t)got) < 0)
			break;
	}
}

bool toolnames_next(const struct toolnames *n, size_t *at, char server[128], char tool[256])
{
	while (*at < n->lines.len) {
		const char *line = n->lines.data + *at;
		const char *end = memchr(line, '\n', n->lines.len - *at);
		const char *tab = end ? memchr(line, '\t', (size_t)(end - line)) : NULL;

		if (!end)
			return false;
		*at += (size_t)(end - line) + 1;
		if (!tab || tab - line >= SERVER_SIZE || end - tab - 1 >= TOOL_SIZE)
			continue;
		snprintf(server, SERVER_SIZE, "%.*s", (int)(tab - line), line);
		snprintf(tool, TOOL_SIZE, "%.*s", (int)(end - tab - 1), tab + 1);
		return true;
	}
	return false;
}

static bool toolnames_have(const struct toolnames *n, const char *server)
{
	char one[SERVER_SIZE], tool[TOOL_SIZE];

	for (size_t at = 0; toolnames_next(n, &at, one, tool);)
		if (strcmp(one, server) == 0)
			return true;
	return false;
}

/* Replace the file as a whole, because another killick may read it. */
static void toolnames_write(const char *file, const struct buf *text)
{
	char name[PATH_MAX + 16];
	bool written;
	int fd;

	snprintf(name, sizeof(name), "%s.%d", file, spawn_own_pid());
	fd = file_open(name, FILE_PRIVATE);
	if (fd < 0)
		return;
	written = fd_write(fd, text->data, text->len) == (ssize_t)text->len;
	fd_close(fd);
	if (!written || file_rename(name, file) < 0)
		file_remove(name);
}

void toolnames_save(const struct toolnames *n, const char *config)
{
	AUTO(toolnames_done) struct toolnames old = TOOLNAMES_INIT;
	AUTO(toolnames_done) struct toolnames all = TOOLNAMES_INIT;
	char file[PATH_MAX], server[SERVER_SIZE], tool[TOOL_SIZE];

	if (!n->lines.len || !toolnames_file(config, file, sizeof(file)))
		return;
	toolnames_read(&old, config);
	for (size_t at = 0; toolnames_next(&old, &at, server, tool);)
		if (!toolnames_have(n, server))
			toolnames_add(&all, server, tool);
	if (buf_add(&all.lines, n->lines.data, n->lines.len) == 0)
		toolnames_write(file, &all.lines);
}

void toolnames_done(struct toolnames *n)
{
	buf_done(&n->lines);
}
