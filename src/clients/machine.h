/* machine.h - the machine whose clients killick looks for: its operating system and its variables.
 *
 * Functions that depend on the operating system have the machine as a parameter, so tests on Linux
 * can look at a machine with Windows. Threads: any.  Blocking: on the file system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/path.h"

enum machine_system { MACHINE_LINUX, MACHINE_WINDOWS, MACHINE_SYSTEMS };

struct machine {
	enum machine_system system;
	const char *(*variable)(const char *name); /* the value; NULL: not set */
	bool (*has_program)(const char *path);     /* is there a program with this path? */
};

/* The machine that this program runs on. */
extern const struct machine machine_here;

/* The paths that the machine has. */
enum path_kind machine_paths(const struct machine *m);
/* The value of a variable that names a directory; NULL: it is not set, or no absolute path. */
const char *machine_directory(const struct machine *m, const char *name);
/* The home directory: HOME; on Windows USERPROFILE. NULL: not known. */
const char *machine_home(const struct machine *m);

/* Is there a program whose path is the first `len` bytes of the text? */
bool machine_has_program(const struct machine *m, const char *text, size_t len);
/* Find killick as clients find it by its name: in the absolute directories of PATH, without those
 * that npx and npm add while they run, because clients do not have them. On Windows the file must
 * be killick.exe: a client that starts programs with CreateProcess, or node's spawn without a
 * shell, does not find or refuses the killick.cmd that npm makes. */
bool machine_find_killick(const struct machine *m, char *out, size_t size);
/* Is this path in the cache of npx, which npm may delete? */
bool machine_is_npx_cache(const char *path, size_t len);
