/* demo_view.c - see demo_view.h */
#include "demo_view.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/forest.h"

enum {
	TREE_LINES = 9, /* height of the two trees */
	LINE_TEXT = 512,
	MIN_HEIGHT = 23, /* height of the picture with a full table below it */
	MAX_WIDTH = 120,
};

enum ink { INK_NONE, INK_DIM, INK_BAD, INK_GOOD, INK_BOLD };

/* One column of the picture: lines of a fixed width, each with one colour. */
struct column {
	size_t width, count;
	char text[TREE_LINES][LINE_TEXT];
	enum ink ink[TREE_LINES];
	const struct side *side;
	enum ink tree_ink;
};

void view_init(struct view *v)
{
	v->live = cli_is_tty() && cli_height() >= MIN_HEIGHT && cli_width() >= 72;
}

static const char *ink_code(enum ink ink)
{
	static const char *const codes[] = { "", "\033[2m", "\033[31m", "\033[32m", "\033[1m" };

	return cli_has_colour() ? codes[ink] : "";
}

static const char *ink_end(enum ink ink)
{
	return cli_has_colour() && ink != INK_NONE ? "\033[0m" : "";
}

static size_t picture_width(void)
{
	size_t width = cli_width() ? cli_width() : 80;

	return width < MAX_WIDTH ? width : MAX_WIDTH;
}

static void column_add(struct column *c, enum ink ink, const char *text)
{
	if (c->count == TREE_LINES)
		return;
	text_cut(text, c->width, c->text[c->count], LINE_TEXT);
	c->ink[c->count++] = ink;
}

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static const char *base_of(const struct demo_process *p)
{
	const char *base = p->args;

	for (const char *a = p->args; *a && *a != ' '; a++)
		if (*a == '/')
			base = a + 1;
	return base;
}

static bool is_keeper(const struct demo_process *p)
{
	return starts(base_of(p), "killick run ");
}

/* Write the label of a process. Its words come from the demo, its mode from the zoo. */
static void name_process(const struct side *s, const struct demo_process *p, char *out, size_t size)
{
	const char *zoo = strstr(p->args, " zoo "), *base = base_of(p);
	char mode[24] = "";

	if (strstr(p->args, " demo-part client ")) {
		snprintf(out, size, "client");
	} else if (is_keeper(p)) {
		snprintf(out, size, "killick run");
		for (size_t i = 0; i < s->count && i < SIDE_MAX; i++)
			if (s->list[i].pid == p->ppid && is_keeper(&s->list[i]))
				snprintf(out, size, "killick (hold)");
	} else if (starts(base, "sh ") || starts(base, "cmd ")) {
		snprintf(out, size, "%s", starts(base, "sh ") ? "sh -c ..." : "cmd /c ...");
	} else if (starts(base, "killick ear ")) {
		snprintf(out, size, "killick (ear)");
	} else if (starts(base, "conhost ")) { /* of a console that Windows made for a process */
		snprintf(out, size, "conhost");
	} else if (zoo && sscanf(zoo + 5, "%23s", mode) == 1) {
		bool launcher = starts(mode, "npx");

		snprintf(out, size, "%s",
			 launcher              ? mode
			 : p->pid == s->server ? "server"
					       : "its child");
	} else {
		text_clean(base, strlen(base), out, size);
	}
}

static void demo_view_draw_process(void *ctx, size_t index, const char *prefix)
{
	struct column *c = ctx;
	const struct demo_process *p = &c->side->list[index];
	char name[64], line[LINE_TEXT];
	size_t more = c->side->count - index;

	/* the last line counts the processes that do not fit */
	if (c->count == TREE_LINES - 1 && more > 1) {
		snprintf(line, sizeof(line), "   and %zu more", more);
		column_add(c, c->tree_ink, line);
		return;
	}
	name_process(c->side, p, name, sizeof(name));
	snprintf(line, sizeof(line), "%s%s  %d", prefix, name, p->pid);
	column_add(c, c->tree_ink, line);
}

static void column_trees(struct column *c, const struct side *s)
{
	size_t shown = s->count < SIDE_MAX ? s->count : SIDE_MAX;
	struct forest_node nodes[SIDE_MAX];

	c->side = s;
	for (size_t i = 0; i < shown; i++)
		nodes[i] = (struct forest_node){ s->list[i].pid, s->list[i].ppid };
	forest_draw(nodes, shown, "", false, demo_view_draw_process, c);
}

static void fill_column(struct column *c, const struct view *v, int which)
{
	const struct side *s = &v->sides[which];
	const struct scene *scene = &v->scenes[v->current];
	char line[128];

	if (!v->killed) {
		c->tree_ink = INK_NONE;
		column_trees(c, s);
		return;
	}
	snprintf(line, sizeof(line), "client  (%s)", v->kill_name);
	column_add(c, INK_DIM, line);
	if (s->count) {
		snprintf(line, sizeof(line), "%zu left, %.1f s later:", s->count,
			 v->since_ms / 1000);
		column_add(c, which == SIDE_PLAIN ? INK_BAD : INK_NONE, line);
	} else if (which == SIDE_KILLICK && scene->gone_ms >= 0) {
		snprintf(line, sizeof(line), "nothing left after %.1f ms", scene->gone_ms);
		column_add(c, INK_GOOD, line);
	} else {
		column_add(c, INK_GOOD, "nothing left");
	}
	c->tree_ink = which == SIDE_PLAIN ? INK_BAD : INK_NONE;
	column_trees(c, s);
}

static void demo_view_end_line(const struct view *v)
{
	fputs(v->live ? "\033[K\n" : "\n", stdout);
}

static void print_cell(const char *text, enum ink ink, size_t width, bool pad)
{
	printf("%s%s%s%*s", ink_code(ink), text, ink_end(ink),
	       pad ? (int)(width - text_width(text)) : 0, "");
}

/* Print the two columns. Returns the number of lines. `height` 0: as many lines as needed. */
static size_t print_columns(const struct view *v, size_t height)
{
	static struct column columns[SIDES];
	size_t width = (picture_width() - 3) / 2;
	const char *bar = text_is_utf8() ? " │ " : " | ";

	for (int i = 0; i < SIDES; i++) {
		memset(&columns[i], 0, sizeof(columns[i]));
		columns[i].width = width;
		fill_column(&columns[i], v, i);
	}
	if (!height)
		height = columns[0].count > columns[1].count ? columns[0].count : columns[1].count;
	for (size_t i = 0; i < height; i++) {
		print_cell(columns[0].text[i], columns[0].ink[i], width, true);
		fputs(bar, stdout);
		print_cell(columns[1].text[i], columns[1].ink[i], width, false);
		demo_view_end_line(v);
	}
	return height;
}

static void print_titles(const struct view *v)
{
	size_t width = (picture_width() - 3) / 2;
	const char *bar = text_is_utf8() ? " │ " : " | ", *dash = text_is_utf8() ? "─" : "-";

	print_cell("plain client", INK_BOLD, width, true);
	fputs(bar, stdout);
	print_cell("killick run", INK_BOLD, width, false);
	demo_view_end_line(v);
	for (size_t i = 0; i < 2 * width + 3; i++)
		fputs(i == width + 1 ? (text_is_utf8() ? "┼" : "+") : dash, stdout);
	demo_view_end_line(v);
}

static void add_result(struct table *t, const struct scene *s)
{
	table_add(t, s->about);
	for (int i = 0; i < SIDES; i++) {
		if (!s->done)
			table_add(t, "");
		else if (s->left[i])
			table_addf(t, "%zu process%s", s->left[i], s->left[i] == 1 ? "" : "es");
		else
			table_add(t, "nothing");
	}
	if (!s->done)
		table_add(t, "");
	else if (s->gone_ms >= 0)
		table_addf(t, "%.1f ms", s->gone_ms);
	else
		table_add(t, "never");
}

/* Print the table with `end` at the end of each line. Returns the number of lines. */
static size_t print_results(const struct view *v, const char *end)
{
	static const struct table_col narrow[] = {
		{ .title = "server", .min = 12 },
		{ .title = "plain leaves" },
		{ .title = "killick" },
		{ .title = "gone after", .right = true },
	};
	static const struct table_col cols[] = {
		{ .title = "server", .min = 20 },
		{ .title = "plain client leaves" },
		{ .title = "killick run leaves" },
		{ .title = "gone after", .right = true },
	};
	AUTO(table_done) struct table t = TABLE_INIT(cols);

	t.end = end;
	if (picture_width() < 72)
		t.cols = narrow;
	for (size_t i = 0; i < v->count; i++)
		add_result(&t, &v->scenes[i]);
	table_print(&t, stdout, 0, picture_width());
	return 1 + v->count;
}

void view_table(const struct view *v)
{
	print_results(v, "");
}

void view_frame(struct view *v)
{
	const struct scene *s = &v->scenes[v->current];
	char line[LINE_TEXT], cut[LINE_TEXT];
	size_t lines = 0;

	if (!v->live)
		return;
	if (v->drawn)
		printf("\033[%zuA\r", v->drawn);
	else
		fputs("\033[?25l", stdout);
	snprintf(line, sizeof(line), "server %zu of %zu: %s", v->current + 1, v->count, s->story);
	text_cut(line, picture_width(), cut, sizeof(cut));
	print_cell(cut, INK_BOLD, 0, false);
	demo_view_end_line(v);
	demo_view_end_line(v);
	print_titles(v);
	lines = 4 + print_columns(v, TREE_LINES);
	demo_view_end_line(v);
	lines += 1 + print_results(v, "\033[K"); /* each line erases an older one */
	fputs("\033[J", stdout);
	v->drawn = lines;
	fflush(stdout);
}

void view_step(const struct view *v, const char *what)
{
	const struct scene *s = &v->scenes[v->current];

	if (v->live)
		return;
	if (!v->killed) {
		printf("\nserver %zu of %zu: %s\n", v->current + 1, v->count, s->story);
		print_titles(v);
	}
	printf("%s\n", what);
	print_columns(v, 0);
	fflush(stdout);
}

void view_clear(struct view *v)
{
	if (v->live && v->drawn)
		printf("\033[%zuA\r\033[J\033[?25h", v->drawn);
	v->drawn = 0;
	fflush(stdout);
}
