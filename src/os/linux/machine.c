/* machine.c - see machine.h */
#include "os/machine.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *machine_variable(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=' && (*envp)[len + 1])
			return *envp + len + 1;
	return NULL;
}

/* A relative or too long path becomes "". */
static void machine_set_path(char out[MACHINE_PATH], const char *path)
{
	bool good = path && *path == '/' && strlen(path) < MACHINE_PATH;

	snprintf(out, MACHINE_PATH, "%s", good ? path : "");
}

static bool machine_is_shell(const char *path)
{
	return access(path, X_OK) == 0 && !strstr(path, "nologin") &&
	       strcmp(path, "/bin/false") != 0 && strcmp(path, "/usr/bin/false") != 0;
}

void machine_look(char *const *envp, struct machine *out)
{
	const char *shell = machine_variable(envp, "SHELL"), *home = machine_variable(envp, "HOME");
	const char *temp = machine_variable(envp, "TMPDIR");
	struct passwd room, *user = NULL;
	char texts[4096];

	if (getpwuid_r(getuid(), &room, texts, sizeof(texts), &user) != 0)
		user = NULL;
	if (!shell || *shell != '/')
		shell = user && user->pw_shell[0] == '/' ? user->pw_shell : NULL;
	if (!shell || !machine_is_shell(shell))
		shell = "/bin/sh";
	if (!home)
		home = user ? user->pw_dir : NULL;
	*out = (struct machine){ .os = "linux" };
	machine_set_path(out->shell, shell);
	snprintf(out->shell_name, sizeof(out->shell_name), "%s", strrchr(shell, '/') + 1);
	machine_set_path(out->home, home);
	machine_set_path(out->temp, temp && *temp == '/' ? temp : "/tmp");
	if (!getcwd(out->cwd, sizeof(out->cwd)) || out->cwd[0] != '/')
		out->cwd[0] = '\0';
}
