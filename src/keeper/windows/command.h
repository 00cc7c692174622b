/* command.h - the command of a recipe as CreateProcess takes it: a program and a command line.
 *
 * A batch file is run by the cmd.exe of the system directory. The variable ComSpec, which any
 * program may have changed, is not asked.
 *
 * Threads: one.  Blocking: as the file system does.  Allocates: never.
 */
#pragma once

#include "keeper/line.h"
#include "keeper/recipe.h"
#include "program.h"

#define COMMAND_LINE_MAX  32767 /* characters with the NUL: a limit of CreateProcess */
#define COMMAND_BATCH_MAX 8191  /* characters: a limit of cmd.exe */

struct command {
	wchar_t program[PROGRAM_MAX];
	wchar_t line[COMMAND_LINE_MAX];
};

/* Find the program of r->argv and quote its arguments. 0; or an exit code, and `why` is the
 * sentence: 127 not found, 126 found but not startable or an argument cannot be passed. */
int command_make(struct command *c, const struct recipe *r, struct line *why);
