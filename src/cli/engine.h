/* engine.h - the command lines of docker, podman and nerdctl, as far as killick must read them.
 *
 *   docker [global options] run [options] IMAGE [command of the container]
 *
 * killick adds options right behind the word `run`, so the image need not be found. But the options
 * that the user gave must be known (--rm, --cidfile, -d, ...), and no word of the container's
 * command may be taken for one of them. So the reader has a table of all options, with and without
 * values, and stops at the first word that is not an option, and at the first option that is not in
 * the table.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct engine_command {     /* texts are borrowed from the words */
	const char *engine; /* docker, podman or nerdctl; NULL: another program */
	int globals;        /* how many words come before `run` or `container run` */
	int run; /* the index of the word `run`; 0: the command does not run a container */
	const char *unknown; /* the first option before `run` that is not known; NULL: none */
	const char *cidfile; /* NULL: not given */
	bool rm, init, detach;
	bool no_rm;   /* an option beside which engines refuse --rm: --restart */
	bool no_init; /* an option beside which engines refuse --init: --pid, --pod, --systemd */
};

/* The engines in PATH, as "docker, podman"; "": none. */
void engine_installed(char *out, size_t size);

void engine_parse(char *const *words, struct engine_command *out);

/* May these global options, and the variables of this process, be written into a record and be used
 * by a janitor? Options and variables that can name a program to run may not, because a record can
 * be forged (SECURITY.md). */
bool engine_is_recordable(char *const *words, int count);
bool engine_env_is_recordable(void);
/* The variables that say where an engine has its containers; NULL at the end. */
extern const char *const engine_places[];
