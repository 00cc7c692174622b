/* tools.c - lists of tools as the host gets them: the tools that the config allows, under names
 * that a model can use.
 *
 * Each tool is copied as the server wrote it. If a tool gets a qualified name, only the bytes of
 * its name are replaced.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/json.h"
#include "session/call.h"
#include "session/event.h"
#include "session/pool.h"
#include "session/server.h"
#include "session/session.h"

/* Hints of the server, which it may leave out. Anything but `true` means: not known. */
static bool tools_is_repeatable(struct json tool)
{
	struct json annotations = json_get(tool, "annotations");
	bool reads = false, idempotent = false;

	json_bool(json_get(annotations, "readOnlyHint"), &reads);
	json_bool(json_get(annotations, "idempotentHint"), &idempotent);
	return reads || idempotent;
}

/* Add the names of the tools of a server to the names of the session, unless the lease is leaving,
 * because a new server may have this name already. If out is not NULL, the tools that may be used
 * are written to it. *left_out is set to the number of all other tools. 0 or -EMSGSIZE. */
static int tools_learn(struct lease *l, struct json tools, struct buf *out, long *left_out)
{
	struct names *names = l->state == LEASE_HELD ? &l->session->names : NULL;
	struct json_iter it = json_iter(tools);
	int r = 0;

	*left_out = 0;
	l->tools = 0;
	if (names)
		names_remove(names, lease_name(l));
	while (r == 0 && json_each(&it)) {
		AUTO(mem_drop) char *tool = NULL;

		if (!json_string(json_get(it.value, "name"), &tool) ||
		    !config_tool_allowed(lease_config(l), tool) ||
		    /* the second tool with the same name cannot be used */
		    (names && l->tools < NAMED_MAX && strlen(tool) <= TOOL_NAME_MAX &&
		     names_add(names, lease_name(l), tool) != 0)) {
			++*left_out;
			continue;
		}
		if (names && tools_is_repeatable(it.value))
			names_set_repeatable(names, lease_name(l), tool);
		if (out && l->tools > 0)
			r = buf_adds(out, ",");
		if (out && r == 0)
			r = buf_add(out, it.value.at, it.value.len);
		l->tools++;
	}
	return r;
}

int tools_of_one(struct lease *l, struct json list, struct buf *out)
{
	struct json tools = json_get(list, "tools");
	const char *behind = tools.at + tools.len;
	char text[200];
	long left_out;
	int r;

	tools_learn(l, tools, NULL, &left_out);
	if (left_out > 0) {
		r = buf_add(out, list.at, (size_t)(tools.at + 1 - list.at)); /* up to [ */
		if (r == 0)
			r = tools_learn(l, tools, out, &left_out);
		if (r == 0)
			r = buf_add(out, behind - 1,
				    (size_t)(list.at + list.len - behind + 1)); /* from ] */
		if (r < 0)
			return r;
	}
	names_settle(&l->session->names);
	if (l->tools > NAMED_MAX) {
		snprintf(text, sizeof(text),
			 "server '%s' has %ld tools; only the first %d have qualified names",
			 lease_name(l), l->tools, NAMED_MAX);
		event_warning(l->session, l, text);
	}
	return 0;
}

void tools_keep(struct lease *l, const struct client_result *r, uint64_t drops)
{
	struct server *sv = l->server;
	struct client_facts facts;
	int64_t for_ms;

	client_facts(sv->client, &facts);
	if (facts.era == ERA_MODERN)
		for_ms = r->ttl_ms;
	else
		for_ms = facts.tells_tools ? TOOLCACHE_UNTIL_CHANGED : 0;
	toolcache_put(&sv->tools, r->json, for_ms, drops);
}

/* Append an item with its name replaced by the qualified name. */
static int add_item(struct buf *out, struct json item, struct json name, const char *qualified)
{
	size_t before = (size_t)(name.at - item.at), after = before + name.len;

	assert(name.at > item.at && after < item.len);
	if (buf_add(out, item.at, before) < 0)
		return -EMSGSIZE;
	if (buf_addf(out, "\"%s\"", qualified) < 0)
		return -EMSGSIZE;
	return buf_add(out, item.at + after, item.len - after);
}

int tools_add_items(struct buf *out, const struct names *names, const char *server,
		    struct json items, bool *first)
{
	struct json_iter it = json_iter(items);
	int r = 0;

	for (int i = 0; r == 0 && i < NAMED_MAX && json_each(&it); i++) {
		AUTO(mem_drop) char *tool = NULL;
		struct json name = json_get(it.value, "name");
		const char *qualified = NULL;

		if (json_string(name, &tool))
			qualified = names_of(names, server, tool);
		if (!qualified) /* the name is too long, or the server was removed meanwhile */
			continue;
		r = *first ? 0 : buf_adds(out, ",");
		if (r == 0)
			r = add_item(out, it.value, name, qualified);
		*first = false;
	}
	return r;
}

int tools_of_all(struct killick_session *s, const struct part *parts, size_t count, struct buf *out)
{
	bool first = true;
	int r = buf_adds(out, "{\"tools\":[");

	for (size_t i = 0; i < count && r == 0; i++) {
		const struct killick_result *list = parts[i].result;
		struct json all = { .at = killick_result_json(list, &all.len) };

		if (killick_result_code(list) == 0)
			r = tools_add_items(out, &s->names, killick_result_server(list),
					    json_get(all, "tools"), &first);
	}
	return r == 0 ? buf_adds(out, "]}") : r;
}
