/* machine.c - see machine.h */
#include "machine.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/env.h"
#include "os/metadata.h"

static const char *machine_getenv(const char *name)
{
	return env_get(name);
}

static bool machine_is_program(const char *path)
{
	struct metadata m;

	return env_is_program(path) && metadata_of(path, &m) == 0 && m.file;
}

const struct machine machine_here = {
	.system = PATH_NATIVE == PATH_WINDOWS ? MACHINE_WINDOWS : MACHINE_LINUX,
	.variable = machine_getenv,
	.has_program = machine_is_program,
};

enum path_kind machine_paths(const struct machine *m)
{
	return m->system == MACHINE_WINDOWS ? PATH_WINDOWS : PATH_POSIX;
}

const char *machine_directory(const struct machine *m, const char *name)
{
	const char *value = name ? m->variable(name) : NULL;

	return value && path_kind(value) == machine_paths(m) ? value : NULL;
}

const char *machine_home(const struct machine *m)
{
	return machine_directory(m, m->system == MACHINE_WINDOWS ? "USERPROFILE" : "HOME");
}

/* Does the text have these names one after the other, with any separators? `at_end`: as its end. */
static bool machine_has_names(const char *text, size_t len, const char *names, bool at_end)
{
	size_t n = strlen(names);

	for (size_t at = at_end && len > n ? len - n : 0; at + n <= len; at++) {
		size_t i = 0;

		while (i < n && (text[at + i] == '\\' ? '/' : text[at + i]) == names[i])
			i++;
		if (i == n)
			return true;
	}
	return false;
}

bool machine_is_npx_cache(const char *path, size_t len)
{
	return machine_has_names(path, len, "/_npx/", false);
}

bool machine_has_program(const struct machine *m, const char *text, size_t len)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%.*s", (int)len, text) < (int)sizeof(path) &&
	       m->has_program(path);
}

bool machine_find_killick(const struct machine *m, char *out, size_t size)
{
	bool windows = m->system == MACHINE_WINDOWS;
	const char *path = m->variable("PATH");

	while (path && *path) {
		size_t n = strcspn(path, windows ? ";" : ":");

		if (!machine_is_npx_cache(path, n) &&
		    !machine_has_names(path, n, "/node_modules/.bin", true) &&
		    snprintf(out, size, "%.*s%s", (int)n, path,
			     windows ? "\\killick.exe" : "/killick") < (int)size &&
		    path_kind(out) == machine_paths(m) && m->has_program(out))
			return true;
		path += n + (path[n] != '\0');
	}
	return false;
}
