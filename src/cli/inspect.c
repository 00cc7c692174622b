/* inspect.c - `killick inspect`: prints all that one server says about itself. */
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/text.h"
#include "catalogue.h"
#include "lists.h"
#include "show.h"
#include "talk_config.h"

const char inspect_help[] =
	"usage: killick inspect " TALK_USAGE "\n"
	"\n"
	"Print all that one server says about itself: name, protocol, capabilities,\n"
	"instructions, tools with their parameters, resources, templates and prompts.\n"
	"\n" TALK_HELP("print one object, with the server's own JSON unchanged") TALK_EXITS;

enum { TOOLS, RESOURCES, TEMPLATES, PROMPTS, KINDS };

static const struct {
	struct list_kind list;
	const char *title;
	void (*print)(FILE *out, struct json item, size_t indent, size_t width);
} kinds[KINDS] = {
	[TOOLS] = { { KILLICK_TOOLS, "tools", "tools" }, "tools", catalogue_tool },
	[RESOURCES] = { { KILLICK_RESOURCES, "resources", "resources" },
			"resources",
			catalogue_resource },
	[TEMPLATES] = { { KILLICK_TEMPLATES, "resources", "resourceTemplates" },
			"resource templates",
			catalogue_resource },
	[PROMPTS] = { { KILLICK_PROMPTS, "prompts", "prompts" }, "prompts", catalogue_prompt },
};

static void inspect_heading(const char *title, const char *rest)
{
	printf(cli_has_colour() ? "\n\033[1m%s\033[0m%s\n" : "\n%s%s\n", title, rest);
}

static struct json parsed(const char *text)
{
	struct json_fault fault;
	struct json v = JSON_NONE;

	if (json_check(text, strlen(text), 0, &v, &fault) < 0)
		return JSON_NONE;
	return v;
}

/* Write the capabilities: "tools (listChanged), resources (subscribe), logging". */
static void capabilities(struct json v, char *out, size_t size)
{
	struct json_iter it = json_iter(v);
	size_t len = 0;

	out[0] = '\0';
	while (json_each(&it) && len < size) {
		struct json_iter inner = json_iter(it.value);
		bool first = true, on;
		char name[128];

		json_string_into(it.key, name, sizeof(name));
		len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "", name);
		while (json_each(&inner) && len < size) {
			if (!json_bool(inner.value, &on) || !on)
				continue;
			json_string_into(inner.key, name, sizeof(name));
			len += (size_t)snprintf(out + len, size - len, "%s%s", first ? " (" : ", ",
						name);
			first = false;
		}
		if (!first && len < size)
			len += (size_t)snprintf(out + len, size - len, ")");
	}
}

static void print_facts(const struct killick_server_status *sv)
{
	struct json info = parsed(sv->info);
	char name[256], title[256], version[64], line[1024];
	size_t width = cli_width();

	show_member(info, "name", name, sizeof(name));
	show_member(info, "title", title, sizeof(title));
	show_member(info, "version", version, sizeof(version));
	printf(cli_has_colour() ? "\033[1m%s\033[0m\n" : "%s\n", sv->name);
	snprintf(line, sizeof(line), "%s%s%s%s%s%s", name, *version ? " " : "", version,
		 *title ? " (" : "", title, *title ? ")" : "");
	show_labelled(stdout, "  software", line, 14, width);
	snprintf(line, sizeof(line), "%s, era %s", sv->protocol, sv->era);
	show_labelled(stdout, "  protocol", line, 14, width);
	snprintf(line, sizeof(line), "level %s, pid %d", sv->level, sv->pid);
	show_labelled(stdout, "  held", line, 14, width);
	capabilities(parsed(sv->capabilities), line, sizeof(line));
	show_labelled(stdout, "  offers", *line ? line : "nothing", 14, width);
	if (*sv->instructions) {
		inspect_heading("instructions", "");
		show_block(stdout, sv->instructions, 2, width);
	}
}

static void print_kind(const struct lists *l, size_t server, size_t kind)
{
	struct json items = lists_of(l, server, kinds[kind].list.key);
	struct json_iter it = json_iter(items);
	char count[32];

	if (json_count(items) == 0)
		return;
	snprintf(count, sizeof(count), " (%zu)", json_count(items));
	inspect_heading(kinds[kind].title, count);
	while (json_each(&it))
		kinds[kind].print(stdout, it.value, 2, cli_width());
}

static void json_raw(struct emit *j, const char *key, struct json v, const char *otherwise)
{
	if (v.at)
		emit_raw(j, key, v.at, v.len);
	else
		emit_raw(j, key, otherwise, strlen(otherwise));
}

static void inspect_print_json(const struct killick_server_status *sv, size_t server,
			       const struct lists *lists)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&text);

	emit_open(&j, NULL, '{');
	emit_str(&j, "server", sv->name);
	emit_str(&j, "protocol", sv->protocol);
	emit_str(&j, "era", sv->era);
	emit_str(&j, "level", sv->level);
	json_raw(&j, "info", parsed(sv->info), "null");
	json_raw(&j, "capabilities", parsed(sv->capabilities), "{}");
	emit_str(&j, "instructions", sv->instructions);
	for (size_t k = 0; k < KINDS; k++)
		json_raw(&j, kinds[k].list.key, lists_of(&lists[k], server, kinds[k].list.key),
			 "[]");
	emit_close(&j);
	show_emitted(&j);
}

/* Before any server is started: is there only one server, or is one selected? */
static bool inspect_is_of_one(struct talk *t)
{
	AUTO(config_done) struct config c = { .count = 0 };
	char names[1024] = "";
	size_t count = 0, len = 0;

	if (t->server || t->words.command)
		return true;
	if (!talk_has_config(t))
		return false;
	if (!talk_config_read(t, &c))
		return true; /* talk_open then reports the error */
	for (size_t i = 0; i < c.count; i++) {
		if (c.servers[i].disabled)
			continue;
		if (len < sizeof(names))
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
						len ? ", " : "", c.servers[i].name);
		count++;
	}
	if (count < 2)
		return true;
	cli_usage(t->verb, "there are several servers: %s; give '--server NAME'", names);
	talk_fail(t, EXIT_USAGE);
	return false;
}

/* Find the index of the selected server in the status. */
static bool inspect_choose(struct talk *t, size_t *out)
{
	const struct killick_server_status *only = talk_only(t);

	if (only) {
		for (*out = 0; t->status->servers[*out] != only;)
			++*out;
		return true;
	}
	cli_usage(t->verb,
		  "the config has changed and has several servers now; give '--server NAME'");
	talk_fail(t, EXIT_USAGE);
	return false;
}

static void inspect(struct talk *t)
{
	struct lists lists[KINDS] = { LISTS_INIT };
	bool whole = true;
	size_t server;

	if (!inspect_choose(t, &server))
		return;
	for (size_t k = 0; k < KINDS && whole; k++)
		whole = lists_get(t, kinds[k].list.op, kinds[k].list.capability, &lists[k]);
	if (whole && t->json)
		inspect_print_json(t->status->servers[server], server, lists);
	else if (whole)
		print_facts(t->status->servers[server]);
	for (size_t k = 0; k < KINDS && whole && !t->json; k++)
		print_kind(&lists[k], server, k);
	for (size_t k = 0; k < KINDS; k++)
		lists_done(&lists[k]);
}

int verb_inspect(int argc, char **argv)
{
	struct talk t = TALK_INIT(argv);
	int status;

	if (!talk_options(&t, argc, argv, inspect_help, NULL, 0, &status))
		return status;
	t.warnings = true;
	if (inspect_is_of_one(&t) && talk_open(&t))
		inspect(&t);
	return talk_close(&t);
}
