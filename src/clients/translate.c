/* translate.c - see translate.h */
#include "translate.h"

#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/json.h"
#include "base/path.h"

bool translate_is_needed(const struct configfile *c)
{
	struct json_fault why;
	struct json root;
	struct json_iter it;
	bool known = false;

	if (c->format != FORMAT_JSON)
		return true;
	if (*c->fault || json_check(c->file.text.data, c->file.text.len, JSON_RELAXED, &root, &why))
		return false;
	it = json_iter(root);
	while (it.object && json_each(&it)) {
		if (json_is(it.key, "projects"))
			return true;
		known |= json_is(it.key, "mcpServers") || json_is(it.key, "servers");
	}
	return !known && c->entries.count > 0;
}

static bool translate_is_candidate(const struct entry *e, const char *dir)
{
	if (e->scope && !path_is_below(dir, e->scope))
		return false;
	return e->state == ENTRY_REMOTE || entry_word_count(e) > 0;
}

/* Is entry i used, and not another entry with the same name? */
static bool translate_is_used(const struct configfile *c, size_t i, const char *dir)
{
	const struct entry *e = &c->entries.list[i];

	if (!translate_is_candidate(e, dir))
		return false;
	for (size_t k = 0; k < c->entries.count; k++) {
		const struct entry *other = &c->entries.list[k];

		if (k == i || strcmp(other->name, e->name) != 0 ||
		    !translate_is_candidate(other, dir))
			continue;
		if (!e->scope == !other->scope ? k > i : !e->scope)
			return false;
	}
	return true;
}

size_t translate_count(const struct configfile *c, const char *dir)
{
	size_t count = 0;

	for (size_t i = 0; i < c->entries.count; i++)
		count += translate_is_used(c, i, dir);
	return count;
}

/* Does the client expand ${NAME}, as the library does? */
static bool translate_expands(const struct configfile *c)
{
	return c->format == FORMAT_JSON &&
	       !(c->client && c->client->keys & (KEYS_CONTEXT_SERVERS | KEYS_MCP));
}

/* Write a text so that the library reads it unchanged: $${ stands for ${. */
static void translate_text(struct emit *j, const char *key, const char *text, bool expands)
{
	AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE);

	for (const char *p = text; !expands && (p = strstr(p, "${")) != NULL; p += 2) {
		buf_add(&b, text, (size_t)(p - text));
		buf_adds(&b, "$");
		text = p;
	}
	/* the rest, which begins with the last ${ */
	buf_adds(&b, text);
	emit_text(j, key, b.data, b.len);
}

static void translate_words(struct emit *j, const struct entry *e, bool expands)
{
	/* without the inner killick, but with the shell that splits a command of several words */
	size_t i = e->state == ENTRY_WRAPPED && e->inner ? e->behind : 0;
	const struct node *word = entry_word(e, i);

	translate_text(j, "command", word->text ? word->text : "", expands);
	emit_open(j, "args", '[');
	while ((word = entry_word(e, ++i)) != NULL)
		translate_text(j, NULL, word->text ? word->text : "", expands);
	emit_close(j);
}

static void translate_env(struct emit *j, const struct entry *e, bool expands)
{
	static const char *const names[] = { "env", "envs", "environment" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct node *env = node_get(e->server, names[i]);

		if (!env && e->home)
			env = node_get(e->home, names[i]);
		if (!env || env->kind != NODE_MAP)
			continue;
		emit_open(j, "env", '{');
		for (size_t k = 0; k < env->count; k++)
			if (env->items[k]->text && env->items[k]->name)
				translate_text(j, env->items[k]->name, env->items[k]->text,
					       expands);
		emit_close(j);
		return;
	}
}

/* 1_000 and 0xff are not JSON; as a string, the library refuses them and names the line. */
static void translate_number(struct emit *j, const char *key, const char *text)
{
	struct json_fault why;
	struct json v;

	if (json_check(text, strlen(text), 0, &v, &why) == 0)
		emit_raw(j, key, text, strlen(text));
	else
		emit_text(j, key, text, strlen(text));
}

/* Write the value of a key that the library knows, too. */
static void translate_node(struct emit *j, const char *key, const struct node *n)
{
	switch (n->kind) {
	case NODE_LIST:
		emit_open(j, key, '[');
		for (size_t i = 0; i < n->count; i++)
			translate_node(j, NULL, n->items[i]);
		emit_close(j);
		return;
	case NODE_MAP:
		emit_open(j, key, '{');
		for (size_t i = 0; i < n->count; i++)
			translate_node(j, n->items[i]->name, n->items[i]);
		emit_close(j);
		return;
	case NODE_BOOL:
		emit_bool(j, key, n->text[0] == 't');
		return;
	case NODE_NUMBER:
		translate_number(j, key, n->text);
		return;
	case NODE_STRING:
	case NODE_OTHER:
		emit_text(j, key, n->text ? n->text : "", n->text ? strlen(n->text) : 0);
		return;
	case NODE_NULL:
		emit_null(j, key);
	}
}

/* The URL of a server; NULL: none. */
static const char *translate_address(const struct entry *e)
{
	static const char *const addresses[] = { "url", "serverUrl", "httpUrl", "uri" };
	const char *url = NULL;

	for (size_t i = 0; !url && i < sizeof(addresses) / sizeof(addresses[0]); i++)
		url = node_string(node_get(e->server, addresses[i]));
	return url;
}

static void translate_rest(struct emit *j, const struct entry *e, bool expands)
{
	static const char *const keys[] = { "env_vars",         "startup_timeout_sec",
					    "tool_timeout_sec", "startup_timeout_ms",
					    "enabled_tools",    "disabled_tools",
					    "required" };
	const char *cwd = node_string(node_get(e->server, "cwd")), *url = translate_address(e);
	const struct node *n;

	if (cwd)
		translate_text(j, "cwd", cwd, expands);
	if (e->disabled)
		emit_bool(j, "disabled", true);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		n = node_get(e->server, keys[i]);
		if (n)
			translate_node(j, keys[i], n);
	}
	/* A client may use the URL and not the command: the library refuses both without a type. */
	if (url && !node_get(e->server, "type") && !node_get(e->server, "transport"))
		emit_text(j, "url", url, strlen(url));
	/* A second one is refused by the library: the server fails. */
	for (size_t i = 0; i < e->server->count; i++) {
		const char *place = entry_place(e, i);

		if (place)
			emit_text(j, "environment", place, strlen(place));
	}
	n = node_get(e->server, "available_tools"); /* goose; an empty list means all */
	if (n && n->kind == NODE_LIST && n->count)
		translate_node(j, "enabledTools", n);
}

static void translate_remote(struct emit *j, const struct entry *e)
{
	const char *url = translate_address(e);

	emit_str(j, "type", "http");
	if (url)
		emit_text(j, "url", url, strlen(url));
	if (e->disabled)
		emit_bool(j, "disabled", true);
}

static void translate_entry(const struct configfile *c, const struct entry *e, struct buf *out)
{
	struct emit j = EMIT_INIT(out);
	bool expands = translate_expands(c);

	emit_open(&j, NULL, '{');
	if (e->state == ENTRY_REMOTE) {
		translate_remote(&j, e);
	} else {
		translate_words(&j, e, expands);
		translate_env(&j, e, expands);
		translate_rest(&j, e, expands);
	}
	emit_close(&j);
	emit_end(&j);
}

void translate(const struct configfile *c, const char *dir, struct buf *out)
{
	unsigned line = 1;
	bool first = true;

	buf_adds(out, "{\"mcpServers\":{");
	for (size_t i = 0; i < c->entries.count; i++) {
		const struct entry *e = &c->entries.list[i];

		if (!translate_is_used(c, i, dir))
			continue;
		if (!first)
			buf_adds(out, ",");
		first = false;
		for (; line < e->line; line++)
			buf_adds(out, "\n");
		emit_quoted(out, e->name, strlen(e->name));
		buf_adds(out, ":");
		translate_entry(c, e, out);
	}
	buf_adds(out, "}}");
}
