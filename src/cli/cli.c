/* cli.c - see cli.h */
#include "cli.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"

static bool is_tty, has_colour;

static void say(const char *verb, const char *fmt, va_list ap)
{
	fprintf(stderr, "killick: %s: ", verb);
	vfprintf(stderr, fmt, ap);
}

int cli_usage(const char *verb, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(verb, fmt, ap);
	va_end(ap);
	fprintf(stderr, "; try 'killick %s --help'\n", verb);
	return EXIT_USAGE;
}

void cli_say(const char *verb, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(verb, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int cli_finish(const char *verb, int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		cli_say(verb, "cannot write the output: %s", strerror(errno));
	return status ? status : EXIT_TRY_AGAIN;
}

static const struct cli_option *find_option(const struct cli_option *options, const char *name,
					    size_t len)
{
	for (const struct cli_option *o = options; o->name; o++)
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

static const struct cli_option *find_letter(const struct cli_option *options, const char *arg)
{
	for (const struct cli_option *o = options; o->name; o++)
		if (o->letter && arg[1] == o->letter && !arg[2])
			return o;
	return NULL;
}

/* Take argv[*i], which starts with a dash, and its value if it has one. */
static bool take_option(int argc, char **argv, int *i, const struct cli_option *options)
{
	const char *arg = argv[*i], *name = arg + 2, *equals;
	const struct cli_option *o;
	size_t len;

	equals = strchr(arg, '=');
	len = equals ? (size_t)(equals - name) : strlen(name);
	if (strncmp(arg, "--", 2) == 0)
		o = find_option(options, name, len);
	else
		o = find_letter(options, arg);
	if (!o) {
		cli_usage(argv[0], "unknown option '%.*s'", equals ? (int)(equals - arg) : 60, arg);
		return false;
	}
	if (o->flag && equals) {
		cli_usage(argv[0], "option '--%s' takes no value", o->name);
		return false;
	}
	if (o->flag) {
		*o->flag = true;
		return true;
	}
	if (equals)
		*o->value = equals + 1;
	else if (*i + 1 < argc)
		*o->value = argv[++*i];
	else {
		cli_usage(argv[0], "option '--%s' needs a value", o->name);
		return false;
	}
	return true;
}

static bool is_help(const char *arg)
{
	return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

bool cli_words(int argc, char **argv, const char *help, const struct cli_option *options,
	       struct cli_words *out_words, int *out_status)
{
	struct cli_words words = { .list = argv + 1 };

	for (int i = 1; i < argc; i++) {
		*out_status = EXIT_USAGE;
		if (is_help(argv[i])) {
			fputs(help, stdout);
			*out_status = cli_finish(argv[0], EXIT_SUCCESS);
			return false;
		}
		if (out_words && strcmp(argv[i], "--") == 0) {
			words.command = argv + i + 1;
			break;
		}
		if (argv[i][0] != '-' || !argv[i][1]) {
			if (!out_words) {
				cli_usage(argv[0], "unexpected argument '%.60s'", argv[i]);
				return false;
			}
			words.list[words.count++] = argv[i];
			continue;
		}
		if (!take_option(argc, argv, &i, options))
			return false;
	}
	if (out_words)
		*out_words = words;
	return true;
}

bool cli_options(int argc, char **argv, const char *help, const struct cli_option *options,
		 int *out_status)
{
	return cli_words(argc, argv, help, options, NULL, out_status);
}

/* UTF-8 when the locale says so, even when its files are not installed, as in small containers. */
static bool locale_is_utf8(void)
{
	const char *name;

	if (setlocale(LC_CTYPE, ""))
		return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	name = getenv("LC_ALL");
	if (!name || !*name)
		name = getenv("LC_CTYPE");
	if (!name || !*name)
		name = getenv("LANG");
	if (!name || !(strcasestr(name, "UTF-8") || strcasestr(name, "UTF8")))
		return false;
	return setlocale(LC_CTYPE, "C.UTF-8") != NULL;
}

void cli_start(void)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

	text_set_utf8(locale_is_utf8());
	is_tty = isatty(STDOUT_FILENO) == 1 && term && strcmp(term, "dumb") != 0;
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
	struct winsize ws;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col >= 20)
		return ws.ws_col;
	return 80;
}

size_t cli_height(void)
{
	struct winsize ws;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_row > 0)
		return ws.ws_row;
	return 24;
}
