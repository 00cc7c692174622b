/* status.c - `killick status`: starts the servers of a config and prints the state of each. */
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "lists.h"
#include "os/console.h"
#include "os/file.h"
#include "show.h"
#include "talk_config.h"

const char status_help[] =
	"usage: killick status " TALK_USAGE "\n"
	"\n"
	"Start the servers of a config and print for each server whether it is ready,\n"
	"its software and its level, or why it failed. Then the servers are ended: this\n"
	"is a test of the config. `killick ps` lists the running servers.\n"
	"\n" TALK_HELP("print an array with an object per server") TALK_EXITS;

/* Write "everything 2.0.0": the name and version that the server gave. */
static void software(const struct killick_server_status *sv, char *out, size_t size)
{
	struct json_fault fault;
	struct json info = JSON_NONE;
	char name[128], version[64];

	json_check(sv->info, strlen(sv->info), 0, &info, &fault);
	show_member(info, "name", name, sizeof(name));
	show_member(info, "version", version, sizeof(version));
	snprintf(out, size, "%s%s%s", name, *name && *version ? " " : "", version);
}

/* Is the reason printed below the table, on the same terminal? */
static bool status_is_explained(const struct talk *t, const struct killick_server_status *sv)
{
	return cli_is_tty() && console_is_terminal(FILE_STDERR) && sv->settled &&
	       !talk_is_ready(sv) && (!talk_is_off(sv) || t->server);
}

static void status_add_row(const struct talk *t, struct table *table,
			   const struct killick_server_status *sv)
{
	char text[512];

	table_add(table, sv->name);
	table_add(table, sv->state == KILLICK_GONE && *sv->error ? "failed"
								 : killick_state_name(sv->state));
	text_clean(sv->environment, strlen(sv->environment), text, sizeof(text));
	table_add(table, text);
	if (sv->pid)
		table_addf(table, "%d", sv->pid);
	else
		table_add(table, "-");
	table_add(table, *sv->level ? sv->level : "-");
	table_add(table, *sv->era ? sv->era : "-");
	table_add(table, *sv->protocol ? sv->protocol : "-");
	if (sv->tools >= 0)
		table_addf(table, "%ld", sv->tools);
	else
		table_add(table, "-");
	software(sv, text, sizeof(text));
	table_add(table, text);
	text_clean(sv->reason, strlen(sv->reason), text,
		   sizeof(text)); /* the first column has the name */
	table_add(table, status_is_explained(t, sv) ? "" : text);
}

static const char *status_colour(const char *state)
{
	if (!cli_has_colour())
		return NULL;
	if (strcmp(state, "ready") == 0)
		return "32";
	if (strcmp(state, "disabled") == 0 || strcmp(state, "remote") == 0)
		return "2";
	return strcmp(state, "failed") == 0 ? "31" : "33";
}

static void status_print_table(const struct talk *t, const struct killick_status *st)
{
	static const struct table_col cols[] = {
		{ .title = "SERVER", .min = 10 },
		{ .title = "STATE", .colour = status_colour },
		{ .title = "ENVIRONMENT", .drop = true, .min = 8 },
		{ .title = "PID", .right = true, .drop = true },
		{ .title = "LEVEL", .drop = true },
		{ .title = "ERA", .drop = true },
		{ .title = "PROTOCOL", .drop = true },
		{ .title = "TOOLS", .right = true },
		{ .title = "SOFTWARE", .drop = true, .min = 10 },
		{ .title = "ERROR", .drop = true, .min = 10 },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);

	for (size_t i = 0; i < st->count; i++)
		status_add_row(t, &table, st->servers[i]);
	table_print(&table, stdout, 0, cli_width());
	fflush(stdout);
}

static void status_print_json(const struct killick_status *st)
{
	AUTO(mem_drop) char *text = killick_status_json(st);

	show_json(stdout, (struct json){ text, strlen(text) });
}

/* Print the status. A server that did not answer in time is shown as failed, although the library
 * still waits for its answer. Errors of a translated config get the name of the file. */
static void status_print(const struct talk *t)
{
	enum { ERROR_SIZE = 1024 };
	size_t count = t->status->count;
	AUTO(mem_drop) char *errors = mem_grow(NULL, count + 1, ERROR_SIZE);
	AUTO(mem_drop) struct killick_server_status *list = mem_grow(NULL, count, sizeof(*list));
	AUTO(mem_drop)
	const struct killick_server_status **index = mem_grow(NULL, count, sizeof(*index));
	struct killick_status shown = { .count = count, .servers = index };
	char late[64], span[24];

	snprintf(late, sizeof(late), "no answer within %s", text_span(t->timeout_ms, span));
	for (size_t i = 0; i < count; i++) {
		list[i] = *t->status->servers[i];
		index[i] = &list[i];
		list[i].error =
			talk_config_say(t, list[i].error, errors + i * ERROR_SIZE, ERROR_SIZE);
		if (list[i].error == errors + i * ERROR_SIZE)
			list[i].reason = list[i].error;
		if (list[i].settled)
			continue;
		list[i].state = KILLICK_GONE;
		list[i].error = list[i].reason = late;
		list[i].code = KILLICK_ERR_TIMEOUT;
	}
	if (t->json)
		status_print_json(&shown);
	else
		status_print_table(t, &shown);
}

int verb_status(int argc, char **argv)
{
	AUTO(lists_done) struct lists tools = LISTS_INIT;
	struct talk t = TALK_INIT(argv);
	int status;

	if (!talk_options(&t, argc, argv, status_help, NULL, 0, &status))
		return status;
	t.any_state = t.warnings = true;
	/* tools are listed only to count them; a failure is shown in the row of the server */
	if (!talk_open(&t) || !lists_get(&t, KILLICK_TOOLS, "tools", &tools))
		return talk_close(&t);
	talk_look(&t);
	status_print(&t);
	talk_missing_all(&t);
	return talk_close(&t);
}
