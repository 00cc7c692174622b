/* ps_view.c - see ps_view.h */
#include "ps_view.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "cli.h"
#include "forest.h"

enum { COMMAND_MAX = 8192 };

static const char *ps_view_level(const struct ps_tree *t)
{
	return *t->rec.level ? t->rec.level : "?";
}

/* Write "running", or "stopping (stdin)". */
static void ps_view_state(const struct ps_tree *t, char out[64])
{
	char why[24];

	text_clean(t->rec.why, strlen(t->rec.why), why, sizeof(why));
	if (*why && t->is_ending)
		snprintf(out, 64, "%s (%s)", t->state, why);
	else
		snprintf(out, 64, "%s", t->state);
}

static void ps_view_add_row(struct table *table, const struct ps_tree *t)
{
	char text[sizeof(t->rec.command)], size[16], cpu[24], age[24], state[64];

	table_add(table, t->title);
	table_add(table, t->owner);
	table_addf(table, "%d", t->rec.server.pid);
	table_addf(table, "%zu", t->count);
	table_add(table, text_size(t->rss, size));
	table_add(table, text_span(t->cpu_ms, cpu));
	table_add(table, text_span(t->age_ms, age));
	table_add(table, ps_view_level(t));
	ps_view_state(t, state);
	table_add(table, state);
	text_clean(t->rec.session, strlen(t->rec.session), text, sizeof(text));
	table_add(table, text);
	text_clean(t->rec.command, strlen(t->rec.command), text, sizeof(text));
	table_add(table, text);
}

static const char *ps_view_colour(const char *state)
{
	static const struct {
		const char *state, *colour;
	} colours[] = { { "running", "32" }, { "abandoned", "31" }, { "elsewhere", "2" } };

	if (!cli_has_colour())
		return NULL;
	for (size_t c = 0; c < sizeof(colours) / sizeof(colours[0]); c++)
		if (strncmp(state, colours[c].state, strlen(colours[c].state)) == 0)
			return colours[c].colour;
	return "33";
}

void ps_view_table(const struct ps_trees *ts)
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
		{ .title = "STATE", .min = 9, .colour = ps_view_colour },
		{ .title = "SESSION", .drop = true, .min = 8 },
		{ .title = "COMMAND", .drop = true, .min = 12 },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);

	for (size_t i = 0; i < ts->count; i++)
		ps_view_add_row(&table, &ts->list[i]);
	table_print(&table, stdout, 0, cli_width());
}

static void ps_view_draw(void *ctx, size_t index, const char *prefix)
{
	const struct ps_process *p = &((const struct ps_tree *)ctx)->processes[index];
	char command[COMMAND_MAX], size[16], line[COMMAND_MAX + 512], cut[COMMAND_MAX + 512];
	size_t width = cli_width();

	text_clean(p->command, strlen(p->command), command, sizeof(command));
	snprintf(line, sizeof(line), "%s%d  %s  %s", prefix, p->pid, text_size(p->rss, size),
		 command);
	text_cut(line, width ? width : sizeof(cut), cut, sizeof(cut));
	puts(cut);
}

/* Print the line above the processes. */
static void ps_view_head(const struct ps_tree *t)
{
	char name[128], session[64], state[64], size[16], cpu[24], age[24], line[1024], cut[1024];
	size_t width = cli_width();

	text_clean(t->title, strlen(t->title), name, sizeof(name));
	ps_view_state(t, state);
	text_clean(t->rec.session, strlen(t->rec.session), session, sizeof(session));
	snprintf(line, sizeof(line), "%s  %s, %s, up %s, cpu %s, %s in %zu process%s, owner %s%s%s",
		 name, state, ps_view_level(t), text_span(t->age_ms, age),
		 text_span(t->cpu_ms, cpu), text_size(t->rss, size), t->count,
		 t->count == 1 ? "" : "es", t->owner, *session ? ", session " : "", session);
	text_cut(line, width ? width : sizeof(cut), cut, sizeof(cut));
	if (cli_has_colour())
		printf("\033[1m%.*s\033[0m%s\n", (int)strlen(name), cut, cut + strlen(name));
	else
		puts(cut);
}

void ps_view_forest(const struct ps_trees *ts)
{
	for (size_t i = 0; i < ts->count; i++) {
		struct ps_tree *t = &ts->list[i];
		AUTO(mem_drop)
		struct forest_node *nodes = mem_grow(NULL, t->count + 1, sizeof(*nodes));

		ps_view_head(t);
		for (size_t k = 0; k < t->count; k++)
			nodes[k] =
				(struct forest_node){ t->processes[k].pid, t->processes[k].parent };
		if (t->count)
			forest_draw(nodes, t->count, "", true, ps_view_draw, t);
	}
}

static void ps_view_emit_process(struct emit *j, const struct ps_process *p)
{
	emit_open(j, NULL, '{');
	emit_int(j, "pid", p->pid);
	emit_int(j, "ppid", p->parent);
	if (p->has_more) {
		emit_str(j, "state", (char[]){ p->state, '\0' });
		emit_int(j, "threads", p->threads);
	}
	emit_int(j, "rss_bytes", (long long)p->rss);
	emit_int(j, "cpu_ms", p->cpu_ms);
	if (p->has_more)
		emit_int(j, "age_ms", p->age_ms);
	emit_str(j, "command", p->command);
	emit_close(j);
}

static void ps_view_emit_owner(struct emit *j, const struct ps_tree *t)
{
	if (!t->has_owner) {
		emit_null(j, "owner");
		return;
	}
	emit_open(j, "owner", '{');
	emit_int(j, "pid", t->rec.owner.pid);
	emit_bool(j, "alive", t->owner_command != NULL);
	emit_str(j, "command", t->owner_command);
	emit_close(j);
}

/* Write the members about the keepers and the times of a tree. */
static void ps_view_emit_keepers(struct emit *j, const struct ps_tree *t)
{
	emit_int(j, "watch", t->rec.watch.pid);
	if (t->has_hold)
		emit_int(j, "hold", t->rec.hold.pid);
	emit_int(j, "server", t->rec.server.pid);
	if (t->has_hold)
		emit_str(j, "cgroup", t->rec.cgroups[0]);
	emit_int(j, "grace_ms", t->rec.grace_ms);
	emit_int(j, "age_ms", t->age_ms);
	if (t->is_due)
		emit_int(j, "due_in_ms", t->due_in_ms);
	else
		emit_null(j, "due_in_ms");
}

void ps_view_emit_tree(struct emit *j, const struct ps_tree *t)
{
	emit_open(j, NULL, '{');
	emit_str(j, "tree", t->rec.tree);
	emit_str(j, "name", t->rec.name);
	emit_str(j, "session", t->rec.session);
	emit_str(j, "command", t->rec.command);
	emit_str(j, "level", t->rec.level);
	emit_str(j, "state", t->state);
	emit_str(j, "why", t->rec.why);
	ps_view_emit_owner(j, t);
	ps_view_emit_keepers(j, t);
	emit_int(j, "rss_bytes", (long long)t->rss);
	emit_int(j, "cpu_ms", t->cpu_ms);
	if (t->has_hold)
		emit_int(j, "survivors", t->rec.survivors);
	emit_open(j, "processes", '[');
	for (size_t i = 0; i < t->count; i++)
		ps_view_emit_process(j, &t->processes[i]);
	emit_close(j);
	emit_close(j);
}

void ps_view_json(const struct ps_trees *ts)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_LINES(&text);

	emit_open(&j, NULL, '[');
	for (size_t i = 0; i < ts->count; i++)
		ps_view_emit_tree(&j, &ts->list[i]);
	emit_close(&j);
	emit_print(&j, stdout);
}
