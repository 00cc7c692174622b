/* variables.c - see variables.h */
#include "variables.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "os/env.h"

/* Names, and ends of names, of variables that servers often need. */
static const char *const missed[] = {
	"HTTP_PROXY",      "HTTPS_PROXY",
	"ALL_PROXY",       "NO_PROXY",
	"SSL_CERT_FILE",   "SSL_CERT_DIR",
	"CURL_CA_BUNDLE",  "NODE_EXTRA_CA_CERTS",
	"KUBECONFIG",      "REQUESTS_CA_BUNDLE",
	"DOCKER_HOST",     "NPM_CONFIG_REGISTRY",
	"SSH_AUTH_SOCK",   "AWS_PROFILE",
	"VIRTUAL_ENV",     "GOOGLE_APPLICATION_CREDENTIALS",
	"XDG_RUNTIME_DIR", NULL,
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
