/* shell.h - a user at a shell: runs killick in a directory of its own, with configs of zoo servers.
 *
 * Every function fails the test when it cannot do its work; every wait has a deadline.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "t.h"

enum { TEXT_MAX = 1 << 18, RUN_MS = 40000, TEST_MS = 60000 };

extern char out[TEXT_MAX], err[TEXT_MAX]; /* what the last program wrote */

const char *killick(void);
const char *zoo(void);

/* A directory to be in, with records of its own and no config but ours. */
void begin(void);
void write_file(const char *name, const char *text);
/* Make the directories of a path; what is behind its last slash is a file. */
void make_dirs(const char *path);
/* Skip the test in a build without libyaml. */
void need_yaml(void);
bool file_has(const char *name, const char *text);
/* A config: pairs of a server's name and the way of `killick-zoo mcp`. */
void write_config(const char *file, const char *const *pairs);
#define CONFIG(file_, ...) write_config(file_, (const char *const[]){ __VA_ARGS__, NULL })
/* How many zoo servers were started so far. */
size_t started(void);

struct child {
	pid_t pid;
	int out, err; /* ours to read; -1: closed */
	size_t out_len, err_len;
};
/* Start a program; in: its stdin, -1 for ours. */
struct child start(char *const *argv, int in);
/* The same with a pipe as its stdin; *out_in is the end to write to. */
struct child start_with_pipe(char *const *argv, int *out_in);
/* Start killick on a terminal of its own, which is its controlling one; all it writes is in out.
 * The terminal has this many columns (80). */
extern unsigned short columns;
struct child on_terminal(const char *first, ...);
/* The same for any program. Bytes written to .out are typed. */
struct child start_on_terminal(char *const *argv);
/* Read until both ends are closed, or until `text`, if it is not NULL, was read. */
void listen_for(struct child *c, const char *text);
/* Wait for its end; the exit status as a shell has it. */
int finish(struct child *c);

/* Nothing of the test is alive any more, or will be soon. Keepers are nobody's children, so in the
 * end they are ours, who are a subreaper. */
void nothing_left(void);

/* Run killick with these words, NULL at the end. Nothing is left after it. */
int run(const char *first, ...);

/* Check the exit status, and show what was said if it is another. */
#define RUN(want_, ...)                                                                            \
	do {                                                                                       \
		int status_ = run(__VA_ARGS__, NULL);                                              \
		if (status_ != (want_))                                                            \
			FAIL("exit status %d: %s%s", status_, out, err);                           \
	} while (0)
#define SAYS(text_)                                                                                \
	do {                                                                                       \
		if (!strstr(err, text_))                                                           \
			FAIL("no '%s' in: %s", text_, err);                                        \
	} while (0)
#define PRINTS(text_)                                                                              \
	do {                                                                                       \
		if (!strstr(out, text_))                                                           \
			FAIL("no '%s' in: %s%s", text_, out, err);                                 \
	} while (0)
