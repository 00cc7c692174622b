/* talk_options.c - the command line of the client verbs; see talk.h */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strings.h"
#include "os/env.h"
#include "talk.h"

enum { OPTIONS_MAX = 16 };

/* Add the variable of --env NAME=VALUE, or of --env NAME with its value here. */
static int talk_add_variable(const char *text, void *other)
{
	struct talk *t = other;
	const char *value = env_get(text);
	char *entry = NULL;

	if (*text == '=' || !*text)
		return -EINVAL;
	if (strchr(text, '='))
		entry = mem_dup(text);
	else if (!value || asprintf(&entry, "%s=%s", text, value) < 0)
		return -EINVAL;
	strings_add(&t->env, entry);
	return 0;
}

/* Programs see the first entry of a name in environ, but the server gets the last one, so --env
 * overrides. */
char **talk_environment(const struct talk *t)
{
	char **all = strings_copy((char *[]){ NULL });

	for (char **e = cli_environment(); !t->clean_env && *e; e++)
		if (**e != '=' && strchr(*e, '='))
			strings_add(&all, mem_dup(*e));
	for (char **e = t->env; e && *e; e++)
		strings_add(&all, mem_dup(*e));
	return all;
}

static bool talk_options_check(struct talk *t, int max_words, int *out_status)
{
	unsigned ms;

	*out_status = EXIT_USAGE;
	if (t->words.count > max_words) {
		cli_usage(t->verb, "unexpected argument '%.60s'", t->words.list[max_words]);
		return false;
	}
	if (t->words.command && !t->words.command[0]) {
		cli_usage(t->verb, "no command after '--'");
		return false;
	}
	if (t->words.command && (t->config || t->server)) {
		cli_usage(t->verb, "'--%s' and a command after '--' exclude each other",
			  t->config ? "config" : "server");
		return false;
	}
	if (!t->words.command && (t->env || t->clean_env)) {
		cli_usage(t->verb,
			  "'--%s' is for a command after '--'; in a config use 'env' and 'envVars'",
			  t->env ? "env" : "clean-env");
		return false;
	}
	if (t->timeout && (option_time(t->timeout, &ms) < 0 || ms == 0)) {
		cli_usage(t->verb, "'--timeout' needs a time such as 500ms, 30s or 5m, not '%.60s'",
			  t->timeout);
		return false;
	}
	if (t->timeout)
		t->timeout_ms = (long)ms;
	return true;
}

bool talk_options(struct talk *t, int argc, char **argv, const char *help,
		  const struct option *more, int max_words, int *out_status)
{
	struct option options[OPTIONS_MAX] = {
		{ "config", OPTION_WORD, .text = &t->config },
		{ "server", OPTION_WORD, .text = &t->server },
		{ "timeout", OPTION_WORD, .text = &t->timeout },
		{ "env", OPTION_OTHER, "NAME=VALUE, or the name of a variable that is set",
		  .other = t, .read = talk_add_variable },
		{ "clean-env", .flag = &t->clean_env },
		{ "json", .flag = &t->json },
		{ "verbose", .flag = &t->verbose, .letter = 'v' },
	};
	size_t n = 7;

	for (; more && more->name; more++) {
		assert(n < OPTIONS_MAX - 1);
		options[n++] = *more;
	}
	if (cli_words(argc, argv, help, options, &t->words, out_status) &&
	    talk_options_check(t, max_words, out_status))
		return true;
	strings_free(t->env);
	t->env = NULL;
	return false;
}
