/* ps.c - `killick ps`: lists every tree of this user, with its owner, its processes, memory and CPU
 * time. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/forest.h"
#include "cli/ps_on.h"
#include "cli/show.h"
#include "trees.h"

const char ps_help[] =
	"usage: killick ps [--tree] [--json]\n"
	"       killick ps --on PLACE [--all] [--json] [--config FILE]\n"
	"                  [--token-env NAME]\n"
	"\n"
	"List the trees of this user. A tree is a server that `killick run` holds, and\n"
	"every process it started.\n"
	"\n"
	"  --tree   draw the processes of each tree\n"
	"  --json   print all facts as one JSON array\n"
	"  --on     list the processes of an executor (see 'killick help run-on');\n"
	"           ssh runs `killick ps` there. --all: list ended processes, too\n"
	"\n"
	"OWNER is the program that uses the server, or `gone`. PROCS, RSS and CPU count\n"
	"the server and the processes below it whose parents still run; killick holds the\n"
	"others, too. STATE is\n"
	"  running    the owner uses the server\n"
	"  stopping   the end has begun; after it the reason: stdin, owner, exit ...\n"
	"  overdue    the tree should have ended by now; its keeper still works on it\n"
	"\n"
	"Exit status: 0, also when there are no trees; 64 usage; with --on 65 config\n"
	"refused, 69 the executor does not answer, or the exit status of ssh.\n";

static void ps_title(const struct record *rec, char *out, size_t size)
{
	const char *text = *rec->name ? rec->name : *rec->command ? rec->command : rec->tree;

	text_clean(text, strlen(text), out, size);
}

static void ps_state(const struct trees *ts, const struct tree *t, char out[64])
{
	char why[24];

	text_clean(t->rec.why, strlen(t->rec.why), why, sizeof(why));
	snprintf(out, 64, "%s%s%s%s", tree_state(ts, t), *why ? " (" : "", why, *why ? ")" : "");
}

static void ps_owner(const struct tree *t, char *out, size_t size)
{
	char name[260];

	text_clean(t->owner, strlen(t->owner), name, sizeof(name));
	if (t->has_owner)
		snprintf(out, size, "%d %s", t->rec.owner.pid, name);
	else
		snprintf(out, size, "%s", t->rec.owner.pid ? "gone" : "-");
}

static void ps_add_row(struct table *table, const struct trees *ts, const struct tree *t)
{
	char text[600], size[16], span[24], state[64];

	ps_title(&t->rec, text, sizeof(text));
	table_add(table, text);
	ps_owner(t, text, sizeof(text));
	table_add(table, text);
	table_addf(table, "%d", t->rec.server.pid);
	table_addf(table, "%zu", t->count);
	table_add(table, text_size(t->rss, size));
	table_add(table, text_span(t->cpu_ms, span));
	table_add(table, text_span(t->age_ms, span));
	table_add(table, *t->rec.level ? t->rec.level : "?");
	ps_state(ts, t, state);
	table_add(table, state);
	text_clean(t->rec.session, strlen(t->rec.session), text, sizeof(text));
	table_add(table, text);
	text_clean(t->rec.command, strlen(t->rec.command), text, sizeof(text));
	table_add(table, text);
}

static void ps_print_table(const struct trees *ts)
{
	static const struct table_col cols[] = {
		{ .title = "NAME", .min = 10 },
		{ .title = "OWNER", .min = 12 },
		{ .title = "SERVER", .right = true },
		{ .title = "PROCS", .right = true },
		{ .title = "RSS", .right = true, .drop = true },
		{ .title = "CPU", .right = true, .drop = true },
		{ .title = "AGE", .right = true },
		{ .title = "LEVEL", .drop = true },
		{ .title = "STATE", .min = 9 },
		{ .title = "SESSION", .drop = true, .min = 8 },
		{ .title = "COMMAND", .drop = true, .min = 12 },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);

	for (size_t i = 0; i < ts->count; i++)
		ps_add_row(&table, ts, &ts->list[i]);
	table_print(&table, stdout, 0, cli_width());
}

static void ps_draw_process(void *ctx, size_t index, const char *prefix)
{
	const struct tree_process *p = &((const struct tree *)ctx)->processes[index];
	char name[260], size[16];

	text_clean(p->name, strlen(p->name), name, sizeof(name));
	printf("%s%d  %s  %s\n", prefix, p->pid, text_size(p->rss, size), name);
}

static void ps_print_tree(const struct trees *ts, struct tree *t)
{
	AUTO(mem_drop) struct forest_node *nodes = mem_grow(NULL, t->count + 1, sizeof(*nodes));
	char name[128], owner[300], state[64], age[24];

	ps_title(&t->rec, name, sizeof(name));
	ps_state(ts, t, state);
	ps_owner(t, owner, sizeof(owner));
	printf("%s  %s, %s, up %s, owner %s\n", name, state, t->rec.level,
	       text_span(t->age_ms, age), owner);
	for (size_t i = 0; i < t->count; i++)
		nodes[i] = (struct forest_node){ t->processes[i].pid, t->processes[i].parent };
	if (t->count)
		forest_draw(nodes, t->count, "", true, ps_draw_process, t);
}

static void ps_json_process(struct emit *j, const struct tree_process *p)
{
	emit_open(j, NULL, '{');
	emit_int(j, "pid", p->pid);
	emit_int(j, "ppid", p->parent);
	emit_int(j, "rss_bytes", (long long)p->rss);
	emit_int(j, "cpu_ms", p->cpu_ms);
	emit_str(j, "command", p->name);
	emit_close(j);
}

static void ps_json_owner(struct emit *j, const struct tree *t)
{
	if (!t->rec.owner.pid) {
		emit_null(j, "owner");
		return;
	}
	emit_open(j, "owner", '{');
	emit_int(j, "pid", t->rec.owner.pid);
	emit_bool(j, "alive", t->has_owner);
	emit_str(j, "command", t->has_owner ? t->owner : NULL);
	emit_close(j);
}

static void ps_json_tree(struct emit *j, const struct trees *ts, const struct tree *t)
{
	emit_open(j, NULL, '{');
	emit_str(j, "tree", t->rec.tree);
	emit_str(j, "name", t->rec.name);
	emit_str(j, "session", t->rec.session);
	emit_str(j, "command", t->rec.command);
	emit_str(j, "level", t->rec.level);
	emit_str(j, "state", tree_state(ts, t));
	emit_str(j, "why", t->rec.why);
	ps_json_owner(j, t);
	emit_int(j, "watch", t->rec.watch.pid);
	emit_int(j, "server", t->rec.server.pid);
	emit_int(j, "grace_ms", t->rec.grace_ms);
	emit_int(j, "age_ms", t->age_ms);
	if (t->rec.deadline_ms)
		emit_int(j, "due_in_ms", t->rec.deadline_ms - ts->now_ms);
	else
		emit_null(j, "due_in_ms");
	emit_int(j, "rss_bytes", (long long)t->rss);
	emit_int(j, "cpu_ms", t->cpu_ms);
	emit_open(j, "processes", '[');
	for (size_t i = 0; i < t->count; i++)
		ps_json_process(j, &t->processes[i]);
	emit_close(j);
	emit_close(j);
}

static void ps_print_json(const struct trees *ts)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_LINES(&text);

	emit_open(&j, NULL, '[');
	for (size_t i = 0; i < ts->count; i++)
		ps_json_tree(&j, ts, &ts->list[i]);
	emit_close(&j);
	emit_print(&j, stdout);
}

static int ps_here(bool as_tree, bool as_json)
{
	AUTO(trees_done) struct trees ts = TREES_INIT;
	int r = trees_read(&ts);

	if (r < 0) {
		cli_say("ps", "cannot read the records: %s", strerror(-r));
		return EXIT_UNAVAILABLE;
	}
	if (as_json)
		ps_print_json(&ts);
	else if (ts.count == 0)
		show_block(stdout,
			   "no trees: killick holds no server for this user. `killick wrap` puts "
			   "`killick run --` in front of the servers of your MCP clients; a client "
			   "that runs already must be restarted after it.",
			   0, cli_width() ? cli_width() : 79);
	else if (as_tree)
		for (size_t i = 0; i < ts.count; i++)
			ps_print_tree(&ts, &ts.list[i]);
	else
		ps_print_table(&ts);
	return cli_finish("ps", EXIT_SUCCESS);
}

int verb_ps(int argc, char **argv)
{
	bool as_json = false, as_tree = false, all = false;
	struct on on = { .where = NULL };
	const struct option options[] = {
		{ "on", OPTION_WORD, .text = &on.where },
		{ "config", OPTION_WORD, .text = &on.config },
		{ "token-env", OPTION_WORD, .text = &on.token_env },
		{ "all", .flag = &all },
		{ "json", .flag = &as_json },
		{ "tree", .flag = &as_tree },
		{ NULL },
	};
	int status;

	if (!cli_options(argc, argv, ps_help, options, &status))
		return status;
	if (on.where)
		return ps_on(&on, &(struct ps_on_options){ as_tree, as_json, all });
	if (on.config || on.token_env || all)
		return cli_usage("ps", "'--%s' needs '--on'",
				 on.config      ? "config"
				 : on.token_env ? "token-env"
						: "all");
	return ps_here(as_tree, as_json);
}
