/* envpolicy.c - see envpolicy.h */
#include "executor/envpolicy.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"
#include "executor/params.h"
#include "rpc/message.h"

#define VARIABLES_MAX 4096
#define PATTERNS_MAX  4096
#define STEPS_MAX     (8u << 20) /* of all comparisons together: some milliseconds */

struct list {
	char **all; /* NAME=VALUE */
	size_t count, room;
	size_t steps;
};

static void list_drop(struct list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->all[i]);
	free(l->all);
	*l = (struct list){ .all = NULL };
}

static size_t name_length(const char *variable)
{
	return strcspn(variable, "=");
}

static bool has_name(struct list *l, const char *variable, const char *name, size_t len)
{
	size_t same = 0;

	while (same < len && variable[same] == name[same])
		same++;
	l->steps += 1 + same / 16;
	return same == len && variable[len] == '=';
}

static int too_large(struct err *e)
{
	return err_set(e, RPC_BAD_PARAMS, "the environment is too large");
}

/* Variables that are never passed on. */
static bool is_forbidden(const char *name, size_t len)
{
	static const char *const names[] = {
		"CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN",
		"NODE_REPL_AUTH_TOKEN",
		"OPENAI_FEDERATION_RULE_ID",
		"OPENAI_IDENTITY_TOKEN_FILE",
		"OPENAI_WORKLOAD_IDENTITY_CONTEXT",
		"CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE",
		/* these would change how our own keeper works */
		"KILLICK_TREE",
		"KILLICK_RUNTIME_DIR",
		"KILLICK_KEEPER",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (len == strlen(names[i]) && strncasecmp(name, names[i], len) == 0)
			return true;
	return false;
}

/* Add the variable and take ownership of it. A variable of the same name is replaced. */
static int list_put(struct list *l, char *variable, struct err *e)
{
	size_t len = name_length(variable);

	for (size_t i = 0; i < l->count; i++) {
		if (has_name(l, l->all[i], variable, len)) {
			free(l->all[i]);
			l->all[i] = variable;
			return 0;
		}
	}
	if (l->count == VARIABLES_MAX || l->steps > STEPS_MAX) {
		free(variable);
		return l->count == VARIABLES_MAX
			       ? err_set(e, RPC_BAD_PARAMS, "more than %d variables", VARIABLES_MAX)
			       : too_large(e);
	}
	if (l->count == l->room) {
		l->room = l->room ? 2 * l->room : 32;
		l->all = mem_grow(l->all, l->room, sizeof(*l->all));
	}
	l->all[l->count++] = variable;
	return 0;
}

/* Add the members of an object of strings. */
static int put_object(struct list *l, struct json object, const char *where, struct err *e)
{
	struct json_iter it = json_iter(object);
	int r = 0;

	if (json_count(object) > VARIABLES_MAX)
		return err_set(e, RPC_BAD_PARAMS, "%s: more than %d variables", where,
			       VARIABLES_MAX);
	while (r == 0 && json_each(&it)) {
		AUTO(mem_drop) char *name = NULL;
		AUTO(mem_drop) char *value = NULL;
		size_t name_len, value_len;
		char *variable;

		if (!json_string(it.key, &name))
			return params_no_memory(where, e);
		if (!*name || strchr(name, '=') || param_has_nul(it.key))
			return err_set(e, RPC_BAD_PARAMS,
				       "%s: '%.100s' is not a valid name of a variable", where,
				       name);
		if (json_type(it.value) != JSON_STRING || param_has_nul(it.value))
			return err_set(e, RPC_BAD_PARAMS,
				       "%s: %.100s must be a string, without NUL", where, name);
		if (!json_string(it.value, &value))
			return params_no_memory(name, e);
		name_len = strlen(name);
		if (is_forbidden(name, name_len))
			continue;
		value_len = strlen(value);
		variable = mem_try(name_len + value_len + 2);
		if (!variable)
			return params_no_memory(name, e);
		memcpy(variable, name, name_len);
		variable[name_len] = '=';
		memcpy(variable + name_len + 1, value, value_len + 1);
		r = list_put(l, variable, e);
	}
	return r;
}

/* --- patterns --- */

static char envpolicy_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* '*' matches any text, '?' one character; case is ignored. */
static bool matches(struct list *l, const char *pattern, const char *text, size_t len)
{
	const char *end = text + len, *star = NULL, *resume = text;

	while (text < end) {
		l->steps++;
		if (*pattern == '*') {
			star = pattern++;
			resume = text;
		} else if (*pattern && (*pattern == '?' ||
					envpolicy_lower(*pattern) == envpolicy_lower(*text))) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++resume;
		} else {
			return false;
		}
		if (l->steps > STEPS_MAX)
			return false; /* all later comparisons fail at once, too */
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool matches_any(struct list *l, char *const *patterns, const char *variable)
{
	for (; *patterns; patterns++)
		if (matches(l, *patterns, variable, name_length(variable)))
			return true;
	return false;
}

/* Keep only the variables that match, or, without `keep`, those that do not. */
static void filter(struct list *l, char *const *patterns, bool keep)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++) {
		if (matches_any(l, patterns, l->all[i]) == keep)
			l->all[kept++] = l->all[i];
		else
			free(l->all[i]);
	}
	l->count = kept;
}

static int filter_list(struct list *l, const struct param *p, bool keep, struct err *e)
{
	struct json_iter it = json_iter(p->value);
	size_t count = json_count(p->value), n = 0;
	char **patterns;
	int r = 0;

	if (count == 0)
		return 0;
	if (count > PATTERNS_MAX)
		return err_set(e, RPC_BAD_PARAMS, "%s: more than %d patterns", p->name,
			       PATTERNS_MAX);
	patterns = mem_grow(NULL, count + 1, sizeof(*patterns));
	while (json_each(&it) && r == 0) {
		if (json_type(it.value) != JSON_STRING)
			r = err_set(e, RPC_BAD_PARAMS, "%s: every pattern must be a string",
				    p->name);
		else if (!json_string(it.value, &patterns[n]))
			r = params_no_memory(p->name, e);
		else
			n++;
	}
	patterns[n] = NULL;
	if (r == 0)
		filter(l, patterns, keep);
	strings_free(patterns);
	return r;
}

/* --- the policy --- */

static int inherit(struct list *l, char *const *from, struct json how, struct err *e)
{
	static char *const core[] = { "PATH", "SHELL",  "TMPDIR",   "TEMP",    "TMP",  "HOME",
				      "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "USER", NULL };
	int r = 0;

	if (json_is(how, "none"))
		return 0;
	if (!json_is(how, "all") && !json_is(how, "core"))
		return err_set(e, RPC_BAD_PARAMS,
			       "envPolicy.inherit: expected `core`, `all` or `none`");
	for (; *from && r == 0; from++) {
		size_t len = name_length(*from);

		if (len && (*from)[len] == '=' && !is_forbidden(*from, len))
			r = list_put(l, mem_dup(*from), e);
	}
	if (json_is(how, "core"))
		filter(l, core, true);
	return r;
}

enum { INHERIT, IGNORE_DEFAULTS, EXCLUDE, SET, INCLUDE_ONLY, MEMBERS };

static int apply(struct list *l, struct json policy, char *const *inherited, struct err *e)
{
	static char *const secrets[] = { "*KEY*", "*SECRET*", "*TOKEN*", NULL };
	struct param p[MEMBERS] = { [INHERIT] = { .name = "inherit" },
				    [IGNORE_DEFAULTS] = { .name = "ignoreDefaultExcludes" },
				    [EXCLUDE] = { .name = "exclude" },
				    [SET] = { .name = "set" },
				    [INCLUDE_ONLY] = { .name = "includeOnly" } };
	bool ignore_defaults = false;
	int r = params_read(policy, p, MEMBERS, e);

	if (r == 0)
		r = param_is(&p[INHERIT], JSON_STRING, e);
	if (r == 0)
		r = param_bool(&p[IGNORE_DEFAULTS], &ignore_defaults, e);
	if (r == 0)
		r = param_is(&p[EXCLUDE], JSON_ARRAY, e);
	if (r == 0)
		r = param_is(&p[SET], JSON_OBJECT, e);
	if (r == 0)
		r = param_is(&p[INCLUDE_ONLY], JSON_ARRAY, e);
	if (r == 0)
		r = inherit(l, inherited, p[INHERIT].value, e);
	if (r == 0 && !ignore_defaults)
		filter(l, secrets, false);
	if (r == 0)
		r = filter_list(l, &p[EXCLUDE], false, e);
	if (r == 0)
		r = put_object(l, p[SET].value, "envPolicy.set", e);
	if (r == 0)
		r = filter_list(l, &p[INCLUDE_ONLY], true, e);
	return r;
}

int envpolicy_apply(struct json policy, struct json env, char *const *inherited, char ***out,
		    struct err *e)
{
	AUTO(list_drop) struct list l = { .all = NULL };
	int r = 0;

	if (policy.at)
		r = apply(&l, policy, inherited, e);
	if (r == 0)
		r = put_object(&l, env, "env", e);
	if (r == 0 && l.steps > STEPS_MAX)
		r = too_large(e);
	if (r < 0)
		return r;
	l.all = mem_grow(l.all, l.count + 1, sizeof(*l.all));
	l.all[l.count] = NULL;
	*out = l.all;
	l.all = NULL;
	l.count = 0;
	return 0;
}
