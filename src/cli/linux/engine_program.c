/* engine_program.c - see engine_program.h */
#include "engine_program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define SYSTEM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static char *program_resolve(const char *path)
{
	char file[PATH_MAX];
	struct stat st;

	if (!realpath(path, file) || stat(file, &st) < 0 || !S_ISREG(st.st_mode) ||
	    access(file, X_OK) < 0)
		return NULL;
	return mem_dup(file);
}

static char *program_search(const char *dirs, const char *name, bool absolute)
{
	char path[PATH_MAX], *file = NULL;

	for (; dirs && *dirs && !file; dirs += *dirs == ':') {
		size_t len = strcspn(dirs, ":");

		if ((*dirs == '/' || !absolute) &&
		    snprintf(path, sizeof(path), "%.*s%s%s", (int)len, dirs, len ? "/" : "", name) <
			    (int)sizeof(path))
			file = program_resolve(path);
		dirs += len;
	}
	return file;
}

char *engine_program_find(const char *command)
{
	return strchr(command, '/') ? program_resolve(command)
				    : program_search(getenv("PATH"), command, false);
}

char *engine_program_find_trusted(const char *name)
{
	char *file = program_search(getenv("PATH"), name, true);

	if (!file)
		file = program_search(SYSTEM_PATH, name, true);
	if (file && engine_program_is_trusted(file))
		return file;
	free(file);
	return NULL;
}

bool engine_program_is_trusted(const char *file)
{
	struct stat st;
	mode_t others;

	if (stat(file, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	/* many systems have umask 002: the user's own group may then write the user's files */
	others = st.st_uid == geteuid() && st.st_gid == getegid() ? S_IWOTH : S_IWGRP | S_IWOTH;
	return !(st.st_mode & others) && (st.st_uid == 0 || st.st_uid == geteuid());
}
