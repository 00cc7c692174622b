/* cli.c - see cli.h */
#include "cli.h"
#include "keeper/conceal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "os/console.h"
#include "os/env.h"
#include "os/file.h"

static bool is_tty, has_colour;

void cli_wrap(FILE *to, const char *text, size_t width)
{
	size_t column = 0;

	while (*text) {
		size_t gap = strspn(text, " "), len = strcspn(text + gap, " ");
		char word[1024];
		size_t columns;

		snprintf(word, sizeof(word), "%.*s", (int)len, text + gap);
		columns = text_width(word);
		if (width && column && column + gap + columns > width) {
			fputs("\n  ", to);
			column = 2;
			gap = 0;
		}
		fprintf(to, "%*s%.*s", (int)gap, "", (int)len, text + strspn(text, " "));
		column += gap + columns;
		text += strspn(text, " ") + len;
	}
}

static void cli_put(const char *text)
{
	size_t width = console_columns(FILE_STDERR); /* 0: not a terminal */

	if (width)
		cli_wrap(stderr, text, width);
	else
		fputs(text, stderr);
	fputc('\n', stderr);
}

/* Print `before`, the sentence and `after` as one line. */
static void cli_vsay(const char *before, const char *fmt, va_list ap, const char *after)
{
	AUTO(mem_drop) char *text = NULL, *line = NULL;

	if (vasprintf(&text, fmt, ap) < 0 || asprintf(&line, "%s%s%s", before, text, after) < 0)
		abort();
	cli_put(line);
}

int cli_usage(const char *verb, const char *fmt, ...)
{
	char before[80], after[80];
	va_list ap;

	snprintf(before, sizeof(before), "killick: %s: ", verb);
	snprintf(after, sizeof(after), "; try 'killick %s --help'", verb);
	va_start(ap, fmt);
	cli_vsay(before, fmt, ap, after);
	va_end(ap);
	return EXIT_USAGE;
}

void cli_say(const char *verb, const char *fmt, ...)
{
	char before[80];
	va_list ap;

	snprintf(before, sizeof(before), "killick: %s: ", verb);
	va_start(ap, fmt);
	cli_vsay(before, fmt, ap, "");
	va_end(ap);
}

void cli_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	cli_vsay("", fmt, ap, "");
	va_end(ap);
}

int cli_finish(const char *verb, int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		cli_say(verb, "cannot write the output: %s", strerror(errno));
	return status ? status : EXIT_TRY_AGAIN;
}

int cli_refuse_option(const char *verb, const struct option_reader *r, enum option_result result)
{
	const char *word = r->argv[r->at];
	int len = strchr(word, '=') ? (int)strcspn(word, "=") : 60;

	if (result == OPTION_UNKNOWN) {
		const struct option *near = option_near(r->table, word);

		return cli_usage(verb, "unknown option '%.*s'%s%s%s", len, word,
				 near ? " (did you mean '--" : "", near ? near->name : "",
				 near ? "'?)" : "");
	}
	if (result == OPTION_REFUSED)
		return cli_usage(verb, "--%s '%s' is not %s", r->found->name, r->value,
				 r->found->takes);
	return cli_usage(verb, "option '--%s' %s", r->found->name,
			 result == OPTION_NO_VALUE ? "needs a value" : "takes no value");
}

bool cli_is_help(const char *arg)
{
	return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

bool cli_words(int argc, char **argv, const char *help, const struct option *options,
	       struct cli_words *out_words, int *out_status)
{
	struct option_reader r = { .argc = argc, .argv = argv, .at = 1 };
	struct cli_words words = { .list = argv + 1 };

	for (; r.at < argc; r.at++) {
		const char *word = argv[r.at];
		enum option_result result;

		*out_status = EXIT_USAGE;
		if (cli_is_help(word)) {
			fputs(help, stdout);
			*out_status = cli_finish(argv[0], EXIT_SUCCESS);
			return false;
		}
		if (out_words && strcmp(word, "--") == 0) {
			words.command = argv + r.at + 1;
			break;
		}
		if (word[0] != '-' || !word[1]) {
			if (!out_words) {
				cli_usage(argv[0], "unexpected argument '%.60s'", word);
				return false;
			}
			words.list[words.count++] = argv[r.at];
			continue;
		}
		result = option_read(&r, options);
		if (result != OPTION_TAKEN) {
			cli_refuse_option(argv[0], &r, result);
			return false;
		}
	}
	if (out_words)
		*out_words = words;
	return true;
}

bool cli_options(int argc, char **argv, const char *help, const struct option *options,
		 int *out_status)
{
	return cli_words(argc, argv, help, options, NULL, out_status);
}

void cli_start(void)
{
	const char *no_colour = env_get("NO_COLOR");

	text_set_utf8(console_is_utf8());
	is_tty = console_can_draw(FILE_STDOUT);
	has_colour = is_tty && !(no_colour && *no_colour);
}

bool cli_is_tty(void)
{
	return is_tty;
}

bool cli_has_colour(void)
{
	return has_colour;
}

size_t cli_width(void)
{
	return console_columns(FILE_STDOUT);
}

size_t cli_height(void)
{
	return console_rows();
}

char **cli_environment(void)
{
	static struct env all;

	env_done(&all);
	all = env_read();
	return all.list;
}

bool cli_show_secrets;

void cli_conceal(char *text, size_t size)
{
	struct line l;

	if (cli_show_secrets)
		return;
	line_init(&l);
	conceal_text(&l, text);
	snprintf(text, size, "%s", l.text);
}
