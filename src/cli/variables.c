/* variables.c - see variables.h */
#include "variables.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "os/env.h"

/* Names, and ends of names, of variables that servers often need. */
static const char *const missed[] = {
	"KUBECONFIG",  "DOCKER_HOST",     "NPM_CONFIG_REGISTRY",
	"AWS_PROFILE", "SSH_AUTH_SOCK",   "GOOGLE_APPLICATION_CREDENTIALS",
	"VIRTUAL_ENV", "XDG_RUNTIME_DIR", NULL,
};
static const char *const missed_ends[] = { "_API_KEY", "_TOKEN", "_SECRET", NULL };

static bool variables_is(const char *entry, size_t len, const char *name)
{
	return strlen(name) == len && strncasecmp(entry, name, len) == 0;
}

bool variables_is_passed(const char *entry)
{
	size_t len = strcspn(entry, "=");

	for (const char *const *name = env_passed; *name; name++)
		if (strlen(*name) == len && env_is_named(entry, *name, len))
			return true;
	return false;
}

bool variables_is_missed(const char *entry)
{
	size_t len = strcspn(entry, "=");

	for (const char *const *name = missed; *name; name++)
		if (variables_is(entry, len, *name))
			return true;
	for (const char *const *end = missed_ends; *end; end++)
		if (len > strlen(*end) &&
		    variables_is(entry + len - strlen(*end), strlen(*end), *end))
			return true;
	return false;
}

bool variables_has_password(const char *entry, char *out, size_t size)
{
	size_t name = strcspn(entry, "=");
	const char *value = entry + name, *scheme = strstr(value, "://");
	const char *user = scheme ? scheme + 3 : value + (*value == '=');
	const char *host = strrchr(user, '@'), *colon;

	if (name < 6 || strncasecmp(value - 6, "_proxy", 6) != 0 || !variables_is_passed(entry) ||
	    !host)
		return false;
	colon = memchr(user, ':', (size_t)(host - user));
	if (colon)
		snprintf(out, size, "%.*s***%s", (int)(colon + 1 - entry), entry, host);
	return colon != NULL;
}

size_t variables_names(bool (*is)(const char *entry), char *out, size_t size)
{
	AUTO(env_done) struct env env = env_read();
	size_t count = 0, len = 0;

	out[0] = '\0';
	for (char **e = env.list; *e; e++) {
		if (!is(*e))
			continue;
		if (len < size)
			len += (size_t)snprintf(out + len, size - len, "%s%.*s", count ? ", " : "",
						(int)strcspn(*e, "="), *e);
		count++;
	}
	return count;
}
