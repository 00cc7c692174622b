/* exec.h - becoming a command, as execvp does it, for a process that may not allocate.
 *
 * Not libc's: musl's execvp does not run a script that lacks its #! line, glibc's does, and clients
 * rely on it.
 */
#pragma once

/* Memory for exec_command, made at start: argv with room for a shell in front. NULL when there is
 * none. */
char **exec_room(char **argv);

/* Execute file, looked up in our PATH unless it holds a slash, with argv and environment envp. A
 * file the kernel does not know the format of is given to /bin/sh. Returns only on failure: -ENOENT
 * not found, -EACCES found but not executable. */
int exec_command(const char *file, char **argv, char **envp, char **room);
