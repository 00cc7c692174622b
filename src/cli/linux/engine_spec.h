/* engine_spec.h - the text by which a keeper or a janitor calls a container engine (container.h).
 *
 * The text is one line: a label, the engine's file, variables, and the engine with its global
 * options, with a space between two words; spaces, percent signs and control characters in a word
 * are written as %20, an empty word as %-.
 *
 *   5e0c1f2a9b7d4e63 program=/usr/bin/docker DOCKER_CONTEXT=far HOME=/root docker --log-level=error
 *
 * Threads: any.  Blocking: on the file system, to look for the engine's file.
 */
#pragma once

#include <stdbool.h>

#include "keeper/linux/container.h"

#define ENGINE_LABEL     "killick.run" /* the name of the label that killick gives to containers */
#define ENGINE_LABEL_LEN CONTAINER_LABEL_LEN /* hex digits of its value */

struct engine_spec {
	char label[ENGINE_LABEL_LEN + 1];
	char *program; /* the engine's file at the start, without symbolic links; NULL: not found */
	char **env;    /* NAME=VALUE */
	char **words;  /* the engine and its global options; not empty */
};

/* Returns the text for these words; the caller frees it. The text begins with CONTAINER_PRIVATE
 * when it must not be written into a record. */
char *engine_spec_write(const char *label, char *const *words);

/* Read a text. With `lost` the text is from a record, which may be forged: then the engine that is
 * found in PATH must be the file that the text names, and a janitor must be allowed to use the
 * options and variables (engine.h). Returns 0, -EINVAL, or -EPERM if a janitor must not use the
 * text. */
int engine_spec_read(const char *text, bool lost, struct engine_spec *out);
void engine_spec_done(struct engine_spec *s);
