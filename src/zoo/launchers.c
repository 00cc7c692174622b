/* launchers.c - modes in which the process the client started is not the server: npx, uvx, shell
 * scripts. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zoo/zoo.h"
#include "zoo/zoo_internal.h"

extern char **environ;

static const char *inner(int argc, char **argv, const char *otherwise)
{
	return argc > 0 && strcmp(argv[0], "+") ? argv[0] : otherwise;
}

int zoo_sh(int argc, char **argv)
{
	char *const *self = zoo_again_argv("killick-zoo", inner(argc, argv, "plain"));
	char *args[16] = { (char *)"sh", (char *)"-c", (char *)"\"$@\"; true", (char *)"sh" };
	static char exe[4096];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int n = 4;

	if (len <= 0)
		return 1;
	args[n++] = exe;
	for (int i = 1; self[i]; i++)
		args[n++] = self[i];
	execv("/bin/sh", args);
	perror("killick-zoo: /bin/sh");
	return 1;
}

/* Fork the server, wait for it, leave with its status: what npx and uvx do. */
static int launch(const char *mode)
{
	int status = 0;
	pid_t pid = zoo_fork();

	if (pid == 0) {
		zoo_default(SIGTERM);
		zoo_again(NULL, "killick-zoo", mode, environ);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int zoo_npx(int argc, char **argv)
{
	return launch(inner(argc, argv, "bg"));
}

int zoo_npxterm(int argc, char **argv)
{
	zoo_ignore(SIGTERM);
	return launch(inner(argc, argv, "ignore"));
}
