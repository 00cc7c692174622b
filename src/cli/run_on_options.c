/* run_on_options.c - see run_on.h */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/strings.h"
#include "cli.h"
#include "os/env.h"
#include "run_on.h"

#define VERB "run"

const char run_on_help[] =
	"usage: killick run --on PLACE [OPTION]... -- CMD [ARG]...\n"
	"\n"
	"Run CMD on another machine, held by the `killick exec-server` there, with the\n"
	"stdin, stdout and stderr of killick. CMD and every process it starts are ended\n"
	"when CMD exits, when stdin hangs up, when the parent of killick dies, when\n"
	"killick gets SIGTERM, SIGINT or SIGHUP or is killed, and when the connection is\n"
	"lost for longer than the executor's lease.\n"
	"\n"
	"  --on PLACE         an environment of the config by its name, ws://HOST:PORT,\n"
	"                     wss://HOST:PORT, unix:PATH or ssh:[USER@]HOST\n"
	"  --cwd DIR          working directory of CMD there (same path as here)\n"
	"  --env NAME=VALUE   a variable for CMD; NAME alone has its value here. Other\n"
	"                     variables are not sent\n"
	"  --config FILE      file with the environment; else $KILLICK_CONFIG,\n"
	"                     .mcp.json, mcp.json or .vscode/mcp.json here\n"
	"  --token-env NAME   the variable that has the token for a URL\n"
	"\n"
	"--grace, --contain, --owner, --max-procs, --memory, --name, --session, --report\n"
	"are as in 'killick run --help', for the other machine.\n"
	"\n"
	"Exit status: that of CMD, 128+n when CMD died of signal n; 64 usage, 65 config\n"
	"refused, 69 cannot connect, or the connection was lost, 75 the exit status of\n"
	"CMD is not known, 126 cannot run CMD, 127 CMD not found.\n";

/* Add the variable of --env NAME=VALUE, or of --env NAME with its value here. */
static bool add_env(char ***envp, const char *text)
{
	size_t len = strcspn(text, "=");
	const char *value = env_get(text);
	char *entry;

	if (len == 0) {
		cli_usage(VERB, "--env '%.60s' is not NAME=VALUE", text);
		return false;
	}
	if (text[len] == '=') {
		entry = mem_dup(text);
	} else if (value) {
		size_t size = len + strlen(value) + 2;

		entry = mem_grow(NULL, size, 1);
		snprintf(entry, size, "%s=%s", text, value);
	} else {
		cli_usage(VERB, "--env %.60s: the variable is not set here; write NAME=VALUE",
			  text);
		return false;
	}
	strings_add(envp, entry);
	return true;
}

/* Returns an option that is only for keepers on this machine, or NULL. */
static const char *misplaced(const struct options *o)
{
	if (o->log)
		return "--log";
	if (o->control >= 0)
		return "--control";
	if (o->recipe.linger_ms)
		return "--linger";
	if (o->recipe.arg0)
		return "--arg0";
	if (o->has_container)
		return "--container";
	if (o->no_container)
		return "--no-container";
	if (!o->recipe.sweep)
		return "--sweep";
	return o->recipe.stdio == STDIO_TERMINAL ? "--terminal" : NULL;
}

static bool run_on_options_check(struct run_on_options *o, int *out_status)
{
	const char *wrong = misplaced(&o->run), *cwd = o->run.recipe.cwd;

	*out_status = EXIT_USAGE;
	if (wrong) {
		cli_usage(VERB, "'%s' cannot be used with '--on'", wrong);
		return false;
	}
	if (!o->on.where || !*o->on.where) {
		cli_usage(VERB, "'--on' needs an environment, a URL or ssh:HOST");
		return false;
	}
	if (cwd && path_kind(cwd) == PATH_RELATIVE) {
		cli_usage(VERB,
			  "'--cwd' must be an absolute path on the other machine, not '%.60s'",
			  cwd);
		return false;
	}
	return true;
}

/* Read the options of this verb, and store the other words, which are options of `killick run`, in
 * out->words. False: help or an error was printed. */
static bool take_ours(struct option_reader *r, struct run_on_options *out, struct recipe *recipe,
		      int *out_count, int *out_status)
{
	const char *env = NULL;
	bool help = false;
	const struct option ours[] = {
		{ "on", OPTION_WORD, .text = &out->on.where },
		{ "config", OPTION_WORD, .text = &out->on.config },
		{ "cwd", OPTION_WORD, .text = &recipe->cwd },
		{ "token-env", OPTION_WORD, .text = &out->on.token_env },
		{ "env", OPTION_WORD, .text = &env },
		{ "help", .flag = &help, .letter = 'h' },
		{ .name = NULL },
	};
	struct option theirs[OPTIONS_COUNT + 1];
	struct options unused = { .recipe = RECIPE_DEFAULT };
	int count = 0;

	options_table(&unused, theirs);
	for (; r->at < r->argc && strcmp(r->argv[r->at], "--") != 0; r->at++) {
		int from = r->at;
		enum option_result result = option_read(r, ours);

		if (result == OPTION_UNKNOWN) {
			/* find the end of this option; options_parse reports the errors */
			option_read(r, theirs);
			while (from <= r->at)
				out->words[count++] = r->argv[from++];
			continue;
		}
		if (result != OPTION_TAKEN) {
			cli_refuse_option(VERB, r, result);
			return false;
		}
		if (help) {
			fputs(run_on_help, stdout);
			*out_status = cli_finish(VERB, EXIT_SUCCESS);
			return false;
		}
		if (env && !add_env(&recipe->envp, env))
			return false;
		env = NULL;
	}
	while (r->at < r->argc)
		out->words[count++] = r->argv[r->at++];
	out->words[count] = NULL;
	*out_count = count;
	return true;
}

bool run_on_options(int argc, char **argv, struct run_on_options *out, int *out_status)
{
	struct option_reader r = { .argc = argc, .argv = argv, .at = 1 };
	struct recipe ours = { .cwd = NULL };
	struct line why;
	int count;

	*out = (struct run_on_options){ .words = NULL };
	*out_status = EXIT_USAGE;
	out->words = mem_grow(NULL, (size_t)argc + 1, sizeof(char *));
	if (!take_ours(&r, out, &ours, &count, out_status))
		return false;
	if (options_parse(count, out->words, &out->run, &why) < 0) {
		cli_say(VERB, "%s", why.text);
		return false;
	}
	out->run.recipe.cwd = ours.cwd;
	out->run.recipe.envp = ours.envp;
	return run_on_options_check(out, out_status);
}
