/* catalogue.c - see catalogue.h */
#include "session/catalogue.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"
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

/* --- writing --- */

struct catalogue_write {
	struct work work;
	struct catalogue *catalogue; /* used by the loop alone */
	char *folder;
	char key[CATALOGUE_KEY_SIZE];
	struct buf text;
};

static void catalogue_on_save(struct loop_timer *t);

/* The folder does not answer. */
static void catalogue_give_up(struct catalogue *c)
{
	c->in_files = false;
	loop_timer_stop(c->loop, &c->save);
}

static void catalogue_write_run(struct work *w)
{
	const struct catalogue_write *cw = CONTAINER_OF(w, struct catalogue_write, work);

	catalogue_file_write(cw->folder, cw->key, &cw->text);
}

static void catalogue_write_drop(struct work *w)
{
	struct catalogue_write *cw = CONTAINER_OF(w, struct catalogue_write, work);

	buf_done(&cw->text);
	free(cw->folder);
	free(cw);
}

static void catalogue_write_done(struct work *w)
{
	struct catalogue *c = CONTAINER_OF(w, struct catalogue_write, work)->catalogue;

	c->writing = NULL;
	catalogue_write_drop(w);
	if (c->in_files)
		loop_timer_set(c->loop, &c->save, 0, catalogue_on_save);
}

static void catalogue_write_late(struct work *w)
{
	struct catalogue *c = CONTAINER_OF(w, struct catalogue_write, work)->catalogue;

	c->writing = NULL;
	catalogue_give_up(c);
}

/* Write the file of the entry, by a thread if there are threads. */
static void catalogue_write(struct catalogue *c, struct catalogue_entry *e)
{
	struct catalogue_write *cw = mem_grow(NULL, 1, sizeof(*cw));

	*cw = (struct catalogue_write){ .catalogue = c,
					.folder = mem_dup(c->folder),
					.text = BUF_INIT(CATALOGUE_FILE_MAX) };
	cw->work = (struct work){ .run = catalogue_write_run,
				  .done = catalogue_write_done,
				  .drop = catalogue_write_drop,
				  .late = catalogue_write_late,
				  .about = cw->folder };
	memcpy(cw->key, e->key, sizeof(cw->key));
	e->dirty = false;
	if (catalogue_file_text(e, &cw->text) < 0) {
		catalogue_write_drop(&cw->work);
	} else if (!c->workers) {
		catalogue_write_run(&cw->work);
		catalogue_write_drop(&cw->work);
	} else if (workers_try(c->workers, &cw->work)) {
		catalogue_write_drop(&cw->work);
		catalogue_give_up(c);
	} else {
		c->writing = cw;
	}
}

static void catalogue_on_save(struct loop_timer *t)
{
	struct catalogue *c = CONTAINER_OF(t, struct catalogue, save);

	/* one file per turn, so that other events of the loop do not wait for all files */
	RING_EACH(r, &c->entries) {
		struct catalogue_entry *e = catalogue_entry_of(r);

		if (!e->dirty)
			continue;
		catalogue_write(c, e);
		if (c->in_files && !c->writing)
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
		struct catalogue_entry *oldest;

		assert(!ring_is_empty(&c->entries));
		oldest = catalogue_entry_of(c->entries.next);
		if (oldest == e) /* the newest one stays */
			break;
		if (oldest->dirty && c->in_files && !c->workers)
			catalogue_write(c, oldest);
		catalogue_remove(c, oldest);
	}
	e->dirty = c->in_files;
	if (c->in_files && !c->save.slot && !c->writing)
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

void catalogue_use_files(struct catalogue *c, struct loop *loop, struct workers *workers)
{
	if (c->loop || !c->folder)
		return;
	c->in_files = true;
	c->loop = loop;
	c->workers = workers;
	if (!workers)
		catalogue_file_prepare(c->folder);
}

void catalogue_flush(struct catalogue *c)
{
	if (c->in_files && c->workers && !c->writing)
		loop_timer_set(c->loop, &c->save, 0, catalogue_on_save);
}

bool catalogue_is_saved(void *catalogue)
{
	const struct catalogue *c = catalogue;

	return !c->in_files || !c->workers || (!c->writing && !c->save.slot);
}

void catalogue_done(struct catalogue *c)
{
	if (c->in_files)
		loop_timer_stop(c->loop, &c->save);
	if (c->writing) /* the folder may hang */
		workers_abandon(&c->writing->work);
	c->writing = NULL;
	while (c->count > 0) {
		struct catalogue_entry *e = catalogue_entry_of(ring_first(&c->entries));

		if (e->dirty && c->in_files && !c->workers)
			catalogue_write(c, e);
		catalogue_remove(c, e);
	}
	free(c->folder);
	c->folder = NULL;
	c->in_files = false;
}

/* --- reading by a thread --- */

struct catalogue_fetch {
	struct work work;
	struct catalogue *catalogue; /* used by the loop alone */
	char *folder, **fingerprints;
	bool prepare;
	struct ring found; /* struct catalogue_entry */
	void (*done)(void *ctx);
	void *ctx;
};

static void catalogue_fetch_run(struct work *w)
{
	struct catalogue_fetch *f = CONTAINER_OF(w, struct catalogue_fetch, work);

	if (f->prepare)
		catalogue_file_prepare(f->folder);
	catalogue_file_read_all(f->folder, f->fingerprints, &f->found);
}

static void catalogue_fetch_drop(struct work *w)
{
	struct catalogue_fetch *f = CONTAINER_OF(w, struct catalogue_fetch, work);

	for (struct ring *r; (r = ring_first(&f->found)) != NULL;) {
		ring_remove(r);
		catalogue_entry_free(catalogue_entry_of(r));
	}
	strings_free(f->fingerprints);
	free(f->folder);
	free(f);
}

static void catalogue_fetch_done(struct work *w)
{
	struct catalogue_fetch *f = CONTAINER_OF(w, struct catalogue_fetch, work);

	RING_EACH(r, &f->found) {
		struct catalogue_entry *e = catalogue_entry_of(r);

		if (catalogue_find(f->catalogue, e->key))
			continue;
		ring_remove(r);
		catalogue_add(f->catalogue, e);
	}
	f->done(f->ctx);
	catalogue_fetch_drop(w);
}

static void catalogue_fetch_late(struct work *w)
{
	struct catalogue_fetch *f = CONTAINER_OF(w, struct catalogue_fetch, work);

	catalogue_give_up(f->catalogue);
	f->done(f->ctx);
}

static bool catalogue_has(const struct catalogue *c, const char *fingerprint)
{
	size_t len = strlen(fingerprint);

	RING_EACH(r, &c->entries) {
		const char *key = catalogue_entry_of(r)->key;

		if (strncmp(key, fingerprint, len) == 0 && key[len] == '-')
			return true;
	}
	return false;
}

struct catalogue_fetch *catalogue_fetch(struct catalogue *c, const struct config *config,
					void (*done)(void *ctx), void *ctx)
{
	char **wanted = mem_grow(NULL, config->count + 1, sizeof(*wanted));
	struct catalogue_fetch *f;
	size_t count = 0;

	for (size_t i = 0; c->workers && c->in_files && i < config->count; i++)
		if (!catalogue_has(c, config->servers[i].fingerprint))
			wanted[count++] = mem_dup(config->servers[i].fingerprint);
	wanted[count] = NULL;
	if (count == 0) {
		strings_free(wanted);
		return NULL;
	}
	f = mem_grow(NULL, 1, sizeof(*f));
	*f = (struct catalogue_fetch){ .catalogue = c,
				       .folder = mem_dup(c->folder),
				       .fingerprints = wanted,
				       .prepare = !c->prepared,
				       .done = done,
				       .ctx = ctx };
	ring_init(&f->found);
	f->work = (struct work){ .run = catalogue_fetch_run,
				 .done = catalogue_fetch_done,
				 .drop = catalogue_fetch_drop,
				 .late = catalogue_fetch_late,
				 .about = f->folder };
	c->prepared = true;
	if (!workers_try(c->workers, &f->work))
		return f;
	catalogue_fetch_drop(&f->work);
	catalogue_give_up(c);
	return NULL;
}

void catalogue_fetch_cancel(struct catalogue_fetch *f)
{
	workers_abandon(&f->work);
}

void catalogue_key(const char *fingerprint, enum config_era era, unsigned features,
		   char out[CATALOGUE_KEY_SIZE])
{
	static const char letters[] = {
		[CONFIG_LEGACY] = 'l', [CONFIG_MODERN] = 'm', [CONFIG_AUTO] = 'a'
	};

	snprintf(out, CATALOGUE_KEY_SIZE, "%s-%c%x", fingerprint, letters[era], features & 0xff);
}

const struct catalogue_entry *catalogue_get(struct catalogue *c, const char *key, const char *stamp)
{
	struct catalogue_entry *e = catalogue_find(c, key);

	if (!e && c->in_files && !c->workers) {
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
