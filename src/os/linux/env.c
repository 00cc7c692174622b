/* env.c - see env.h: the environment is UTF-8 already. */
#include "os/env.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* TypeScript and Python SDKs: HOME LOGNAME PATH SHELL TERM USER; codex has those of the first line
 * as well. The others say how this network is reached: without them, servers and npx fail behind
 * the proxy of a company. */
const char *const env_passed[] = { "HOME",       "LANG",     "LC_ALL",         "LOGNAME",
				   "PATH",       "SHELL",    "TERM",           "TMPDIR",
				   "TZ",         "USER",     "ALL_PROXY",      "HTTPS_PROXY",
				   "HTTP_PROXY", "NO_PROXY", "all_proxy",      "https_proxy",
				   "http_proxy", "no_proxy", ENV_CERTIFICATES, NULL };
const char *const env_needed[] = { NULL };

struct env env_read(void)
{
	return (struct env){ environ };
}

void env_done(struct env *e)
{
	e->list = NULL;
}

const char *env_get(const char *name)
{
	return getenv(name);
}

const char *env_get_secure(const char *name)
{
	return secure_getenv(name);
}

int env_set(const char *name, const char *value)
{
	int r = value ? setenv(name, value, 1) : unsetenv(name);

	return r < 0 ? -errno : 0;
}

int env_compare_names(const char *a, const char *b, size_t len)
{
	return memcmp(a, b, len);
}

bool env_is_named(const char *entry, const char *name, size_t len)
{
	return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

void env_host_name(char *out, size_t size)
{
	if (gethostname(out, size) < 0)
		out[0] = '\0';
	out[size - 1] = '\0';
}

bool env_is_program(const char *file)
{
	return strchr(file, '/') && access(file, X_OK) == 0;
}

bool env_find_program(const char *path, const char *name, char *out, size_t size)
{
	while (path && *path) {
		size_t len = strcspn(path, ":");
		int n = snprintf(out, size, "%.*s/%s", (int)len, path, name);

		if (len && n < (int)size && env_is_program(out))
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

bool env_find_beside(const char *name, char *out, size_t size)
{
	(void)name;
	(void)out;
	(void)size;
	return false;
}
