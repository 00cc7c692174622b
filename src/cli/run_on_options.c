/* run_on_options.c - see run_on.h */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/strings.h"
#include "cli.h"
#include "os/env.h"
#include "run_on.h"
#include "run_words.h"

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
	const char *wrong = run_words_misplaced(o);

	if (wrong)
		return wrong;
	if (o->has_container)
		return "--container";
	if (o->no_container)
		return "--no-container";
	return o->recipe.sweep ? NULL : "--sweep";
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

struct run_on_reading {
	const char *env; /* the value of the last --env; NULL: none */
	bool help;
	char **envp;
	int *out_status;
};

static bool run_on_option_taken(void *ctx)
{
	struct run_on_reading *r = ctx;
	const char *env = r->env;

	if (r->help) {
		fputs(run_on_help, stdout);
		*r->out_status = cli_finish(VERB, EXIT_SUCCESS);
		return false;
	}
	r->env = NULL;
	return !env || add_env(&r->envp, env);
}

bool run_on_options(int argc, char **argv, struct run_on_options *out, int *out_status)
{
	struct run_on_reading reading = { .out_status = out_status };
	const char *cwd = NULL;
	const struct option ours[] = {
		{ "on", OPTION_WORD, .text = &out->on.where },
		{ "config", OPTION_WORD, .text = &out->on.config },
		{ "cwd", OPTION_WORD, .text = &cwd },
		{ "token-env", OPTION_WORD, .text = &out->on.token_env },
		{ "env", OPTION_WORD, .text = &reading.env },
		{ "help", .flag = &reading.help, .letter = 'h' },
		{ .name = NULL },
	};
	struct run_words words = {
		.verb = VERB, .ours = ours, .on_taken = run_on_option_taken, .ctx = &reading
	};

	*out = (struct run_on_options){ .words = NULL };
	*out_status = EXIT_USAGE;
	words.words = out->words = mem_grow(NULL, (size_t)argc + 1, sizeof(char *));
	if (!run_words_parse(&words, argc, argv, &out->run))
		return false;
	out->run.recipe.cwd = cwd;
	out->run.recipe.envp = reading.envp;
	return run_on_options_check(out, out_status);
}
