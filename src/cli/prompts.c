/* prompts.c - `killick prompts`: lists the prompts of the servers in a config, or gets one
 * prompt.
 */
#include <string.h>

#include "args.h"
#include "base/auto.h"
#include "base/table.h"
#include "lists.h"
#include "show.h"

const char prompts_help[] =
	"usage: killick prompts [NAME [KEY=VALUE]...] " TALK_USAGE "\n"
	"\n"
	"List the prompts of the servers in a config; or, with a NAME, get that prompt\n"
	"with these arguments filled in.\n"
	"\n" TALK_HELP("print an array with an object per server; NAME: the prompt") TALK_EXITS;

/* Write "city, [units]": arguments in brackets are optional. */
static void arguments_text(struct json prompt, char *out, size_t size)
{
	struct json_iter it = json_iter(json_get(prompt, "arguments"));
	size_t len = 0;
	char name[128];

	out[0] = '\0';
	while (json_each(&it) && len < size) {
		bool required = false;

		json_bool(json_get(it.value, "required"), &required);
		show_member(it.value, "name", name, sizeof(name));
		len += (size_t)snprintf(out + len, size - len, "%s%s%s%s", len ? ", " : "",
					required ? "" : "[", name, required ? "" : "]");
	}
}

static void prompts_print_table(const struct talk *t, const struct lists *l)
{
	static const struct table_col cols[] = {
		{ .title = "NAME", .min = 16 },
		{ .title = "ARGUMENTS", .drop = true, .min = 12 },
		{ .title = "SERVER", .drop = true, .min = 8 },
		{ .title = "DESCRIPTION", .drop = true, .min = 16 },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);
	char text[1024];

	for (size_t i = 0; i < l->count; i++) {
		struct json_iter it = json_iter(lists_of(l, i, "prompts"));

		while (json_each(&it)) {
			show_member(it.value, "name", text, sizeof(text));
			table_add(&table, text);
			arguments_text(it.value, text, sizeof(text));
			table_add(&table, text);
			table_add(&table, talk_only(t) ? "" : t->status->servers[i]->name);
			show_member(it.value, "description", text, sizeof(text));
			table_add(&table, text);
		}
	}
	if (table.count)
		table_print(&table, stdout, 0, cli_width());
	else
		puts("no prompts");
}

/* Print the messages, each with its role. */
static void print_messages(struct json prompt)
{
	struct json_iter it = json_iter(json_get(prompt, "messages"));
	char role[64];

	while (json_each(&it)) {
		show_member(it.value, "role", role, sizeof(role));
		printf("%s:\n", role);
		show_content(stdout, json_get(it.value, "content"));
	}
}

static void get_one(struct talk *t)
{
	AUTO(lists_done) struct lists l = LISTS_INIT;
	AUTO(buf_done) struct buf args = BUF_INIT(0);
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_PROMPT, .name = t->words.list[0]);
	struct killick_result *r;

	args_build(t->words.list + 1, t->words.count - 1, JSON_NONE, &args);
	rq.args = args.data;
	if (talk_only(t))
		rq.server = talk_only(t)->name;
	else if (!lists_get(t, KILLICK_PROMPTS, "prompts", &l) ||
		 !lists_owner(t, &l, "prompts", "name", rq.name, &rq.server))
		return;
	r = talk_do(t, &rq);
	if (r && t->json)
		show_json(stdout, talk_json(r));
	else if (r)
		print_messages(talk_json(r));
	killick_result_free(r);
}

int verb_prompts(int argc, char **argv)
{
	static const struct list_kind kinds[] = { { KILLICK_PROMPTS, "prompts", "prompts" } };
	AUTO(lists_done) struct lists l = LISTS_INIT;
	struct talk t = TALK_INIT(argv);
	int status;

	if (!talk_options(&t, argc, argv, prompts_help, NULL, TALK_ANY_WORDS, &status))
		return status;
	if (t.words.count > 1 && !args_check(&t, t.words.list + 1, t.words.count - 1))
		return EXIT_USAGE;
	if (!talk_open(&t))
		return talk_close(&t);
	if (t.words.count) {
		get_one(&t);
	} else if (t.json) {
		lists_json(&t, kinds, 1);
	} else {
		talk_missing_all(&t);
		if (lists_get(&t, KILLICK_PROMPTS, "prompts", &l))
			prompts_print_table(&t, &l);
	}
	return talk_close(&t);
}
