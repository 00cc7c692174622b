/* era.c - see era.h */
#include "session/era.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/spawn.h"

/* One line per verdict: fingerprint, space, "legacy" or "modern". */
#define LINE_MAX_LEN (FINGERPRINT_SIZE + 8)
#define FILE_MAX     (2 * ERA_MAX * LINE_MAX_LEN)

static struct era_verdict *era_find(const struct eras *es, const char *fingerprint)
{
	for (size_t i = 0; i < es->count; i++)
		if (strcmp(es->list[i].fingerprint, fingerprint) == 0)
			return &es->list[i];
	return NULL;
}

static void remove_at(struct eras *es, size_t at)
{
	assert(at < es->count);
	memmove(es->list + at, es->list + at + 1, (es->count - at - 1) * sizeof(*es->list));
	es->count--;
}

static void insert(struct eras *es, size_t at, const char *fingerprint, enum client_era era)
{
	struct era_verdict *v;

	assert(at <= es->count && strlen(fingerprint) < FINGERPRINT_SIZE);
	if (es->count == es->room) {
		es->room = es->room ? 2 * es->room : 8;
		es->list = mem_grow(es->list, es->room, sizeof(*es->list));
	}
	v = es->list + at;
	memmove(v + 1, v, (es->count - at) * sizeof(*v));
	es->count++;
	*v = (struct era_verdict){ .era = era };
	memcpy(v->fingerprint, fingerprint, strlen(fingerprint) + 1);
}

static bool era_read_line(const char *line, size_t len, char fingerprint[FINGERPRINT_SIZE],
			  enum client_era *era)
{
	const char *space = memchr(line, ' ', len);
	size_t name = space ? (size_t)(space - line) : 0, word = name ? len - name - 1 : 0;

	if (name != FINGERPRINT_SIZE - 1 || word != 6)
		return false;
	if (memcmp(space + 1, "legacy", 6) != 0 && memcmp(space + 1, "modern", 6) != 0)
		return false;
	memcpy(fingerprint, line, name);
	fingerprint[name] = '\0';
	*era = space[1] == 'l' ? ERA_LEGACY : ERA_MODERN;
	return true;
}

/* Add the verdicts of the file that are not in memory. They count as older than the verdicts in
 * memory. */
static void merge(struct eras *es, const char *text, size_t len)
{
	size_t at = 0;

	for (size_t line; len > 0; text += line, len -= line) {
		const char *end = memchr(text, '\n', len);
		char fingerprint[FINGERPRINT_SIZE];
		enum client_era era;

		line = end ? (size_t)(end - text) : len;
		if (es->count < ERA_MAX && era_read_line(text, line, fingerprint, &era) &&
		    !era_find(es, fingerprint))
			insert(es, at++, fingerprint, era);
		line += end != NULL;
	}
}

static size_t era_read_file(const char *file, char text[FILE_MAX])
{
	AUTO(fd_drop) int fd = file_open(file, FILE_READ_NOW);
	ssize_t n = fd < 0 ? -1 : fd_read(fd, text, FILE_MAX);

	return n < 0 ? 0 : (size_t)n;
}

static void era_write_file(const char *file, const struct buf *text)
{
	AUTO(buf_done) struct buf name = BUF_INIT(BUF_ANY_SIZE);
	bool written;
	int fd;

	buf_addf(&name, "%s.%d", file, spawn_own_pid());
	fd = file_open(name.data, FILE_PRIVATE);
	if (fd < 0)
		return;
	written = fd_write(fd, text->data, text->len) == (ssize_t)text->len;
	fd_close(fd);
	if (!written || file_rename(name.data, file) < 0)
		file_remove(name.data);
}

void eras_init(struct eras *es, const char *cache_dir)
{
	AUTO(buf_done) struct buf name = BUF_INIT(BUF_ANY_SIZE);
	AUTO(mem_drop) char *text = NULL;

	*es = (struct eras){ .list = NULL };
	if (!cache_dir)
		return;
	file_make_directories(cache_dir);
	buf_addf(&name, "%s/eras", cache_dir);
	es->file = buf_take(&name);
	text = mem_grow(NULL, FILE_MAX, 1);
	merge(es, text, era_read_file(es->file, text));
}

bool eras_get(const struct eras *es, const char *fingerprint, enum client_era *out)
{
	const struct era_verdict *v = era_find(es, fingerprint);

	if (!v || v->era == ERA_AUTO)
		return false;
	*out = v->era;
	return true;
}

/* A forgotten verdict stays in the list, so that merge does not take the old verdict from the file
 * again. */
void eras_forget(struct eras *es, const char *fingerprint)
{
	struct era_verdict *v = era_find(es, fingerprint);

	if (!v)
		return;
	v->era = ERA_AUTO;
	__atomic_store_n(&es->is_new, es->file != NULL, __ATOMIC_RELEASE);
}

void eras_put(struct eras *es, const char *fingerprint, enum client_era era)
{
	const struct era_verdict *v = era_find(es, fingerprint);

	assert(era == ERA_LEGACY || era == ERA_MODERN);
	if (v && v->era == era)
		return;
	if (v)
		remove_at(es, (size_t)(v - es->list));
	if (es->count >= ERA_MAX)
		remove_at(es, 0);
	insert(es, es->count, fingerprint, era);
	assert(es->count <= ERA_MAX);
	__atomic_store_n(&es->is_new, es->file != NULL, __ATOMIC_RELEASE);
}

/* One thread at a time, because all threads use the same temporary file. False: another thread is
 * saving. */
static bool eras_begin_save(struct eras *es, struct loop *loop)
{
	bool first;

	loop_lock(loop);
	first = !es->saving;
	es->saving = true;
	loop_unlock(loop);
	return first;
}

void eras_save(struct eras *es, struct loop *loop)
{
	AUTO(buf_done) struct buf out = BUF_INIT(FILE_MAX);
	AUTO(mem_drop) char *text = NULL;
	size_t len;

	if (!eras_begin_save(es, loop))
		return;
	text = mem_grow(NULL, FILE_MAX, 1);
	len = era_read_file(es->file, text);
	loop_lock(loop);
	merge(es, text, len);
	for (size_t i = 0; i < es->count; i++)
		if (es->list[i].era != ERA_AUTO)
			buf_addf(&out, "%s %s\n", es->list[i].fingerprint,
				 es->list[i].era == ERA_LEGACY ? "legacy" : "modern");
	__atomic_store_n(&es->is_new, false, __ATOMIC_RELEASE);
	loop_unlock(loop);
	era_write_file(es->file, &out);
	loop_lock(loop);
	es->saving = false;
	loop_unlock(loop);
}

void eras_done(struct eras *es)
{
	free(es->list);
	free(es->file);
	*es = (struct eras){ .list = NULL };
}
