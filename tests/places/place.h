/* place.h - servers in another place: configs, calls that hang there, and what is left of them.
 *
 * A test is in a directory of its own (begin of shell.h). The far side shares the machine, so the
 * auditor sees it; what is far about it is that nothing but the place's own way leads there: no
 * environment, no descriptor, no parent. Its killick has records of its own.
 * Every function fails the test when it cannot do its work; every wait has a deadline.
 */
#pragma once

#include <stdbool.h>

#include "minder.h"
#include "shell.h"

enum { GONE_MS = 10000 }; /* for what should take milliseconds */

/* begin(), and a server program that leaves a mess: `mess ARGS...` is `killick-zoo ARGS...` with a
 * child in a session of its own, a daemon, and SIGTERM ignored by all of them. What it is told is
 * also in the file `calls`. They live longer than any wait here. */
void place_begin(void);
/* The directory of this test, and a file in it; a few may be in use at once. */
const char *place_dir(void);
const char *place_file(const char *name);
/* Wait until a file has this text. */
void place_await_text(const char *file, const char *text);
/* A program of the system, looked up where daemons are, too. Skips the test without it. */
const char *place_program(const char *name, const char *package);
/* An environment for far daemons. SetEnv and the like: the tag, so that executor and keepers carry
 * it. tagged: with the auditor's tag. */
const char *const *place_env(bool tagged);

/* mcp.json: the server `s`, run by the zoo directly or through `mess`, in the environment `far`,
 * which is `environment`, a JSON object. Words of args are split at spaces. */
void place_config(const char *environment, bool mess, const char *args);

/* Run killick with these words, NULL at the end: the exit status, `out` and `err` are filled. */
int place_run(const char *first, ...);
#define PLACE_RUN(want_, ...)                                                                      \
	do {                                                                                       \
		int status_ = place_run(__VA_ARGS__, NULL);                                        \
		if (status_ != (want_))                                                            \
			FAIL("exit status %d: %s%s", status_, out, err);                           \
	} while (0)

/* Start a `killick call` of a tool that does not answer, and wait until the server has the call. */
struct child place_hang(const char *tool);
/* SIGKILL it, and reap. */
void place_kill(struct child *c);
/* Read what it says to the end and check its exit status. */
void place_ends(struct child *c, int want);

/* Nothing with the tag is alive within the time, and nobody came to us whom we cannot reap. */
void place_nothing_left(int timeout_ms);

/* A port nobody listens on, on loopback, for daemons that cannot choose one themselves. */
int place_port(void);
