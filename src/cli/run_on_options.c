/* run_on_options.c - see run_on.h */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/strings.h"
#include "cli.h"
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

struct reader {
	int argc;
	char **argv;
	int i;
	int rest_count;
	struct run_on_options *out;
};

/* --env NAME=VALUE, or NAME with its value here. */
static bool add_env(struct reader *r, const char *text)
{
	size_t len = strcspn(text, "=");
	const char *value = getenv(text);
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
	strings_add(&r->out->envp, entry);
	return true;
}

/* An option of `run --on` and its value. False with *ours: the value is wrong. */
static bool take_ours(struct reader *r, bool *ours)
{
	const struct {
		const char *name;
		const char **value; /* NULL: --env */
	} table[] = {
		{ "--on", &r->out->on.where },
		{ "--config", &r->out->on.config },
		{ "--cwd", &r->out->cwd },
		{ "--token-env", &r->out->on.token_env },
		{ "--env", NULL },
	};
	const char *word = r->argv[r->i], *value;
	size_t len = strcspn(word, "="), k = 0;

	while (k < sizeof(table) / sizeof(table[0]) &&
	       !(strlen(table[k].name) == len && strncmp(table[k].name, word, len) == 0))
		k++;
	*ours = k < sizeof(table) / sizeof(table[0]);
	if (!*ours)
		return false;
	if (word[len] == '=') {
		value = word + len + 1;
	} else if (r->i + 1 < r->argc && strcmp(r->argv[r->i + 1], "--") != 0) {
		value = r->argv[++r->i];
	} else {
		cli_usage(VERB, "option '%s' needs a value", table[k].name);
		return false;
	}
	if (!table[k].value)
		return add_env(r, value);
	*table[k].value = value;
	return true;
}

/* Refuse options for keepers on this machine. */
static const char *misplaced(const struct options *o)
{
	if (o->log)
		return "--log";
	if (o->control >= 0)
		return "--control";
	if (o->linger_ms)
		return "--linger";
	if (o->arg0)
		return "--arg0";
	if (!o->sweep)
		return "--sweep";
	return o->terminal ? "--terminal" : NULL;
}

static bool check(struct run_on_options *o, int *out_status)
{
	const char *wrong = misplaced(&o->run);

	*out_status = EXIT_USAGE;
	if (wrong) {
		cli_usage(VERB, "'%s' cannot be used with '--on'", wrong);
		return false;
	}
	if (!o->on.where || !*o->on.where) {
		cli_usage(VERB, "'--on' needs an environment, a URL or ssh:HOST");
		return false;
	}
	if (o->cwd && *o->cwd != '/') {
		cli_usage(VERB,
			  "'--cwd' must be an absolute path on the other machine, not '%.60s'",
			  o->cwd);
		return false;
	}
	return true;
}

bool run_on_options(int argc, char **argv, struct run_on_options *out, int *out_status)
{
	struct reader r = { .argc = argc, .argv = argv, .i = 1, .out = out };
	struct line why;

	*out = (struct run_on_options){ .cwd = NULL };
	out->words = mem_grow(NULL, (size_t)argc + 1, sizeof(char *));
	*out_status = EXIT_USAGE;
	for (; r.i < argc && strcmp(argv[r.i], "--") != 0; r.i++) {
		bool ours;

		if (strcmp(argv[r.i], "--help") == 0 || strcmp(argv[r.i], "-h") == 0) {
			fputs(run_on_help, stdout);
			*out_status = cli_finish(VERB, EXIT_SUCCESS);
			return false;
		}
		if (take_ours(&r, &ours))
			continue;
		if (ours)
			return false;
		out->words[r.rest_count++] = argv[r.i];
		/* its value is not an option, whatever it looks like */
		if (!strchr(argv[r.i], '=') && r.i + 1 < argc && strcmp(argv[r.i + 1], "--") != 0)
			out->words[r.rest_count++] = argv[++r.i];
	}
	while (r.i < argc)
		out->words[r.rest_count++] = argv[r.i++];
	out->words[r.rest_count] = NULL;
	if (options_parse(r.rest_count, out->words, &out->run, &why) < 0) {
		cli_say(VERB, "%s", why.text);
		return false;
	}
	return check(out, out_status);
}
