/* gitindex.c - see gitindex.h */
#include "gitindex.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "os/file.h"
#include "replace.h"

enum {
	INDEX_HEAD = 12,            /* "DIRC", version, number of entries */
	INDEX_STAT = 40,            /* times, device, mode, owner and size in front of the hash */
	INDEX_LONG_FLAGS = 1 << 14, /* two more bytes of flags follow */
	INDEX_NAME_BITS = 0xfff,    /* of the flags: the length of the name, or more */
};

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_UNKNOWN };

struct gitindex {
	const unsigned char *at, *end;
	unsigned version;
	size_t hash;
	char name[PATH_MAX]; /* of the last entry: version 4 cuts and extends it */
	size_t len;
};

static unsigned gitindex_number(const unsigned char *p, size_t bytes)
{
	unsigned n = 0;

	while (bytes--)
		n = n << 8 | *p++;
	return n;
}

/* Version 4: how many bytes of the last name are cut. False: the bytes end. */
static bool gitindex_cut(struct gitindex *g)
{
	size_t n = 0;

	for (bool first = true;; first = false) {
		if (g->at == g->end || n > PATH_MAX)
			return false;
		n = ((first ? 0 : n + 1) << 7) | (*g->at & 0x7f);
		if (!(*g->at++ & 0x80))
			break;
	}
	if (n > g->len)
		return false;
	g->len -= n;
	return true;
}

/* Read the next entry into `name`. False: the bytes are no index with hashes of this size. */
static bool gitindex_next(struct gitindex *g)
{
	const unsigned char *begin = g->at, *nul;
	size_t fixed = INDEX_STAT + g->hash + 2, n;
	unsigned flags;

	if ((size_t)(g->end - g->at) < fixed + 2)
		return false;
	flags = gitindex_number(g->at + fixed - 2, 2);
	g->at += fixed;
	if (flags & INDEX_LONG_FLAGS)
		g->at += 2;
	if (g->version < 4)
		g->len = 0;
	else if (!gitindex_cut(g))
		return false;
	nul = memchr(g->at, '\0', (size_t)(g->end - g->at));
	n = nul ? (size_t)(nul - g->at) : 0;
	if (!nul || g->len + n >= sizeof(g->name))
		return false;
	memcpy(g->name + g->len, g->at, n + 1);
	g->len += n;
	g->at = nul + 1;
	if (g->version < 4) { /* NUL bytes up to a multiple of 8 */
		n = (size_t)(g->at - begin + 7) / 8 * 8;
		if ((size_t)(g->end - begin) < n)
			return false;
		g->at = begin + n;
	}
	n = flags & INDEX_NAME_BITS;
	return g->len && (n == g->len || (n == INDEX_NAME_BITS && g->len > n));
}

static enum answer gitindex_search(const char *bytes, size_t len, size_t hash, const char *name)
{
	struct gitindex g = { .at = (const unsigned char *)bytes + INDEX_HEAD, .hash = hash };
	unsigned count;

	if (len < INDEX_HEAD + hash || memcmp(bytes, "DIRC", 4) != 0)
		return ANSWER_UNKNOWN;
	g.end = (const unsigned char *)bytes + len - hash; /* the last bytes are a hash of all */
	g.version = gitindex_number((const unsigned char *)bytes + 4, 4);
	count = gitindex_number((const unsigned char *)bytes + 8, 4);
	if (g.version < 2 || g.version > 4)
		return ANSWER_UNKNOWN;
	while (count--) {
		if (!gitindex_next(&g))
			return ANSWER_UNKNOWN;
		if (strcmp(g.name, name) == 0)
			return ANSWER_YES;
	}
	/* the extension "link": the other entries are in another file */
	return g.end - g.at >= 4 && memcmp(g.at, "link", 4) == 0 ? ANSWER_UNKNOWN : ANSWER_NO;
}

bool gitindex_bytes_have(const char *bytes, size_t len, const char *name)
{
	static const size_t hashes[] = { 20, 32 };
	enum answer a = ANSWER_UNKNOWN;

	for (size_t i = 0; a == ANSWER_UNKNOWN && i < sizeof(hashes) / sizeof(hashes[0]); i++)
		a = gitindex_search(bytes, len, hashes[i], name);
	return a != ANSWER_NO;
}

bool gitindex_work_tree(const char *path, char *out, size_t size)
{
	AUTO(mem_drop) char *dir = mem_dup(path);

	while (path_go_up(dir)) {
		char git[PATH_MAX + 8];

		snprintf(git, sizeof(git), "%s/.git", dir);
		if (file_exists(git))
			return snprintf(out, size, "%s", dir) < (int)size;
	}
	return false;
}

/* Write the path of the index. In a linked work tree .git is a file that names the directory. */
static bool gitindex_path(const char *work_tree, char *out, size_t size)
{
	AUTO(replace_done) struct replace file = REPLACE_INIT;
	static const char word[] = "gitdir: ";
	char git[PATH_MAX + 8], *dir = git;

	snprintf(git, sizeof(git), "%s/.git", work_tree);
	if (replace_read(&file, git, NULL) == 0 &&
	    strncmp(file.text.data, word, sizeof(word) - 1) == 0) {
		dir = file.text.data + sizeof(word) - 1;
		dir[strcspn(dir, "\r\n")] = '\0';
	}
	if (path_kind(dir) == PATH_NATIVE)
		return snprintf(out, size, "%s/index", dir) < (int)size;
	return snprintf(out, size, "%s/%s/index", work_tree, dir) < (int)size;
}

bool gitindex_has(const char *path)
{
	AUTO(replace_done) struct replace file = REPLACE_INIT;
	char top[PATH_MAX], index[2 * PATH_MAX], name[PATH_MAX];

	if (!gitindex_work_tree(path, top, sizeof(top)) ||
	    !gitindex_path(top, index, sizeof(index)) || replace_read(&file, index, NULL) < 0)
		return false;
	snprintf(name, sizeof(name), "%s", path + strlen(top) + (top[strlen(top) - 1] != '/'));
	if (PATH_NATIVE == PATH_WINDOWS)
		for (char *p = name; *p; p++)
			if (*p == '\\')
				*p = '/';
	return gitindex_bytes_have(file.text.data, file.text.len, name);
}
