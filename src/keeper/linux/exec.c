/* exec.c - see exec.h */
#include "exec.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char **exec_room(char **argv)
{
	static char *usual[64]; /* as in server_environment */
	size_t n = 0;

	assert(argv[0]);
	while (argv[n])
		n++;
	return n + 2 <= sizeof(usual) / sizeof(usual[0]) ? usual : malloc((n + 2) * sizeof(*argv));
}

static int try(const char *path, char **argv, char **envp, char **room)
{
	execve(path, argv, envp);
	if (errno != ENOEXEC)
		return -errno;
	room[0] = "sh";
	room[1] = (char *)path;
	for (size_t i = 1;; i++) {
		room[i + 1] = argv[i];
		if (!argv[i])
			break;
	}
	execve("/bin/sh", room, envp);
	return -ENOEXEC;
}

int exec_command(const char *file, char **argv, char **envp, char **room)
{
	const char *dir = getenv("PATH");
	char path[PATH_MAX];
	bool denied = false;

	assert(file && argv[0] && room);
	if (strchr(file, '/'))
		return try(file, argv, envp, room);
	for (dir = dir ? dir : "/bin:/usr/bin";; dir++) {
		size_t len = strcspn(dir, ":");
		int n = snprintf(path, sizeof(path), "%.*s%s%s", (int)len, dir, len ? "/" : "",
				 file);
		int r = n < 0 || (size_t)n >= sizeof(path) ? -ENOENT : try(path, argv, envp, room);

		/* Try the next directory in the same cases as execvp: not found, not reachable, no
		 * permission. A directory that may not be entered is no reason to report "not
		 * executable" for a command that is in no directory. */
		if (r == -EACCES)
			denied = denied || access(path, F_OK) == 0;
		else if (r != -ENOENT && r != -ENOTDIR && r != -ESTALE && r != -ENODEV &&
			 r != -ETIMEDOUT)
			return r;
		dir += len;
		if (!*dir)
			return denied ? -EACCES : -ENOENT;
	}
}
