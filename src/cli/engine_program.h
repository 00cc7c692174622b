/* engine_program.h - the file of a container engine.
 *
 * A record may be forged, so a janitor never executes a path of a record. A janitor looks for the
 * engine by its name, and compares the file with the file that the record names.
 * Threads: any.  Blocking: on the file system.
 */
#pragma once

#include <stdbool.h>

/* The file that `command`, a path or a name in PATH, stands for, without symbolic links; to be
 * given to free(). NULL: not found. */
char *engine_program_find(const char *command);

/* The same for a janitor: `name` in the absolute directories of PATH and in those of the system.
 * NULL also when engine_program_is_trusted refuses the file. */
char *engine_program_find_trusted(const char *name);

/* Is this a program of root or of this user, which no other user can write? */
bool engine_program_is_trusted(const char *file);
