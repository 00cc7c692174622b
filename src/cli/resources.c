/* resources.c - `killick resources`: lists the resources of the servers in a config. */
#include "base/auto.h"
#include "base/table.h"
#include "lists.h"
#include "show.h"

const char resources_help[] =
	"usage: killick resources " TALK_USAGE "\n"
	"\n"
	"List the resources and resource templates of the servers in a config.\n"
	"`killick read URI` reads a resource.\n"
	"\n" TALK_HELP("print an array with an object per server") TALK_EXITS;

static void add_rows(struct table *table, const struct talk *t, const struct lists *l,
		     const char *key, const char *uri_key)
{
	char text[1024], size[32];
	int64_t bytes;

	for (size_t i = 0; i < l->count; i++) {
		struct json_iter it = json_iter(lists_of(l, i, key));

		while (json_each(&it)) {
			show_member(it.value, uri_key, text, sizeof(text));
			table_add(table, text);
			show_member(it.value, "name", text, sizeof(text));
			table_add(table, text);
			show_member(it.value, "mimeType", text, sizeof(text));
			table_add(table, text);
			if (json_int(json_get(it.value, "size"), &bytes) && bytes >= 0)
				table_add(table, show_bytes((unsigned long long)bytes, size));
			else
				table_add(table, "");
			table_add(table, talk_only(t) ? "" : t->status->servers[i]->name);
			show_member(it.value, "description", text, sizeof(text));
			table_add(table, text);
		}
	}
}

static void resources_print_table(const struct talk *t, const struct lists *lists,
				  const struct lists *more)
{
	static const struct table_col cols[] = {
		{ .title = "URI", .min = 30 },
		{ .title = "NAME", .min = 12 },
		{ .title = "TYPE", .drop = true, .min = 10 },
		{ .title = "SIZE", .drop = true, .right = true },
		{ .title = "SERVER", .drop = true, .min = 8 },
		{ .title = "DESCRIPTION", .drop = true, .min = 12 },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);

	add_rows(&table, t, lists, "resources", "uri");
	add_rows(&table, t, more, "resourceTemplates", "uriTemplate");
	if (table.count)
		table_print(&table, stdout, 0, cli_width());
	else
		puts("no resources");
}

int verb_resources(int argc, char **argv)
{
	static const struct list_kind kinds[] = {
		{ KILLICK_RESOURCES, "resources", "resources" },
		{ KILLICK_TEMPLATES, "resources", "resourceTemplates" },
	};
	AUTO(lists_done) struct lists plain = LISTS_INIT;
	AUTO(lists_done) struct lists templates = LISTS_INIT;
	struct talk t = TALK_INIT(argv);
	int status;

	if (!talk_options(&t, argc, argv, resources_help, NULL, 0, &status))
		return status;
	if (!talk_open(&t))
		return talk_close(&t);
	if (t.json) {
		lists_json(&t, kinds, 2);
		return talk_close(&t);
	}
	talk_missing_all(&t);
	if (lists_get(&t, KILLICK_RESOURCES, "resources", &plain) &&
	    lists_get(&t, KILLICK_TEMPLATES, "resources", &templates))
		resources_print_table(&t, &plain, &templates);
	return talk_close(&t);
}
