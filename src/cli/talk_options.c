/* talk_options.c - the command line of the client verbs; see talk.h */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "talk.h"

enum { OPTIONS_MAX = 12 };

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
		{ "json", .flag = &t->json },
		{ "verbose", .flag = &t->verbose, .letter = 'v' },
	};
	size_t n = 5;

	for (; more && more->name; more++) {
		assert(n < OPTIONS_MAX - 1);
		options[n++] = *more;
	}
	return cli_words(argc, argv, help, options, &t->words, out_status) &&
	       talk_options_check(t, max_words, out_status);
}
