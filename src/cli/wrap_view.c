/* wrap_view.c - the output of `killick wrap` and `killick unwrap` about config files; see wrap.h */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/table.h"
#include "base/text.h"
#include "cli.h"
#include "show.h"
#include "wrap.h"

/* Returns up to three words for the state of a server, before the plan is carried out. */
static const char *wrap_state(const struct configfile *c, size_t i, enum action action)
{
	const struct entry *e = &c->entries.list[i];

	if (c->planned[i] && action == ACTION_UNWRAP)
		return "unwrap";
	if (c->planned[i] && e->lost)
		return "mend";
	if (c->planned[i] && e->state == ENTRY_WRAPPED)
		return e->hub ? "change options" : "move to hub";
	if (c->planned[i])
		return "wrap";
	switch (e->state) {
	case ENTRY_BARE:
		return c->left_alone && action == ACTION_WRAP ? "left alone" : "not wrapped";
	case ENTRY_WRAPPED:
		if (e->lost)
			return "killick missing";
		if (c->left_alone && action == ACTION_UNWRAP)
			return "left alone";
		if (!e->inner &&
		    (action == ACTION_UNWRAP || (c->hub && (!e->hub || c->share || c->idle))))
			return "left alone";
		return "wrapped";
	case ENTRY_REMOTE:
		return "remote";
	case ENTRY_DISABLED:
		return "disabled";
	case ENTRY_OTHER:
		break;
	}
	return "left alone";
}

void wrap_show_path(const char *path, char *out, size_t size)
{
	const char *home = machine_home(&machine_here);
	size_t n = home ? strlen(home) : 0;
	char text[4200];

	if (n > 1 && path_is_below(path, home) && strchr("/\\", path[n]) && path[n])
		snprintf(text, sizeof(text), "~%s", path + n);
	else
		snprintf(text, sizeof(text), "%s", path);
	text_clean(text, strlen(text), out, size);
}

static void wrap_add_row(struct table *t, const struct configfile *c, size_t i, bool first,
			 enum action action)
{
	const struct entry *e = &c->entries.list[i];
	char text[1024];

	wrap_show_path(c->path, text, sizeof(text));
	table_add(t, first ? text : "");
	if (e->scope) {
		char scope[700], name[300];

		wrap_show_path(e->scope, scope, sizeof(scope));
		text_clean(e->name, strlen(e->name), name, sizeof(name));
		snprintf(text, sizeof(text), "%s (%s)", name, scope);
	} else {
		text_clean(e->name, strlen(e->name), text, sizeof(text));
	}
	table_add(t, text);
	table_addf(t, "%s%s", wrap_state(c, i, action),
		   e->state == ENTRY_WRAPPED && e->hub && !c->planned[i] ? " (hub)" : "");
	entry_line(e, cli_show_secrets, text, sizeof(text));
	table_add(t, text);
	table_add(t, !first ? "" : c->client ? c->client->name : "-");
}

/* Print why servers are left alone, below the table, because a reason is longer than a column. The
 * reason for a whole file is printed once. */
static void wrap_print_reasons(const struct wrap_files *f, enum action action, const char *server)
{
	bool first = true;

	for (size_t i = 0; i < f->count; i++) {
		const struct configfile *c = &f->list[i];
		char path[1024], name[300], text[1800];
		bool whole = false;

		wrap_show_path(c->path, path, sizeof(path));
		for (size_t k = 0; k < c->entries.count; k++) {
			const struct entry *e = &c->entries.list[k];

			if ((server && strcmp(server, e->name) != 0) || whole ||
			    (!e->why && !c->left_alone) ||
			    strcmp(wrap_state(c, k, action), "left alone") != 0)
				continue;
			whole = !e->why;
			text_clean(e->name, strlen(e->name), name, sizeof(name));
			if (whole)
				snprintf(text, sizeof(text), "%s: %s", path, c->left_alone);
			else
				snprintf(text, sizeof(text), "%s (%s:%u): %s", name, path, e->line,
					 e->why);
			if (first)
				puts("\nLeft alone:");
			first = false;
			show_block(stdout, text, 2, cli_width());
		}
	}
}

void wrap_print_table(const struct wrap_files *f, enum action action, const char *server)
{
	static const struct table_col cols[] = {
		{ .title = "FILE", .min = 24, .path = true },
		{ .title = "SERVER", .min = 8 },
		{ .title = "STATE" },
		{ .title = "COMMAND", .min = 10, .drop = true },
		{ .title = "CLIENT", .drop = true },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);

	for (size_t i = 0; i < f->count; i++) {
		const struct configfile *c = &f->list[i];
		bool first = true;

		for (size_t k = 0; k < c->entries.count; k++) {
			if (server && strcmp(server, c->entries.list[k].name) != 0)
				continue;
			wrap_add_row(&table, c, k, first, action);
			first = false;
		}
	}
	if (table.count)
		table_print(&table, stdout, 0, cli_width());
	wrap_print_reasons(f, action, server);
}

static void wrap_emit_entry(struct emit *j, const struct configfile *c, size_t i,
			    enum action action)
{
	const struct entry *e = &c->entries.list[i];
	struct conceal conceal = { .before = NULL };

	emit_open(j, NULL, '{');
	emit_str(j, "name", e->name);
	emit_str(j, "project", e->scope);
	emit_int(j, "line", e->line);
	emit_str(j, "state", wrap_state(c, i, action));
	emit_bool(j, "hub", e->state == ENTRY_WRAPPED && e->hub);
	emit_str(j, "why", c->planned[i] ? NULL : e->why);
	emit_open(j, "command", '[');
	for (size_t k = e->state == ENTRY_WRAPPED ? e->inner : 0; k < entry_word_count(e); k++) {
		const char *text = entry_word(e, k)->text;
		struct line l;

		line_init(&l);
		entry_word_shown(&conceal, text ? text : "", cli_show_secrets, &l);
		emit_text(j, NULL, l.text, l.len);
	}
	emit_close(j);
	emit_close(j);
}

void wrap_emit(struct emit *j, const struct wrap_files *f, enum action action, const bool *done)
{
	emit_open(j, "files", '[');
	for (size_t i = 0; i < f->count; i++) {
		const struct configfile *c = &f->list[i];

		emit_open(j, NULL, '{');
		emit_str(j, "file", c->path);
		emit_str(j, "client", c->client ? c->client->name : NULL);
		emit_str(j, "fault", c->fault);
		emit_str(j, "leftAlone", c->left_alone);
		emit_bool(j, "written", done && done[i]);
		emit_str(j, "backup", c->backup);
		emit_str(j, "killick", c->change_count ? c->killick : NULL);
		emit_open(j, "servers", '[');
		for (size_t k = 0; k < c->entries.count; k++)
			wrap_emit_entry(j, c, k, action);
		emit_close(j);
		emit_close(j);
	}
	emit_close(j);
}
