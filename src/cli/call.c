/* call.c - `killick call`: calls one tool. */
#include <string.h>

#include "args.h"
#include "base/auto.h"
#include "fit.h"
#include "show.h"
#include "task.h"
#include "toolbox.h"

#define CALL_ENDS                                                                                  \
	"\n"                                                                                       \
	"Ctrl-C cancels the call, also on the server; a second Ctrl-C ends at once.\n"             \
	"An error of the tool goes to stderr.\n"

const char call_help[] =
	"usage: killick call NAME [KEY=VALUE]... " TALK_USAGE "\n"
	"\n"
	"Call a tool and print its result. NAME is the name of the tool, or server__tool\n"
	"when several servers have a tool of that name. VALUE is a string, or JSON where\n"
	"the tool's schema says so; KEY:=JSON is always JSON.\n"
	"\n"
	"  --args ARGS     the arguments: a JSON object, @FILE, or - for stdin\n"
	"  --no-check      skip the check of argument names, numbers, booleans and "
	"enums\n" TALK_HELP("print the result as the server wrote it") CALL_ENDS TALK_EXITS;

static void print_content(FILE *out, struct json result)
{
	struct json content = json_get(result, "content");
	struct json structured = json_get(result, "structuredContent");
	struct json_iter it = json_iter(content);

	if (json_count(content) == 0 && structured.at)
		show_json(out, structured);
	while (json_each(&it))
		show_content(out, it.value);
}

static void print_result(struct talk *t, const struct tool *tool, struct json result)
{
	bool failed = false;

	json_bool(json_get(result, "isError"), &failed);
	if (failed)
		talk_fail(t, EXIT_REFUSED);
	if (t->json) {
		show_json(stdout, result);
		return;
	}
	if (failed)
		talk_say(t, "%s: the tool '%s' reported an error:", tool->server, tool->name);
	print_content(failed ? stderr : stdout, result);
}

/* Do the arguments match the schema? */
static bool verb_call_check(struct talk *t, const struct tool *tool, const struct buf *args)
{
	struct json_fault fault;
	struct json v = JSON_NONE;

	json_check(args->data, args->len, 0, &v, &fault);
	return fit_check(t, tool, v);
}

static void verb_call_tool(struct talk *t, struct buf *args, bool check)
{
	AUTO(toolbox_done) struct toolbox box = TOOLBOX_INIT;
	AUTO(tool_done) struct tool tool = { .server = NULL };
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_CALL);
	struct json result = JSON_NONE;
	struct killick_result *r;
	enum task_kind kind;

	if (!toolbox_open(t, &box) || !toolbox_find(t, &box, t->words.list[0], &tool))
		return;
	if (!args->len)
		args_build(t->words.list + 1, t->words.count - 1,
			   json_get(tool.item, "inputSchema"), args);
	if (check && !verb_call_check(t, &tool, args))
		return;
	rq.server = tool.server;
	rq.name = tool.name;
	rq.args = args->data;
	kind = task_kind(t, &tool);
	r = kind == TASK_NONE ? talk_do(t, &rq) : task_call(t, &tool, kind, args->data, &result);
	if (r)
		print_result(t, &tool, kind == TASK_NONE ? talk_json(r) : result);
	killick_result_free(r);
}

int verb_call(int argc, char **argv)
{
	struct talk t = TALK_INIT(argv);
	const char *given = NULL;
	bool no_check = false;
	const struct option more[] = {
		{ "args", OPTION_WORD, .text = &given },
		{ "no-check", .flag = &no_check },
		{ .name = NULL },
	};
	AUTO(buf_done) struct buf args = BUF_INIT(0);
	int status;

	if (!talk_options(&t, argc, argv, call_help, more, TALK_ANY_WORDS, &status))
		return status;
	if (t.words.count == 0)
		return cli_usage("call", "no tool given; 'killick tools' lists the tools");
	if (given && t.words.count > 1)
		return cli_usage("call", "'--args' and '%.60s' exclude each other",
				 t.words.list[1]);
	if (given && !args_read(&t, given, &args))
		return EXIT_USAGE;
	if (!args_check(&t, t.words.list + 1, t.words.count - 1))
		return EXIT_USAGE;
	toolbox_choose(&t, t.words.list[0]);
	if (talk_open(&t))
		verb_call_tool(&t, &args, !no_check);
	return talk_close(&t);
}
