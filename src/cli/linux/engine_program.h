/* engine_program.h - the file of a container engine.
 *
 * A record may be forged, so a janitor never executes a path of a record. A janitor looks for the
 * engine by its name, and compares the file with the file that the record names.
 * Threads: any.  Blocking: on the file system.
 */
#pragma once

#include <stdbool.h>

/* Returns the file of `command`, which is a path or a name in PATH, without symbolic links. The
 * caller frees it. NULL: not found. */
char *engine_program_find(const char *command);

/* The same for a janitor: looks for `name` in the absolute directories of PATH and in the
 * directories of the system. NULL also when engine_program_is_trusted refuses the file. */
char *engine_program_find_trusted(const char *name);

/* Does the program belong to root or to this user, and can no other user write it? */
bool engine_program_is_trusted(const char *file);
