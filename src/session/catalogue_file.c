/* catalogue_file.c - see catalogue_file.h */
#include "session/catalogue_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/emit.h"
#include "base/mem.h"
#include "base/strings.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/metadata.h"
#include "os/spawn.h"

#define CATALOGUE_FORM 1 /* of the file; other forms are ignored */

static const char *const catalogue_list_names[] = {
	[CATALOGUE_TOOLS] = "tools",
	[CATALOGUE_RESOURCES] = "resources",
	[CATALOGUE_TEMPLATES] = "templates",
	[CATALOGUE_PROMPTS] = "prompts",
};

char *catalogue_file_folder(const char *cache_dir)
{
	AUTO(buf_done) struct buf name = BUF_INIT(BUF_ANY_SIZE);

	if (!cache_dir)
		return NULL;
	buf_addf(&name, "%s/catalogue", cache_dir);
	return buf_take(&name);
}

struct catalogue_age {
	long long modified_ms;
	char *name; /* borrowed */
};

static int catalogue_by_age(const void *a, const void *b)
{
	const struct catalogue_age *x = a, *y = b;

	return (x->modified_ms > y->modified_ms) - (x->modified_ms < y->modified_ms);
}

void catalogue_file_prepare(const char *folder)
{
	char **names = NULL;
	struct catalogue_age *ages;
	size_t count;

	file_make_directories(folder);
	names = file_names(folder);
	count = strings_count(names);
	if (count > CATALOGUE_MAX) {
		ages = mem_grow(NULL, count, sizeof(*ages));
		for (size_t i = 0; i < count; i++) {
			AUTO(buf_done) struct buf path = BUF_INIT(BUF_ANY_SIZE);
			struct metadata m = { .size = 0 };

			buf_addf(&path, "%s/%s", folder, names[i]);
			metadata_of(path.data, &m);
			ages[i] = (struct catalogue_age){ m.modified_ms, names[i] };
		}
		qsort(ages, count, sizeof(*ages), catalogue_by_age);
		for (size_t i = 0; i < count - CATALOGUE_MAX; i++) {
			AUTO(buf_done) struct buf path = BUF_INIT(BUF_ANY_SIZE);

			buf_addf(&path, "%s/%s", folder, ages[i].name);
			file_remove(path.data);
		}
		free(ages);
	}
	strings_free(names);
}

int catalogue_file_text(const struct catalogue_entry *e, struct buf *out)
{
	struct emit j = EMIT_INIT(out);

	if (!e->protocol)
		return -EINVAL;
	emit_open(&j, NULL, '{');
	emit_int(&j, "form", CATALOGUE_FORM);
	emit_str(&j, "key", e->key);
	emit_text(&j, "stamp", e->stamp, strlen(e->stamp));
	emit_str(&j, "era", e->era == ERA_MODERN ? "modern" : "legacy");
	emit_text(&j, "protocol", e->protocol, strlen(e->protocol));
	emit_raw(&j, "info", e->info, strlen(e->info));
	emit_raw(&j, "capabilities", e->capabilities, strlen(e->capabilities));
	emit_text(&j, "instructions", e->instructions, strlen(e->instructions));
	emit_bool(&j, "asked", e->asked);
	for (int i = 0; i < CATALOGUE_KINDS; i++)
		if (e->lists[i].at)
			emit_raw(&j, catalogue_list_names[i], e->lists[i].at, e->lists[i].len);
	emit_close(&j);
	return emit_end(&j);
}

static bool catalogue_file_write_all(int fd, const struct buf *text)
{
	for (size_t done = 0; done < text->len;) {
		ssize_t n = fd_write(fd, text->data + done, text->len - done);

		if (n <= 0 && n != -EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

void catalogue_file_write(const char *folder, const char *key, const struct buf *text)
{
	AUTO(buf_done) struct buf name = BUF_INIT(BUF_ANY_SIZE), part = BUF_INIT(BUF_ANY_SIZE);
	bool written;
	int fd;

	buf_addf(&name, "%s/%s", folder, key);
	buf_addf(&part, "%s.%d", name.data, spawn_own_pid());
	fd = file_open(part.data, FILE_PRIVATE);
	if (fd < 0)
		return;
	written = catalogue_file_write_all(fd, text);
	fd_close(fd);
	if (!written || file_rename(part.data, name.data) < 0)
		file_remove(part.data);
}

static int catalogue_file_bytes(const char *path, struct buf *out)
{
	AUTO(fd_drop) int fd = file_open(path, FILE_READ_OWN);
	ssize_t n = fd < 0 ? fd : 1;

	while (n > 0) {
		char *piece = buf_reserve(out, 65536) < 0 ? NULL : out->data + out->len;

		n = piece ? fd_read(fd, piece, 65536) : -EMSGSIZE;
		if (n > 0) {
			out->len += (size_t)n;
			out->data[out->len] = '\0';
		} else if (n == -EINTR) {
			n = 1;
		}
	}
	return (int)n;
}

static bool catalogue_file_take(struct json from, const char *key, enum json_type type, char **out)
{
	struct json v = json_get(from, key);

	if (json_type(v) != type)
		return false;
	if (type == JSON_STRING)
		return json_string(v, out);
	*out = mem_try_text(v.at, v.len);
	return *out != NULL;
}

static bool catalogue_file_parse(struct json v, const char *key, struct catalogue_entry *e)
{
	int64_t form = 0;

	if (!json_int(json_get(v, "form"), &form) || form != CATALOGUE_FORM ||
	    !json_is(json_get(v, "key"), key))
		return false;
	snprintf(e->key, sizeof(e->key), "%s", key);
	json_string_into(json_get(v, "stamp"), e->stamp, sizeof(e->stamp));
	e->era = json_is(json_get(v, "era"), "modern") ? ERA_MODERN : ERA_LEGACY;
	json_bool(json_get(v, "asked"), &e->asked);
	if (!catalogue_file_take(v, "protocol", JSON_STRING, &e->protocol) ||
	    !catalogue_file_take(v, "info", JSON_OBJECT, &e->info) ||
	    !catalogue_file_take(v, "capabilities", JSON_OBJECT, &e->capabilities) ||
	    !catalogue_file_take(v, "instructions", JSON_STRING, &e->instructions))
		return false;
	for (int i = 0; i < CATALOGUE_KINDS; i++) {
		struct json list = json_get(v, catalogue_list_names[i]);

		if (json_type(list) == JSON_OBJECT)
			e->lists[i] = (struct json){ mem_try_text(list.at, list.len), list.len };
		if (!e->lists[i].at)
			e->lists[i].len = 0;
	}
	return true;
}

struct catalogue_entry *catalogue_file_read(const char *folder, const char *key)
{
	AUTO(buf_done)
	struct buf name = BUF_INIT(BUF_ANY_SIZE), text = BUF_INIT(CATALOGUE_FILE_MAX);
	struct catalogue_entry *e;
	struct json_fault fault;
	struct metadata m;
	struct json v;

	buf_addf(&name, "%s/%s", folder, key);
	if (metadata_of(name.data, &m) < 0 || catalogue_file_bytes(name.data, &text) < 0 ||
	    json_check(text.data, text.len, 0, &v, &fault) < 0)
		return NULL;
	e = mem_grow(NULL, 1, sizeof(*e));
	*e = (struct catalogue_entry){ .told_ms = m.modified_ms };
	if (catalogue_file_parse(v, key, e))
		return e;
	catalogue_entry_free(e);
	return NULL;
}

void catalogue_file_read_all(const char *folder, char *const *fingerprints, struct ring *out)
{
	char **names = file_names(folder);

	for (size_t i = 0; names && names[i]; i++) {
		char *minus = strchr(names[i], '-');
		struct catalogue_entry *e;
		bool wanted;

		if (!minus || strchr(minus, '.')) /* a file that is being written */
			continue;
		*minus = '\0';
		wanted = strings_have(fingerprints, names[i]);
		*minus = '-';
		e = wanted ? catalogue_file_read(folder, names[i]) : NULL;
		if (e)
			ring_add(out, &e->in_order);
	}
	strings_free(names);
}
