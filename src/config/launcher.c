/* launcher.c - see launcher.h */
#include "config/launcher.h"

#include <string.h>

#include "config/expand.h"
#include "os/env.h"

/* The words that the command of a launcher begins with. A program alone is a launcher with all
 * arguments. */
static const char *const launchers[][3] = {
	{ "npx" },         { "bunx" },        { "uvx" },
	{ "pipx" },        { "docker" },      { "podman" },
	{ "nerdctl" },     { "npm", "exec" }, { "npm", "x" },
	{ "pnpm", "dlx" }, { "pnpx" },        { "yarn", "dlx" },
	{ "bun", "x" },    { "uv", "run" },   { "uv", "tool", "run" },
	{ "deno", "run" }, { "nix", "run" },
};

static const char *launcher_base(const char *program)
{
	const char *slash = strrchr(program, '/');

	return slash ? slash + 1 : program;
}

/* Returns the command behind `killick run [option]... --`; argv itself if this is another
 * command. */
static char *const *launcher_unwrap(char *const *argv)
{
	char *const *p = argv;

	if (strcmp(launcher_base(argv[0]), "killick") != 0 || !argv[1] ||
	    strcmp(argv[1], "run") != 0)
		return argv;
	while (*p && strcmp(*p, "--") != 0)
		p++;
	return *p ? p + 1 : argv;
}

static bool launcher_begins(char *const *argv, const char *const words[3])
{
	if (strcmp(launcher_base(argv[0]), words[0]) != 0)
		return false;
	for (int i = 1; i < 3 && words[i]; i++)
		if (!argv[i] || strcmp(argv[i], words[i]) != 0)
			return false;
	return true;
}

bool launcher_is(char *const *argv)
{
	if (!argv[0])
		return false;
	argv = launcher_unwrap(argv);
	for (size_t i = 0; argv[0] && i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (launcher_begins(argv, launchers[i]))
			return true;
	return false;
}

bool launcher_is_found(const char *program, const struct recipe *r)
{
	const char *path = expand_lookup(r->envp, "PATH", 4);
	char file[4096];

	if (strchr(program, '/'))
		return env_is_program(program) || (program[0] != '/' && r->cwd);
	return env_find_program(path, program, file, sizeof(file));
}
