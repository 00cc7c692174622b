#include "peer.h"

#include <stdio.h>
#include <string.h>

#include "server.h"

void peer_argv(const struct peer *p, const char *const *args, const char **out)
{
	size_t n = 0;

	for (size_t i = 0; p->prefix[i]; i++)
		out[n++] = p->prefix[i];
	for (size_t i = 0; args[i] && n < 2 * PEER_ARGS - 1; i++)
		out[n++] = args[i];
	out[n] = NULL;
}

int peer_named(const struct peers *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (!strcmp(p->at[i].name, name))
			return (int)i;
	return -1;
}

static bool try(const struct peer *p, const char *echo)
{
	const char *args[] = { echo, NULL }, *argv[2 * PEER_ARGS];
	struct server s;
	bool ok;

	peer_argv(p, args, argv);
	if (server_start(&s, argv, NULL) < 0)
		return false;
	ok = server_call(&s, "{}\n", 3) == 0;
	return server_finish(&s) == 0 && ok;
}

/* Whether it is one of the comma-separated list `only`, or needed in any case. */
static bool is_wanted(const struct peer *p, const char *only)
{
	size_t len = strlen(p->name);

	if (!only || p->kind == PEER_BARE || p->kind == PEER_KILLICK)
		return true;
	for (const char *at = only; (at = strstr(at, p->name)); at++)
		if ((at == only || at[-1] == ',') && (at[len] == 0 || at[len] == ','))
			return true;
	return false;
}

void peer_find(struct peers *out, const char *killick, const char *echo, const char *only)
{
	const struct peer all[] = {
		{ "bare", PEER_BARE, { NULL } },
		{ "bare again", PEER_CONTROL, { NULL } }, /* its ratio is the noise */
		{ "bare, own session", PEER_CONTROL, { "setsid" } },
		{ "killick", PEER_KILLICK, { killick, "run", "--" } },
		{ "killick cgroup", PEER_LEVEL, { killick, "run", "--contain=cgroup", "--" } },
		{ "killick keeper", PEER_LEVEL, { killick, "run", "--contain=keeper", "--" } },
		{ "killick namespace",
		  PEER_LEVEL,
		  { killick, "run", "--contain=namespace", "--" } },
		{ "tini", PEER_RIVAL, { "tini", "-s", "--" } },
		{ "dumb-init", PEER_RIVAL, { "dumb-init", "--" } },
		{ "bwrap",
		  PEER_RIVAL,
		  { "bwrap", "--die-with-parent", "--unshare-pid", "--dev-bind", "/", "/", "--" } },
	};

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		size_t len = strlen(out->missing);

		if (!is_wanted(&all[i], only))
			continue;
		if (try(&all[i], echo)) {
			out->at[out->count++] = all[i];
			continue;
		}
		snprintf(out->missing + len, sizeof(out->missing) - len, "%s%s", len ? ", " : "",
			 all[i].name);
	}
}
