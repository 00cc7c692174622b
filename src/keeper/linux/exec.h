/* exec.h - execvp for a process that may not allocate.
 *
 * libc's execvp is not used: musl's does not run a script without a #! line, glibc's does, and
 * clients rely on this.
 */
#pragma once

/* Memory for exec_command, to be called once, at start: argv with room for a shell in front. NULL
 * when there is no memory. */
char **exec_room(char **argv);

/* Execute file with argv and environment envp. A file without a slash is looked up in the PATH of
 * this process. A file whose format the kernel does not know is run by /bin/sh. Returns only on
 * failure: -ENOENT not found, -EACCES found but not executable. */
int exec_command(const char *file, char **argv, char **envp, char **room);
