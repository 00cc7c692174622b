/* hub_source.c - where the servers of a session come from: see hub_internal.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/strings.h"
#include "hub/hub_internal.h"

#define HUB_IDLE_MAX_MS (365LL * 24 * 3600 * 1000) /* as "idle" in a config: a year */

enum {
	SOURCE_CONFIG,
	SOURCE_DIGEST,
	SOURCE_SERVERS,
	SOURCE_ENVIRONMENTS,
	SOURCE_COMMAND,
	SOURCE_NAME,
	SOURCE_SHARE,
	SOURCE_IDLE,
	SOURCE_ONLY,
	SOURCE_ENVIRON,
	SOURCE_CWD,
	SOURCE_MEMBERS
};

void hub_source_done(struct hub_source *s)
{
	free(s->file);
	free(s->digest);
	free(s->text);
	strings_free(s->command);
	free(s->name);
	strings_free(s->environ_);
	free(s->cwd);
	strings_free(s->only);
	*s = (struct hub_source){ .file = NULL };
}

/* The text of a config that has these two members of the request, as they were written. */
static char *hub_source_text(struct json servers, struct json environments)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&b);

	emit_open(&j, NULL, '{');
	emit_raw(&j, "mcpServers", servers.at, servers.len);
	if (environments.at)
		emit_raw(&j, "environments", environments.at, environments.len);
	emit_close(&j);
	emit_end(&j);
	return buf_take(&b);
}

/* A path of the caller, relative to the caller's directory and not to that of the hub. */
static char *hub_source_path(const char *path, const char *cwd)
{
	struct buf whole = BUF_INIT(BUF_ANY_SIZE);

	if (cwd && path_kind(path) == PATH_RELATIVE)
		buf_addf(&whole, "%s%c", cwd, PATH_SEPARATOR);
	buf_adds(&whole, path);
	return buf_take(&whole);
}

static int hub_source_share(struct json v, unsigned *out, struct err *e)
{
	static const char *const words[] = { [CONFIG_SHARE_NEVER] = "never",
					     [CONFIG_SHARE_IDENTICAL] = "identical",
					     [CONFIG_SHARE_AUTO] = "auto" };

	for (unsigned i = CONFIG_SHARE_NEVER; v.at && i <= CONFIG_SHARE_AUTO; i++) {
		if (!json_is(v, words[i]))
			continue;
		*out = i;
		return 0;
	}
	return v.at ? err_set(e, RPC_BAD_PARAMS, "'share' must be never, identical or auto") : 0;
}

/* Read `command`, `name`, `share` and `idleMs`. */
static int hub_source_command(const struct caller_param *p, struct hub_source *s, struct err *e)
{
	int r = caller_strings(&p[SOURCE_COMMAND], &s->command, e);

	if (r == 0 && (!s->command[0] || !*s->command[0]))
		r = err_set(e, RPC_BAD_PARAMS, "'command' must have the name of a program");
	if (r == 0 &&
	    (p[SOURCE_CONFIG].value.at || p[SOURCE_SERVERS].value.at || p[SOURCE_ONLY].value.at))
		r = err_set(e, RPC_BAD_PARAMS,
			    "'command' cannot be combined with 'config', 'mcpServers' or "
			    "'only'");
	if (r == 0)
		r = hub_source_share(p[SOURCE_SHARE].value, &s->share, e);
	if (r == 0)
		r = caller_number(&p[SOURCE_IDLE], 0, HUB_IDLE_MAX_MS, &s->rest_ms, e);
	if (r == 0)
		json_string(p[SOURCE_NAME].value, &s->name);
	return r;
}

static int hub_source_file(struct hub *h, const struct caller_param *p, struct hub_source *s,
			   struct err *e)
{
	char *path = NULL;

	if (!p[SOURCE_CONFIG].value.at && !p[SOURCE_SERVERS].value.at && !h->o.config)
		return err_set(e, RPC_BAD_PARAMS,
			       "'mcpServers' or 'config' is missing: the session has no servers");
	if (p[SOURCE_CONFIG].value.at && p[SOURCE_SERVERS].value.at)
		return err_set(e, RPC_BAD_PARAMS, "give 'mcpServers' or 'config', not both");
	if (p[SOURCE_SERVERS].value.at) {
		s->text = hub_source_text(p[SOURCE_SERVERS].value, p[SOURCE_ENVIRONMENTS].value);
		return 0;
	}
	if (!p[SOURCE_CONFIG].value.at) {
		s->file = mem_dup(h->o.config);
		return 0;
	}
	if (!json_string(p[SOURCE_CONFIG].value, &path) || !*path) {
		free(path);
		return err_set(e, RPC_BAD_PARAMS, "'config' must be a path");
	}
	s->file = hub_source_path(path, s->cwd);
	json_string(p[SOURCE_DIGEST].value, &s->digest);
	free(path);
	return 0;
}

int hub_source_read(struct hub *h, struct json params, struct hub_source *out, struct err *e)
{
	struct caller_param p[SOURCE_MEMBERS] = {
		[SOURCE_CONFIG] = { .name = "config", .type = JSON_STRING },
		[SOURCE_DIGEST] = { .name = "configDigest", .type = JSON_STRING },
		[SOURCE_SERVERS] = { .name = "mcpServers", .type = JSON_OBJECT },
		[SOURCE_ENVIRONMENTS] = { .name = "environments", .type = JSON_OBJECT },
		[SOURCE_COMMAND] = { .name = "command", .type = JSON_ARRAY },
		[SOURCE_NAME] = { .name = "name", .type = JSON_STRING },
		[SOURCE_SHARE] = { .name = "share", .type = JSON_STRING },
		[SOURCE_IDLE] = { .name = "idleMs", .type = JSON_NUMBER },
		[SOURCE_ONLY] = { .name = "only", .type = JSON_ARRAY },
		[SOURCE_ENVIRON] = { .name = "environ", .type = JSON_OBJECT },
		[SOURCE_CWD] = { .name = "cwd", .type = JSON_STRING },
	};
	struct hub_source s = { .file = NULL };
	int r = caller_params(params, p, SOURCE_MEMBERS, e);

	if (r == 0 && p[SOURCE_CWD].value.at) {
		json_string(p[SOURCE_CWD].value, &s.cwd);
		if (!s.cwd || path_kind(s.cwd) != PATH_NATIVE)
			r = err_set(e, RPC_BAD_PARAMS, "'cwd' must be an absolute path");
	}
	if (r == 0)
		r = caller_strings(&p[SOURCE_ONLY], &s.only, e);
	if (r == 0)
		r = caller_variables(&p[SOURCE_ENVIRON], &s.environ_, e);
	if (r == 0)
		r = p[SOURCE_COMMAND].value.at ? hub_source_command(p, &s, e)
					       : hub_source_file(h, p, &s, e);
	if (r == 0)
		*out = s;
	else
		hub_source_done(&s);
	return r;
}

/* Variables that a shell and killick set for each program. The server does not need them, and with
 * them the environments of two sessions would often differ, so that no server would be shared. */
static bool hub_source_is_noise(const char *variable)
{
	static const char *const names[] = { "_=", "SHLVL=", "OLDPWD=", "KILLICK_TREE=" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* One server, as `killick run` would start it: all variables, no expansion. */
static int hub_source_load_command(const struct hub_source *s, char *const *variables,
				   struct config *out, struct err *e)
{
	const char *name = s->name && *s->name ? s->name : path_name(s->command[0], PATH_NATIVE);
	char **env = mem_grow(NULL, strings_count(variables) + 1, sizeof(*env));
	struct config_more more = { .env = env, .cwd = s->cwd };
	char cut[CONFIG_NAME_MAX + 1];
	size_t n = 0;
	int r;

	for (char *const *v = variables; *v; v++)
		if (!hub_source_is_noise(*v))
			env[n++] = *v;
	env[n] = NULL;
	snprintf(cut, sizeof(cut), "%s", name);
	r = config_command(cut, s->command, variables, out, e);
	if (r == 0) {
		out->servers[0].era = CONFIG_AUTO; /* a command has no key "era" */
		out->servers[0].share = (enum config_share)s->share;
		out->servers[0].rest_ms = s->rest_ms;
		r = config_command_more(out, &more, e);
		if (r < 0)
			config_done(out);
	}
	free(env);
	return r;
}

/* --- servers that are killick itself --- */

static bool hub_source_is_word(const char *word, const char *text)
{
	return word && strcmp(word, text) == 0;
}

/* The number of words that `killick wrap` has put in front of a command: `killick run --`, or
 * `killick connect`, its options and `--`. 0: none. *out_self: it is `killick connect` without a
 * command. */
static size_t hub_source_wrapping(char *const *argv, bool *out_self)
{
	size_t i = 2;

	*out_self = false;
	if (!argv[0] || strcmp(path_name(argv[0], PATH_NATIVE), "killick") != 0)
		return 0;
	if (hub_source_is_word(argv[1], "connect")) {
		while (argv[i] && argv[i + 1] &&
		       (strcmp(argv[i], "--server") == 0 || strcmp(argv[i], "--share") == 0 ||
			strcmp(argv[i], "--idle") == 0 || strcmp(argv[i], "--session") == 0))
			i += 2;
		*out_self = !hub_source_is_word(argv[i], "--");
	} else if (!hub_source_is_word(argv[1], "run")) {
		return 0;
	}
	return hub_source_is_word(argv[i], "--") && argv[i + 1] ? i + 1 : 0;
}

/* The config of a client may have entries that `killick wrap` has changed. The hub holds their
 * commands itself; `killick connect` in a config would ask the hub for the servers of the same
 * config, again and again. */
static void hub_source_unwrap(struct config *c)
{
	for (size_t i = 0; i < c->count; i++) {
		struct config_server *s = &c->servers[i];
		bool self;
		size_t words;

		if (s->problem || !s->recipe.argv)
			continue;
		words = hub_source_wrapping(s->recipe.argv, &self);
		if (words)
			config_drop_words(s, words);
		if (self) {
			struct buf text = BUF_INIT(BUF_ANY_SIZE);

			buf_addf(&text, "server '%s' ", s->name);
			s->reason_at = text.len;
			buf_adds(&text, "is killick connect itself and would start itself again; "
					"remove it from the config of the hub");
			s->problem = buf_take(&text);
		}
	}
}

int hub_source_parse(const struct hub_source *s, char *const *variables, struct config *out,
		     struct err *e)
{
	const struct config_source from = {
		.file = s->file, .digest = s->digest, .environ_ = variables, .cwd = s->cwd
	};
	int r;

	if (s->command)
		r = hub_source_load_command(s, variables, out, e);
	else
		r = s->file ? config_load(&from, out, e)
			    : config_parse(s->text, strlen(s->text), &from, out, e);
	if (r < 0)
		e->code = HUB_SOURCE_CONFIG;
	return r;
}

int hub_source_narrow(const struct hub_source *s, struct config *c, struct err *e)
{
	int r;

	hub_source_unwrap(c);
	for (size_t i = 0; i < c->count && s->alone; i++)
		c->servers[i].share = CONFIG_SHARE_NEVER;
	r = s->only ? config_select(c, s->only, e) : 0;
	if (r < 0)
		e->code = HUB_SOURCE_SERVER;
	return r;
}
