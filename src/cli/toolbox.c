/* toolbox.c - see toolbox.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "config/config.h"
#include "session/names.h"
#include "show.h"
#include "talk_config.h"
#include "toolbox.h"
#include "toolnames.h"

enum { WORD_MAX = 160, NAMED_MAX = 6 };

/* The list of all servers leaves out servers whose list failed: ask each of these servers again, to
 * report the reason. */
static void report_failed(struct talk *t)
{
	talk_look(t);
	for (size_t i = 0; i < t->status->count; i++) {
		const struct killick_server_status *sv = t->status->servers[i];
		struct killick_request rq =
			KILLICK_REQUEST(.op = KILLICK_TOOLS, .server = sv->name);

		if (talk_is_ready(sv) && talk_offers(sv, "tools") && sv->tools < 0)
			killick_result_free(talk_do(t, &rq));
	}
}

/* Get the server and the plain name of a tool from its listed name. */
static bool toolbox_resolve(struct talk *t, const struct toolbox *b, const char *listed,
			    struct tool *out)
{
	if (!b->server)
		return killick_tool_find(t->s, listed, &out->server, &out->name, NULL) ==
		       KILLICK_OK;
	out->server = mem_dup(b->server);
	out->name = mem_dup(listed);
	return true;
}

/* Returns the only server whose name qualifies `name`; NULL: none, or several. */
static const char *toolbox_qualifier(const struct config *c, const char *name)
{
	struct names names = NAMES_INIT;
	const char *found = NULL;
	size_t count = 0;

	for (size_t i = 0; i < c->count; i++)
		names_add(&names, c->servers[i].name, "x");
	names_settle(&names);
	for (size_t i = 0; i < c->count; i++) {
		const char *mine = names_of(&names, c->servers[i].name, "x");
		size_t len = strlen(mine) - 1; /* the length of the prefix with "__" */

		if (strncmp(name, mine, len) != 0 || !name[len])
			continue;
		found = c->servers[i].name;
		count++;
	}
	names_done(&names);
	return count == 1 ? found : NULL;
}

void toolbox_choose(struct talk *t, const char *name)
{
	AUTO(config_done) struct config c = { .count = 0 };
	const char *found = NULL;

	if (t->server || t->words.command || !talk_has_config(t) || !talk_config_read(t, &c))
		return;
	for (size_t i = 0; i < c.count && !found; i++)
		if (strcmp(c.servers[i].name, name) == 0 && !c.servers[i].disabled)
			found = c.servers[i].name;
	if (!found)
		found = toolbox_qualifier(&c, name);
	if (found)
		t->server = t->chosen = mem_dup(found);
}

/* Store the names for the completion of shells. */
static void toolbox_remember(struct talk *t, const struct toolbox *b)
{
	AUTO(toolnames_done) struct toolnames names = TOOLNAMES_INIT;
	struct json_iter it = json_iter(b->tools);

	if (!t->source)
		return;
	while (json_each(&it)) {
		AUTO(mem_drop) char *listed = NULL;
		AUTO(tool_done) struct tool one = { .item = it.value };

		if (json_string(json_get(it.value, "name"), &listed) &&
		    toolbox_resolve(t, b, listed, &one))
			toolnames_add(&names, one.server, one.name);
	}
	toolnames_save(&names, t->source);
}

bool toolbox_open(struct talk *t, struct toolbox *out)
{
	const struct killick_server_status *only = talk_only(t);
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_TOOLS, .server = only ? only->name : NULL);

	if (only && !talk_offers(only, "tools")) {
		talk_say(t, "%s: this server has no tools", only->name);
		talk_fail(t, EXIT_REFUSED);
		return false;
	}
	out->list = talk_do(t, &rq);
	if (!out->list)
		return false;
	out->tools = json_get(talk_json(out->list), "tools");
	out->server = only ? only->name : NULL;
	if (!only)
		report_failed(t);
	toolbox_remember(t, out);
	return true;
}

static bool is_close(const char *name, const char *other)
{
	return strlen(name) >= 3 && (strcasestr(other, name) || option_is_near(name, other));
}

struct named { /* names for a message */
	char text[1024];
	size_t count;
};

static void add_name(struct named *n, const char *name)
{
	size_t len = strlen(n->text);
	char clean[WORD_MAX];

	text_clean(name, strlen(name), clean, sizeof(clean));
	if (n->count++ < NAMED_MAX)
		snprintf(n->text + len, sizeof(n->text) - len, "%s%s", len ? ", " : "", clean);
	else if (n->count == NAMED_MAX + 2)
		snprintf(n->text + len, sizeof(n->text) - len, ", ...");
}

static void not_found(struct talk *t, const char *name, const struct named *close)
{
	if (t->chosen && strcmp(t->chosen, name) == 0) {
		talk_say(t,
			 "'%.80s' is a server, and it has no tool of this name; 'killick tools "
			 "--server %.80s' lists its tools",
			 name, name);
		talk_fail(t, EXIT_USAGE);
		return;
	}
	talk_missing_all(t); /* a server that failed may have the tool */
	talk_say(t, "no tool '%.80s'%s%s%s; 'killick tools' lists the tools", name,
		 close->count ? " (did you mean " : "", close->text, close->count ? "?)" : "");
	talk_fail(t, EXIT_USAGE);
}

/* Move the tool `one` to `out`. */
static void toolbox_take(struct tool *one, struct tool *out)
{
	tool_done(out);
	*out = *one;
	*one = (struct tool){ .server = NULL };
}

static bool same_tool(const struct tool *a, const struct tool *b)
{
	return a->server && b->server && strcmp(a->server, b->server) == 0 &&
	       strcmp(a->name, b->name) == 0;
}

bool toolbox_find(struct talk *t, const struct toolbox *b, const char *name, struct tool *out)
{
	struct json_iter it = json_iter(b->tools);
	struct named same = { .count = 0 }, close = { .count = 0 };
	AUTO(tool_done) struct tool found = { .server = NULL };
	AUTO(tool_done) struct tool qualified = { .server = NULL };

	killick_tool_find(t->s, name, &qualified.server, &qualified.name, NULL);
	while (json_each(&it)) {
		AUTO(mem_drop) char *listed = NULL;
		AUTO(tool_done) struct tool one = { .item = it.value };

		if (!json_string(json_get(it.value, "name"), &listed) ||
		    !toolbox_resolve(t, b, listed, &one))
			continue;
		if (strcmp(listed, name) == 0 || same_tool(&one, &qualified)) {
			same.count = 1; /* an exact match, even if other servers have the tool */
			toolbox_take(&one, &found);
			break;
		}
		if (strcmp(one.name, name) == 0) {
			add_name(&same, listed);
			toolbox_take(&one, &found);
		} else if (is_close(name, one.name) || is_close(name, listed)) {
			add_name(&close, listed);
		}
	}
	if (same.count == 1) {
		toolbox_take(&found, out);
		return true;
	}
	if (same.count == 0) {
		not_found(t, name, &close);
	} else {
		talk_say(t,
			 "'%.80s' is a tool of several servers: %s; name one of these or give "
			 "'--server'",
			 name, same.text);
		talk_fail(t, EXIT_USAGE);
	}
	return false;
}

void tool_done(struct tool *tool)
{
	free(tool->server);
	free(tool->name);
	*tool = (struct tool){ .server = NULL };
}

void toolbox_done(struct toolbox *b)
{
	killick_result_free(b->list);
	*b = (struct toolbox)TOOLBOX_INIT;
}
