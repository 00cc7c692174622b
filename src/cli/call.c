/* call.c - `killick call`: calls one tool. */
#include <string.h>

#include "args.h"
#include "base/auto.h"
#include "show.h"
#include "toolbox.h"

const char call_help[] =
	"usage: killick call NAME [KEY=VALUE]... " TALK_USAGE "\n"
	"\n"
	"Call a tool and print its result. NAME is the name of the tool, or server__tool\n"
	"when several servers have a tool of that name. VALUE is a string, or JSON where\n"
	"the tool's schema says so; KEY:=JSON is always JSON.\n"
	"\n"
	"  --args ARGS     the arguments: a JSON object, @FILE, or - for stdin; instead\n"
	"                  of KEY=VALUE\n" TALK_HELP(
		"print the result as the server wrote it") "\n"
							   "Ctrl-C cancels the call, also on "
							   "the server; a second Ctrl-C ends at "
							   "once.\n"
							   "An error of the tool goes to "
							   "stderr.\n" TALK_EXITS;

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

static void print_result(struct talk *t, const struct tool *tool, const struct killick_result *r)
{
	bool failed = killick_result_is_error(r);

	if (failed)
		talk_fail(t, EXIT_REFUSED);
	if (t->json) {
		show_json(stdout, talk_json(r));
		return;
	}
	if (failed)
		talk_say(t, "%s: the tool '%s' reported an error:", tool->server, tool->name);
	print_content(failed ? stderr : stdout, talk_json(r));
}

static void verb_call_tool(struct talk *t, struct buf *args)
{
	AUTO(toolbox_done) struct toolbox box = TOOLBOX_INIT;
	AUTO(tool_done) struct tool tool = { .server = NULL };
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_CALL);
	struct killick_result *r;

	if (!toolbox_open(t, &box) || !toolbox_find(t, &box, t->words.list[0], &tool))
		return;
	if (!args->len)
		args_build(t->words.list + 1, t->words.count - 1,
			   json_get(tool.item, "inputSchema"), args);
	rq.server = tool.server;
	rq.name = tool.name;
	rq.args = args->data;
	r = talk_do(t, &rq);
	if (r)
		print_result(t, &tool, r);
	killick_result_free(r);
}

int verb_call(int argc, char **argv)
{
	struct talk t = TALK_INIT(argv);
	const char *given = NULL;
	const struct option more[] = {
		{ "args", OPTION_WORD, .text = &given },
		{ NULL },
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
	if (talk_open(&t))
		verb_call_tool(&t, &args);
	return talk_close(&t);
}
