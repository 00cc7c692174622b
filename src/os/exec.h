/* exec.h - become another program, with the stdin, stdout and stderr of this one. For programs of
 * killick, not for hosts. Threads: the first one, before any other is started.
 */
#pragma once

/* Look for argv[0] in PATH and become this program. Returns only -errno. On Windows the program is
 * started, and this process waits and exits with its status. */
int exec_program(char *const *argv);
