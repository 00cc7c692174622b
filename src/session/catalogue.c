/* catalogue.c - see catalogue.h */
#include "session/catalogue.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sha256.h"
#include "config/expand.h"
#include "os/env.h"
#include "os/metadata.h"
#include "os/time.h"
#include "session/catalogue_file.h"

#define CATALOGUE_SAVE_MS 200 /* changes within this time are written together */

/* --- entries --- */

static size_t catalogue_len(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static size_t catalogue_size(const struct catalogue_entry *e)
{
	size_t bytes = sizeof(*e) + catalogue_len(e->protocol) + catalogue_len(e->info) +
		       catalogue_len(e->capabilities) + catalogue_len(e->instructions);

	for (int i = 0; i < CATALOGUE_KINDS; i++)
		bytes += e->lists[i].len;
	return bytes;
}

static void catalogue_free_list(struct json *list)
{
	free((char *)list->at);
	*list = JSON_NONE;
}

void catalogue_entry_free(struct catalogue_entry *e)
{
	for (int i = 0; i < CATALOGUE_KINDS; i++)
		catalogue_free_list(&e->lists[i]);
	free(e->protocol);
	free(e->info);
	free(e->capabilities);
	free(e->instructions);
	free(e);
}

static void catalogue_remove(struct catalogue *c, struct catalogue_entry *e)
{
	assert(c->count > 0 && c->bytes >= e->bytes);
	c->count--;
	c->bytes -= e->bytes;
	ring_remove(&e->in_order);
	catalogue_entry_free(e);
}

static struct catalogue_entry *catalogue_entry_of(struct ring *r)
{
	return CONTAINER_OF(r, struct catalogue_entry, in_order);
}

static void catalogue_on_save(struct loop_timer *t)
{
	struct catalogue *c = CONTAINER_OF(t, struct catalogue, save);

	/* one file per turn, so that other events of the loop do not wait for all files */
	RING_EACH(r, &c->entries) {
		struct catalogue_entry *e = catalogue_entry_of(r);

		if (!e->dirty)
			continue;
		e->dirty = false;
		catalogue_file_write(c->folder, e);
		loop_timer_set(c->loop, &c->save, 0, catalogue_on_save);
		return;
	}
}

/* The entry has changed: count its bytes again, make room, and write its file soon. */
static void catalogue_changed(struct catalogue *c, struct catalogue_entry *e)
{
	c->bytes -= e->bytes;
	e->bytes = catalogue_size(e);
	c->bytes += e->bytes;
	while (c->count > 1 && (c->count > CATALOGUE_MAX || c->bytes > CATALOGUE_BYTES)) {
		struct catalogue_entry *oldest = catalogue_entry_of(ring_first(&c->entries));

		if (oldest == e) /* the newest one stays */
			break;
		if (oldest->dirty && c->in_files)
			catalogue_file_write(c->folder, oldest);
		catalogue_remove(c, oldest);
	}
	e->dirty = c->in_files;
	if (c->in_files && !c->save.slot)
		loop_timer_set(c->loop, &c->save, CATALOGUE_SAVE_MS, catalogue_on_save);
}

static void catalogue_add(struct catalogue *c, struct catalogue_entry *e)
{
	e->bytes = catalogue_size(e);
	c->bytes += e->bytes;
	c->count++;
	ring_add(&c->entries, &e->in_order);
}

static struct catalogue_entry *catalogue_find(struct catalogue *c, const char *key)
{
	RING_EACH(r, &c->entries) {
		struct catalogue_entry *e = catalogue_entry_of(r);

		if (strcmp(e->key, key) != 0)
			continue;
		ring_remove(r); /* the most recently used is the last */
		ring_add(&c->entries, r);
		return e;
	}
	return NULL;
}

/* --- for other files --- */

void catalogue_init(struct catalogue *c, const char *cache_dir)
{
	*c = (struct catalogue){ .folder = catalogue_file_folder(cache_dir) };
	ring_init(&c->entries);
}

void catalogue_use_files(struct catalogue *c, struct loop *loop)
{
	if (c->in_files || !c->folder)
		return;
	c->in_files = true;
	c->loop = loop;
	catalogue_file_prepare(c->folder);
}

void catalogue_done(struct catalogue *c)
{
	if (c->in_files)
		loop_timer_stop(c->loop, &c->save);
	while (c->count > 0) {
		struct catalogue_entry *e = catalogue_entry_of(ring_first(&c->entries));

		if (e->dirty && c->in_files)
			catalogue_file_write(c->folder, e);
		catalogue_remove(c, e);
	}
	free(c->folder);
	c->folder = NULL;
	c->in_files = false;
}

void catalogue_key(const char *fingerprint, enum config_era era, unsigned features,
		   char out[CATALOGUE_KEY_SIZE])
{
	static const char letters[] = {
		[CONFIG_LEGACY] = 'l', [CONFIG_MODERN] = 'm', [CONFIG_AUTO] = 'a'
	};

	snprintf(out, CATALOGUE_KEY_SIZE, "%s-%c%x", fingerprint, letters[era], features & 0xff);
}

static void catalogue_hash_file(struct sha256 *h, const char *file)
{
	struct metadata m = { .size = 0 };
	unsigned long long words[4];

	metadata_of(file, &m);
	words[0] = m.device;
	words[1] = m.inode;
	words[2] = (unsigned long long)m.size;
	words[3] = (unsigned long long)m.modified_ms;
	sha256_add(h, words, sizeof(words));
}

void catalogue_stamp(const struct recipe *r, char out[CATALOGUE_STAMP_SIZE])
{
	char file[4096];
	struct metadata m;
	struct sha256 h;

	*out = '\0';
	if (r->environment || !r->argv[0])
		return;
	sha256_init(&h);
	if (strchr(r->argv[0], '/'))
		catalogue_hash_file(&h, r->argv[0]);
	else if (env_find_program(expand_lookup(r->envp, "PATH", 4), r->argv[0], file,
				  sizeof(file)))
		catalogue_hash_file(&h, file);
	for (char *const *arg = r->argv + 1; *arg; arg++) {
		bool relative = **arg != '/' && r->cwd;
		int len = snprintf(file, sizeof(file), "%s%s%s", relative ? r->cwd : "",
				   relative ? "/" : "", *arg);

		if (**arg == '-' || len < 0 || (size_t)len >= sizeof(file) ||
		    metadata_of(file, &m) < 0 || !m.file)
			continue;
		catalogue_hash_file(&h, file);
		break;
	}
	sha256_hex(&h, out);
}

const struct catalogue_entry *catalogue_get(struct catalogue *c, const char *key, const char *stamp)
{
	struct catalogue_entry *e = catalogue_find(c, key);

	if (!e && c->in_files) {
		e = catalogue_file_read(c->folder, key);
		if (e)
			catalogue_add(c, e);
	}
	if (e && strcmp(e->stamp, stamp) != 0) {
		catalogue_remove(c, e);
		e = NULL;
	}
	return e;
}

static int64_t catalogue_now_ms(void)
{
	return time_wall_ns() / 1000000;
}

bool catalogue_is_old(const struct catalogue_entry *e)
{
	int64_t age_ms = catalogue_now_ms() - e->told_ms;

	return age_ms > CATALOGUE_AGE_MS || age_ms < -CATALOGUE_AGE_MS; /* the clock was set */
}

static bool catalogue_set(char **at, const char *text)
{
	if (*at && strcmp(*at, text) == 0)
		return false;
	free(*at);
	*at = mem_dup(text);
	return true;
}

void catalogue_put(struct catalogue *c, const char *key, const char *stamp,
		   const struct client_facts *facts)
{
	/* not only a change in memory: the entry may be in a file */
	struct catalogue_entry *e = (struct catalogue_entry *)catalogue_get(c, key, stamp);
	bool changed = !e;

	if (!e) {
		e = mem_grow(NULL, 1, sizeof(*e));
		*e = (struct catalogue_entry){ .bytes = 0 };
		snprintf(e->key, sizeof(e->key), "%s", key);
		snprintf(e->stamp, sizeof(e->stamp), "%s", stamp);
		catalogue_add(c, e);
	}
	changed |= catalogue_is_old(e); /* the file has the time, too */
	e->told_ms = catalogue_now_ms();
	changed |= e->era != facts->era;
	e->era = facts->era;
	changed |= catalogue_set(&e->protocol, facts->protocol ? facts->protocol : "");
	changed |= catalogue_set(&e->info, facts->info);
	changed |= catalogue_set(&e->capabilities, facts->capabilities);
	changed |= catalogue_set(&e->instructions, facts->instructions);
	if (changed)
		catalogue_changed(c, e);
}

bool catalogue_put_list(struct catalogue *c, const char *key, enum catalogue_kind kind,
			struct json list)
{
	struct catalogue_entry *e = catalogue_find(c, key);
	struct json *at = e ? &e->lists[kind] : NULL;
	bool had;
	char *copy;

	if (!e || list.len > CATALOGUE_LIST_MAX ||
	    (at->at && at->len == list.len && memcmp(at->at, list.at, list.len) == 0))
		return false;
	copy = mem_try_text(list.at, list.len);
	if (!copy)
		return false;
	had = at->at != NULL;
	catalogue_free_list(at);
	*at = (struct json){ copy, list.len };
	catalogue_changed(c, e);
	return had;
}

void catalogue_drop_list(struct catalogue *c, const char *key, enum catalogue_kind kind)
{
	struct catalogue_entry *e = catalogue_find(c, key);

	if (!e || !e->lists[kind].at)
		return;
	catalogue_free_list(&e->lists[kind]);
	catalogue_changed(c, e);
}

void catalogue_put_asked(struct catalogue *c, const char *key)
{
	struct catalogue_entry *e = catalogue_find(c, key);

	if (!e || e->asked)
		return;
	e->asked = true;
	catalogue_changed(c, e);
}
