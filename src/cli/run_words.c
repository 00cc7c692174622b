/* run_words.c - see run_words.h */
#include "run_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "os/fd.h"
#include "os/file.h"

/* Store the words that are not options of the verb in w->words, NULL at the end. Returns their
 * number; -1: an error was printed. */
static int run_words_split(const struct run_words *w, struct option_reader *r)
{
	struct option theirs[OPTIONS_COUNT + 1];
	struct options unused = { .recipe = RECIPE_DEFAULT };
	int count = 0;

	options_table(&unused, theirs);
	for (; r->at < r->argc && strcmp(r->argv[r->at], "--") != 0; r->at++) {
		int from = r->at;
		enum option_result result = option_read(r, w->ours);

		if (result == OPTION_UNKNOWN) {
			/* find the end of this option; options_parse reports the errors */
			option_read(r, theirs);
			while (from <= r->at)
				w->words[count++] = r->argv[from++];
			continue;
		}
		if (result != OPTION_TAKEN) {
			cli_refuse_option(w->verb, r, result);
			return -1;
		}
		if (w->on_taken && !w->on_taken(w->ctx))
			return -1;
	}
	while (r->at < r->argc)
		w->words[count++] = r->argv[r->at++];
	w->words[count] = NULL;
	return count;
}

bool run_words_parse(const struct run_words *w, int argc, char **argv, struct options *out)
{
	struct option_reader r = { .argc = argc, .argv = argv, .at = 1 };
	struct line why;
	int count = run_words_split(w, &r);

	if (count < 0)
		return false;
	if (options_parse(count, w->words, out, &why) < 0) {
		cli_say(w->verb, "%s", why.text);
		return false;
	}
	return true;
}

const char *run_words_misplaced(const struct options *o)
{
	if (o->log)
		return "--log";
	if (o->control >= 0)
		return "--control";
	if (o->users >= 0)
		return "--users";
	if (o->recipe.linger_ms)
		return "--linger";
	if (o->recipe.arg0)
		return "--arg0";
	return o->recipe.stdio == STDIO_TERMINAL ? "--terminal" : NULL;
}

bool run_report_open(const char *verb, const char *to, int *out_fd, int *out_status)
{
	*out_fd = -1;
	if (!to)
		return true;
	if (to[strspn(to, "0123456789")] == '\0')
		*out_fd = file_copy(atoi(to));
	else
		*out_fd = file_open(to, FILE_REPORT);
	if (*out_fd < 0)
		*out_status = cli_usage(verb, "--report: cannot write to '%.100s': %s", to,
					strerror(-*out_fd));
	return *out_fd >= 0;
}

void run_report_write(const char *verb, const char *to, int fd, const struct buf *line)
{
	ssize_t n = fd_write(fd, line->data, line->len);

	if (n != (ssize_t)line->len)
		cli_say(verb, "--report: cannot write to '%.100s': %s; the server has ended", to,
			strerror(n < 0 ? (int)-n : ENOSPC));
}
