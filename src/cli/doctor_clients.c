/* doctor_clients.c - see doctor_clients.h */
#include "doctor_clients.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/table.h"
#include "base/text.h"
#include "cli.h"
#include "clients/yaml_tree.h"
#include "fact.h"
#include "wrap.h"

static void doctor_clients_rows(const struct configfile *c, struct table *table)
{
	char text[1024];

	for (size_t i = 0; i < c->entries.count; i++) {
		const struct entry *e = &c->entries.list[i];

		if (e->state != ENTRY_BARE)
			continue;
		table_add(table, c->client->name);
		text_clean(e->name, strlen(e->name), text, sizeof(text));
		table_add(table, text);
		wrap_show_path(c->path, text, sizeof(text));
		table_addf(table, "%s:%u", text, e->line);
		entry_line(e, cli_show_secrets, text, sizeof(text));
		table_add(table, text);
	}
}

/* Name the servers whose killick was moved or removed, because their clients cannot start them.
 * Returns how many there are. */
static size_t doctor_clients_print_lost(const struct configfile *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->entries.count; i++) {
		const struct entry *e = &c->entries.list[i];
		const char *command = node_string(entry_word(e, 0));
		char name[300], path[1024];

		if (!e->lost)
			continue;
		count++;
		text_clean(e->name, strlen(e->name), name, sizeof(name));
		text_clean(command, strlen(command), path, sizeof(path));
		printf("  %s cannot start %s: no program %s%s\n    to mend it: %s\n",
		       c->client->name, name, path, strpbrk(path, "/\\") ? "" : " in PATH",
		       e->inner ? "killick wrap" : "edit the file by hand");
	}
	return count;
}

static size_t doctor_clients_held(const struct wrap_files *f)
{
	size_t held = 0;

	for (size_t i = 0; i < f->count; i++)
		for (size_t k = 0; k < f->list[i].entries.count; k++)
			held += f->list[i].entries.list[k].state == ENTRY_WRAPPED &&
				!f->list[i].entries.list[k].lost;
	return held;
}

static void doctor_clients_print_files(const struct wrap_files *f)
{
	static const struct table_col cols[] = {
		{ .title = "CLIENT" },
		{ .title = "SERVER", .min = 8 },
		{ .title = "FILE", .min = 10 },
		{ .title = "COMMAND", .min = 10, .drop = true },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);
	size_t held = doctor_clients_held(f), lost = 0, bare;
	char text[512];

	for (size_t i = 0; i < f->count; i++) {
		if (!*f->list[i].fault) {
			doctor_clients_rows(&f->list[i], &table);
			lost += doctor_clients_print_lost(&f->list[i]);
		} else {
			text_clean(f->list[i].fault, strlen(f->list[i].fault), text, sizeof(text));
			printf("  not understood: %s\n", text);
		}
	}
	bare = table.count / table.ncols;
	if (bare)
		table_print(&table, stdout, 2, cli_width());
	if (!held && !bare && !lost)
		puts("  none that killick could hold");
	else
		printf("%s  held by killick: %zu, not held: %zu%s\n", bare ? "\n" : "", held,
		       bare + lost, bare ? "; to hold them: killick wrap" : "");
}

void doctor_clients_print(void)
{
	struct wrap_files f = { .count = 0 };

	fact_heading("servers in the configs of MCP clients");
	wrap_files_open(&f, NULL, 0, NULL);
	if (f.count)
		doctor_clients_print_files(&f);
	else
		puts("  no config file was found here or in your home directory");
	if (!yaml_tree_is_built())
		puts("  YAML files are not read: killick was built without libyaml");
	wrap_files_done(&f);
}

void doctor_clients_emit(struct emit *j)
{
	struct wrap_files f = { .count = 0 };

	wrap_files_open(&f, NULL, 0, NULL);
	emit_open(j, "clients", '{');
	emit_bool(j, "yaml", yaml_tree_is_built());
	wrap_emit(j, &f, ACTION_WRAP, NULL);
	emit_close(j);
	wrap_files_done(&f);
}
