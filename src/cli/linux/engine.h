/* engine.h - the command lines of docker, podman and nerdctl, as far as killick must read them.
 *
 *   docker [global options] run [options] IMAGE [command of the container]
 *
 * killick adds options right behind the word `run`, so the image need not be found. But the options
 * that the user gave must be known (--rm, --cidfile, -d, ...), and no word of the container's
 * command may be taken for one of them. So the reader has a table of all options, with and without
 * values, and stops at the first word that is not an option. A command with an option that is not
 * in the table is not understood, and killick leaves the command alone. Threads: any.  Blocking:
 * never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct engine_command {     /* strings are borrowed from the words */
	const char *engine; /* docker, podman or nerdctl; NULL: another program */
	int globals;        /* how many words come before `run` or `container run` */
	int run; /* the index of the word `run`; 0: the command does not run a container */
	/* the engine and its global options, as --name=value, for other commands; podman and
	 * nerdctl accept these options behind `run`, too */
	char **call;
	const char *unknown; /* the first unknown option; NULL: none */
	const char *cidfile; /* NULL: not given */
	bool rm, init, detach, help;
	bool label;   /* the user gives the label that killick uses */
	bool no_rm;   /* the command has an option with which engines refuse --rm: --restart */
	bool no_init; /* the same for --init: --pid, --pod, --systemd */
};

/* Write the names of the engines in PATH, as "docker, podman"; "": none. */
void engine_installed(char *out, size_t size);

void engine_parse(char *const *words, struct engine_command *out);
void engine_command_done(struct engine_command *c);

/* May this engine with these global options be written into a record? Options that can name a
 * program to run are refused, because a record can be forged (SECURITY.md). Options must have the
 * long spelling. With `lost` the words are from a record: then options may name only the default
 * places of the engine, because a prepared store can name a program, too. */
bool engine_is_recordable(char *const *words, bool lost);

/* Returns the name of variable i that says where an engine has its containers; NULL behind the
 * last. */
const char *engine_place(int i);
/* May a janitor use this NAME=VALUE of a record? Yes, if the environment of the janitor has the
 * same value, if the value is a default place, or if the value is a name and not a path. */
bool engine_place_is_accepted(const char *entry);
