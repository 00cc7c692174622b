/* tools.c - `killick tools`: lists the tools of the servers in a config. */
#include <string.h>

#include "base/auto.h"
#include "base/table.h"
#include "catalogue.h"
#include "lists.h"
#include "show.h"
#include "stream.h"
#include "toolbox.h"

const char tools_help[] =
	"usage: killick tools [NAME] " TALK_USAGE "\n"
	"\n"
	"List the tools of the servers in a config, or show one of them with its\n"
	"parameters. With several servers the names are qualified: server__tool.\n"
	"\n" TALK_HELP("print an array with an object per server; NAME: the tool") TALK_EXITS;

static void tools_print_table(struct json tools)
{
	static const struct table_col cols[] = {
		{ .title = "NAME", .min = 20 },
		{ .title = "DESCRIPTION", .min = 20, .drop = true },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);
	struct json_iter it = json_iter(tools);
	char text[1024];

	while (json_each(&it)) {
		show_member(it.value, "name", text, sizeof(text));
		table_add(&table, text);
		show_member(it.value, "description", text, sizeof(text));
		if (!*text)
			show_member(it.value, "title", text, sizeof(text));
		table_add(&table, text);
	}
	table_print(&table, stdout, 0, cli_width());
}

static void print_all(struct talk *t)
{
	AUTO(toolbox_done) struct toolbox box = TOOLBOX_INIT;

	talk_missing_all(t);
	if (!toolbox_open(t, &box))
		return;
	if (json_count(box.tools) == 0)
		puts("no tools");
	else
		tools_print_table(box.tools);
}

static void print_one(struct talk *t, const char *name)
{
	AUTO(toolbox_done) struct toolbox box = TOOLBOX_INIT;
	AUTO(tool_done) struct tool tool = { .server = NULL };

	if (!toolbox_open(t, &box) || !toolbox_find(t, &box, name, &tool))
		return;
	if (t->json)
		show_json(stdout, tool.item);
	else
		catalogue_tool(stdout, tool.item, 0, cli_width());
}

/* On a terminal: print the tools of each server as soon as it is ready. */
static int tools_stream(struct talk *t)
{
	struct stream s;
	bool opened, streamed;

	stream_begin(&s, t);
	opened = talk_open(t);
	streamed = stream_end(&s);
	if (opened && streamed && !t->caught) {
		if (!s.printed)
			puts("no tools");
		talk_missing_all(t);
	} else if (opened && !streamed) {
		print_all(t);
	}
	return talk_close(t);
}

int verb_tools(int argc, char **argv)
{
	struct talk t = TALK_INIT(argv);
	int status;

	if (!talk_options(&t, argc, argv, tools_help, NULL, 1, &status))
		return status;
	if (cli_is_tty() && !t.json && !t.words.count && !t.words.command)
		return tools_stream(&t);
	if (t.words.count)
		toolbox_choose(&t, t.words.list[0]);
	if (!talk_open(&t))
		return talk_close(&t);
	if (t.words.count)
		print_one(&t, t.words.list[0]);
	else if (t.json)
		lists_json(&t, (const struct list_kind[]){ { KILLICK_TOOLS, "tools", "tools" } },
			   1);
	else
		print_all(&t);
	return talk_close(&t);
}
