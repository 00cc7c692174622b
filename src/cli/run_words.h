/* run_words.h - splits the words of a verb that takes the options of `killick run` and more.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "base/buf.h"
#include "keeper/options.h"

struct run_words {
	const char *verb;
	const struct option *ours; /* options of the verb itself */
	/* Called after each option of `ours` was read; false: an error was printed. May be NULL. */
	bool (*on_taken)(void *ctx);
	void *ctx;
	char **words; /* room for argc + 1 words; lives as long as the options */
};

/* Read the options of `ours` from the words up to "--", and parse all other words as those of
 * `killick run`. False: an error was printed, and the exit status is EXIT_USAGE, or on_taken
 * returned false. The strings of *out are borrowed from argv. */
bool run_words_parse(const struct run_words *w, int argc, char **argv, struct options *out);
/* The option in `o` that needs a keeper with the client's own stdin and stdout; NULL: none. */
const char *run_words_misplaced(const struct options *o);

/* Open the target of --report, a file or the number of a descriptor; NULL: *out_fd is -1. False: an
 * error was printed; exit with *out_status. */
bool run_report_open(const char *verb, const char *to, int *out_fd, int *out_status);
/* Write the report; an error is printed, and does not change the exit status. */
void run_report_write(const char *verb, const char *to, int fd, const struct buf *line);
