/* configfile.c - see configfile.h */
#include "configfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "gitindex.h"
#include "os/file.h"
#include "wrapping.h"

static unsigned configfile_keys(const struct configfile *c)
{
	return c->client ? c->client->keys : KEYS_ANY;
}

void configfile_open(struct configfile *c, const struct client_file *f)
{
	struct err e = ERR_INIT;

	*c = (struct configfile){ .client = f->client,
				  .path = mem_dup(f->path),
				  .project = f->project,
				  .named = f->named,
				  .format = clients_format(f->path),
				  .file = REPLACE_INIT };
	if (replace_read(&c->file, c->path, &e) < 0) {
		snprintf(c->fault, sizeof(c->fault), "%s", e.text);
		return;
	}
	configfile_parse(c);
}

void configfile_parse(struct configfile *c)
{
	struct fault why;

	/* some clients create an empty file first */
	if (c->file.text.len > 0 && entries_find(c->file.text.data, c->file.text.len, c->format,
						 configfile_keys(c), &c->entries, &why) < 0)
		snprintf(c->fault, sizeof(c->fault), "%.150s:%u: %s", c->path, why.line,
			 why.reason);
	c->planned = mem_grow(NULL, c->entries.count + 1, sizeof(*c->planned));
	memset(c->planned, 0, c->entries.count + 1);
}

static struct wrapping configfile_wrapping(const struct configfile *c, const struct buf *text)
{
	return (struct wrapping){
		.text = text->data,
		.len = text->len,
		.format = c->format,
		.killick = c->killick,
		.hub = c->hub,
		.share = c->share,
		.idle = c->idle,
	};
}

static bool configfile_wants(const struct configfile *c, size_t i, const struct configfile_plan *p)
{
	const struct entry *e = &c->entries.list[i];
	struct wrapping w = configfile_wrapping(c, &c->file.text);

	if (p->server && strcmp(p->server, e->name) != 0)
		return false;
	if (e->state == ENTRY_BARE)
		return p->action == ACTION_WRAP;
	if (e->state != ENTRY_WRAPPED || !e->inner)
		return false;
	return p->action == ACTION_UNWRAP || e->lost ||
	       (p->hub && !entry_is_elsewhere(e) && (!e->hub || wrapping_options_differ(&w, e)));
}

/* Make the edits for the planned entries of `entries`, which are the entries of `text`. */
static void configfile_edit(const struct configfile *c, const struct entries *entries,
			    const struct buf *text, enum action action, struct edits *out)
{
	struct wrapping w = configfile_wrapping(c, text);

	for (size_t i = 0; i < entries->count; i++) {
		const struct entry *e = &entries->list[i];

		if (!c->planned[i])
			continue;
		if (action == ACTION_UNWRAP) {
			wrapping_unwrap(&w, e, out);
			continue;
		}
		if (e->state == ENTRY_BARE)
			wrapping_wrap(&w, e, out);
		else if (c->hub && e->hub)
			wrapping_set_options(&w, e, out);
		else if (c->hub)
			wrapping_move_to_hub(&w, e, out);
		if (e->lost)
			wrapping_set_killick(&w, e, out);
	}
}

/* Do both entries have the same words behind their first from_a and from_b words? */
static bool configfile_same_words(const struct entry *a, size_t from_a, const struct entry *b,
				  size_t from_b)
{
	size_t count = entry_word_count(a) - from_a;

	if (entry_word_count(b) - from_b != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *x = entry_word(a, from_a + i)->text,
			   *y = entry_word(b, from_b + i)->text;

		if (!x != !y || (x && strcmp(x, y) != 0))
			return false;
	}
	return true;
}

/* Does entry i of the new text have the words that the plan says? */
static bool configfile_entry_is_right(const struct configfile *c, size_t i,
				      const struct entries *after, enum action action)
{
	const struct entry *old = &c->entries.list[i], *now = &after->list[i];
	struct wrapping w = configfile_wrapping(c, &c->file.text);

	if (strcmp(old->name, now->name) != 0)
		return false;
	if (!c->planned[i])
		return configfile_same_words(old, 0, now, 0);
	if (action == ACTION_WRAP)
		return now->state == ENTRY_WRAPPED && now->inner > 0 &&
		       now->hub == (c->hub || old->hub) &&
		       (!c->hub || !wrapping_options_differ(&w, now)) &&
		       configfile_same_words(old, old->inner, now, now->inner);
	return configfile_same_words(old, old->inner, now, 0);
}

/* Unwrap the planned entries of the old text that are wrapped: these move to the hub, or get other
 * options. Returns false if there are none. */
static bool configfile_unwrap_old(const struct configfile *c, struct buf *out)
{
	AUTO(edits_done) struct edits back = EDITS_INIT;
	struct wrapping w = configfile_wrapping(c, &c->file.text);

	for (size_t i = 0; i < c->entries.count; i++)
		if (c->planned[i] && c->entries.list[i].state == ENTRY_WRAPPED)
			wrapping_unwrap(&w, &c->entries.list[i], &back);
	if (!back.count)
		return false;
	edits_apply(&back, c->file.text.data, c->file.text.len, out);
	return true;
}

/* Does unwrapping the new text give the old bytes? If the old text was wrapped, too: does
 * unwrapping both give the same bytes? */
static bool configfile_comes_back(const struct configfile *c, const struct buf *text,
				  const struct entries *after)
{
	AUTO(edits_done) struct edits back = EDITS_INIT;
	AUTO(mem_drop) struct fd_piece *pieces = NULL;
	AUTO(buf_done) struct buf bare = BUF_INIT(BUF_ANY_SIZE);
	bool moved = configfile_unwrap_old(c, &bare);
	const char *old = moved ? bare.data : c->file.text.data;
	size_t left = moved ? bare.len : c->file.text.len, n;

	configfile_edit(c, after, text, ACTION_UNWRAP, &back);
	n = edits_pieces(&back, text->data, text->len, &pieces);
	for (size_t i = 0; i < n; i++) {
		if (pieces[i].len > left || memcmp(old, pieces[i].bytes, pieces[i].len))
			return false;
		old += pieces[i].len;
		left -= pieces[i].len;
	}
	return left == 0;
}

/* Apply the plan in memory, read the result and check it. */
static bool configfile_check(const struct configfile *c, enum action action)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	AUTO(entries_done) struct entries after = { .count = 0 };
	struct fault why;

	if (c->edits.overlap)
		return false;
	edits_apply(&c->edits, c->file.text.data, c->file.text.len, &text);
	if (entries_find(text.data, text.len, c->format, configfile_keys(c), &after, &why) < 0 ||
	    after.count != c->entries.count)
		return false;
	for (size_t i = 0; i < after.count; i++)
		if (!configfile_entry_is_right(c, i, &after, action))
			return false;
	return action == ACTION_UNWRAP || configfile_comes_back(c, &text, &after);
}

/* Plan only entry i and check the result. Used when the plan for all entries is wrong. */
static bool configfile_try_one(struct configfile *c, size_t i, enum action action)
{
	size_t count = c->entries.count;
	AUTO(mem_drop) bool *all = mem_grow(NULL, count + 1, sizeof(*all));
	bool right;

	memcpy(all, c->planned, count + 1);
	memset(c->planned, 0, count + 1);
	c->planned[i] = true;
	edits_done(&c->edits);
	configfile_edit(c, &c->entries, &c->file.text, action, &c->edits);
	right = configfile_check(c, action);
	memcpy(c->planned, all, count + 1);
	return right;
}

static void configfile_give_up(struct configfile *c, size_t i, enum action action)
{
	struct entry *e = &c->entries.list[i];

	c->planned[i] = false;
	if (action == ACTION_WRAP && e->state == ENTRY_BARE)
		e->state = ENTRY_OTHER;
	e->inner = 0;
	e->why = "it is written in a way that killick cannot edit: edit it by hand";
}

static void configfile_settle(struct configfile *c, enum action action)
{
	configfile_edit(c, &c->entries, &c->file.text, action, &c->edits);
	if (configfile_check(c, action))
		return;
	for (size_t i = 0; i < c->entries.count; i++)
		if (c->planned[i] && !configfile_try_one(c, i, action))
			configfile_give_up(c, i, action);
	edits_done(&c->edits);
	configfile_edit(c, &c->entries, &c->file.text, action, &c->edits);
	if (configfile_check(c, action))
		return;
	for (size_t i = 0; i < c->entries.count; i++)
		if (c->planned[i])
			configfile_give_up(c, i, action);
	edits_done(&c->edits);
}

static void configfile_hide(struct configfile *c, const struct node *n)
{
	for (size_t i = 0; i < n->count; i++)
		configfile_hide(c, n->items[i]);
	if (n->kind != NODE_LIST && n->kind != NODE_MAP)
		edits_hide(&c->edits, n->span);
}

/* Hide `part` of the text of a word, which begins at `from` in the text of the node; the whole
 * value if its bytes have escapes. */
static void configfile_hide_part(struct configfile *c, const struct node *n, size_t from,
				 struct conceal_part part)
{
	const char *raw = c->file.text.data + n->span.at;
	size_t quote = strchr("\"'", *raw) ? 1 : 0, len = strlen(n->text);

	if (!part.len)
		return;
	if (len + 2 * quote == n->span.len && memcmp(raw + quote, n->text, len) == 0)
		edits_hide(&c->edits,
			   (struct span){ n->span.at + quote + from + part.at, part.len });
	else
		edits_hide(&c->edits, n->span);
}

/* Hide the secrets in the words of a command. A word with spaces may be several words. */
static void configfile_hide_words(struct configfile *c, const struct entry *e)
{
	struct conceal words = { .before = NULL };

	for (size_t i = 0; i < entry_word_count(e); i++) {
		const struct node *n = entry_word(e, i);
		struct conceal_part part = conceal_word(&words, n->text ? n->text : "");
		struct conceal inner = { .before = NULL };
		char held[2][512]; /* the word, and the one before it */
		unsigned which = 0;

		if (n->text)
			configfile_hide_part(c, n, 0, part);
		for (const char *p = n->text; p && !part.len && strchr(n->text, ' ') && *p;
		     which = !which) {
			size_t len = strcspn(p, " ");

			snprintf(held[which], sizeof(held[0]), "%.*s", (int)len, p);
			configfile_hide_part(c, n, (size_t)(p - n->text),
					     conceal_word(&inner, held[which]));
			p += len + (p[len] == ' ');
		}
	}
}

/* Values of variables and headers are often secret, so the diff must not show them. */
static void configfile_hide_secrets(struct configfile *c)
{
	static const char *const keys[] = { "env",     "envs",         "environment",
					    "headers", "http_headers", "requestOptions" };

	for (size_t i = 0; i < c->entries.count; i++) {
		const struct entry *e = &c->entries.list[i];

		configfile_hide_words(c, e);
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
			const struct node *n = node_get(e->server, keys[k]);

			if (n)
				configfile_hide(c, n);
			n = e->home != e->server ? node_get(e->home, keys[k]) : NULL;
			if (n)
				configfile_hide(c, n);
		}
	}
}

/* A command of several words in one string is split by a shell, and Windows has no shell that
 * splits as clients do. */
static void configfile_refuse_strings(struct configfile *c)
{
	for (size_t i = 0; i < c->entries.count; i++) {
		struct entry *e = &c->entries.list[i];

		if (e->state == ENTRY_BARE && entry_is_windows_line(e)) {
			e->state = ENTRY_OTHER;
			e->why = "the command and its arguments are one string: move the arguments "
				 "to args";
		}
	}
}

/* Returns why no server of the file is changed, or NULL. unwrap restores a file that git tracks: if
 * the file has wrapped servers, its user asked for them. */
static const char *configfile_obstacle(const struct configfile *c, enum action action)
{
	if (c->file.was.read_only)
		return "the file is read-only; make it writable and try again";
	if (action == ACTION_WRAP && !c->named && c->file.path && gitindex_has(c->file.path))
		return "git tracks the file, so other people would get the change; to change it "
		       "all the same, name the file: killick wrap FILE";
	return NULL;
}

void configfile_plan(struct configfile *c, const struct configfile_plan *p)
{
	if (p->system == MACHINE_WINDOWS && p->action == ACTION_WRAP)
		configfile_refuse_strings(c);
	c->hub = p->hub;
	c->share = p->share;
	c->idle = p->idle;
	c->killick = p->name && !(c->client && c->client->desktop) ? p->name : p->absolute;
	c->left_alone = configfile_obstacle(c, p->action);
	if (c->left_alone)
		return;
	for (size_t i = 0; i < c->entries.count; i++)
		c->planned[i] = configfile_wants(c, i, p);
	for (size_t i = 0; i < c->entries.count; i++)
		c->change_count += c->planned[i];
	if (!c->change_count)
		return;
	configfile_settle(c, p->action);
	if (!p->show_secrets)
		configfile_hide_secrets(c);
	c->change_count = 0;
	for (size_t i = 0; i < c->entries.count; i++)
		c->change_count += c->planned[i];
}

void configfile_diff(const struct configfile *c, const char *shown, FILE *out)
{
	edits_diff(&c->edits, c->file.text.data, c->file.text.len, shown, out);
}

/* Returns how many servers were wrapped when the file was read. */
static size_t configfile_count_wrapped(const struct configfile *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->entries.count; i++)
		count += c->entries.list[i].state == ENTRY_WRAPPED;
	return count;
}

int configfile_write(struct configfile *c, enum action action, struct err *e)
{
	AUTO(mem_drop) struct fd_piece *pieces = NULL;
	size_t n = edits_pieces(&c->edits, c->file.text.data, c->file.text.len, &pieces);
	size_t wrapped = configfile_count_wrapped(c);
	struct backup copy = { .fresh = false };
	int error = replace_check(&c->file, e);

	if (!error && action == ACTION_WRAP)
		error = backup_keep(&c->file, wrapped > 0, &copy, e);
	if (error)
		return error;
	error = replace_write(&c->file, pieces, n, e);
	if (error && copy.fresh)
		file_remove(copy.path);
	if (error)
		return error;
	if (action == ACTION_WRAP)
		backup_remember(&c->file);
	if (action == ACTION_UNWRAP && c->change_count == wrapped) {
		backup_drop(&c->file, pieces, n, &copy);
		backup_forget(&c->file);
	}
	if (*copy.path)
		c->backup = mem_dup(copy.path);
	return 0;
}

void configfile_done(struct configfile *c)
{
	edits_done(&c->edits);
	entries_done(&c->entries);
	mem_drop(&c->planned);
	mem_drop(&c->path);
	mem_drop(&c->backup);
	replace_done(&c->file);
}
