/* config_env.c - the variables of a server: a short default list, and the variables of the config.
 *
 * Servers are programs of other people and variables contain secrets, so a server gets only the
 * variables that are named: by the list that the MCP SDKs and codex use, by `envVars`, or by `env`.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "config/config_internal.h"
#include "config/expand.h"
#include "os/env.h"

/* Further variables that ssh and similar programs need: for the agent, for Kerberos tickets, and
 * for sockets of the user. */
static const char *const for_ssh[] = { "KRB5CCNAME", "SSH_AGENT_PID", "SSH_AUTH_SOCK",
				       "XDG_RUNTIME_DIR" };
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

enum rank { BY_DEFAULT, BY_NAME, BY_VALUE }; /* of one name, the highest rank is used */

struct entry {
	char *text; /* NAME=value */
	size_t name_len;
	enum rank rank;
	const char *at; /* position in the config; NULL: not from the config */
};
struct entries {
	struct entry *list;
	size_t count;
	enum config_env_kind kind;
	char **there; /* names whose values the executor reads; NULL at the end */
	size_t there_count;
};

static void entries_done(struct entries *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->list[i].text);
	free(s->list);
}

static int entries_add(struct config_job *j, struct entries *s, struct entry as, const char *name,
		       const char *value)
{
	size_t len = strlen(value);
	int r = config_charge(j, as.at, len);

	assert(name);
	if (r < 0)
		return r;
	as.name_len = strlen(name);
	as.text = mem_grow(NULL, as.name_len + len + 2, 1);
	memcpy(as.text, name, as.name_len);
	as.text[as.name_len] = '=';
	memcpy(as.text + as.name_len + 1, value, len + 1);
	s->list[s->count++] = as;
	return 0;
}

static int add_default(struct config_job *j, struct entries *s, const char *name)
{
	const char *value = expand_lookup(j->env, name, strlen(name));

	if (strcmp(name, "PATH") == 0 && (!value || !*value))
		value = ENV_DEFAULT_PATH;
	if (!value || strncmp(value, "()", 2) == 0) /* an exported function of a shell */
		return 0;
	return entries_add(j, s, (struct entry){ .rank = BY_DEFAULT }, name, value);
}

static size_t config_env_passed(void)
{
	size_t count = 0;

	while (env_passed[count])
		count++;
	return count;
}

static int add_defaults(struct config_job *j, struct entries *s)
{
	int r = 0;

	if (s->kind == CONFIG_ENV_PLACED)
		return 0;
	for (size_t i = 0; r == 0 && env_passed[i]; i++)
		r = add_default(j, s, env_passed[i]);
	for (size_t i = 0; r == 0 && s->kind == CONFIG_ENV_PROGRAM && i < COUNT(for_ssh); i++)
		r = add_default(j, s, for_ssh[i]);
	return r;
}

/* Read the name of a variable from v. */
static int config_env_read_name(struct config_job *j, const char *key, struct json v,
				char **out_name)
{
	char shown[CONFIG_SHOW_SIZE];
	AUTO(mem_drop) char *name = NULL;
	int r = config_string(j, key, v, CONFIG_PLAIN, &name);

	if (r < 0)
		return r;
	if (!*name || strchr(name, '='))
		return config_refuse(j, v.at, "'%s': '%s' cannot be the name of a variable", key,
				     config_show(v, shown));
	*out_name = name;
	name = NULL;
	return 0;
}

/* Add a variable whose value the executor reads. Executors accept patterns in place of names, so
 * the characters of patterns are refused: the config means one variable. */
static int add_there(struct config_job *j, const char *key, struct json which, char **name,
		     struct entries *s)
{
	char shown[CONFIG_SHOW_SIZE];

	if (s->kind != CONFIG_ENV_PLACED)
		return config_refuse(j, which.at,
				     "'%s': the source of '%s' is 'remote', but the server has no "
				     "'environment': it runs on this machine",
				     key, config_show(which, shown));
	if (strpbrk(*name, "*?[]{}\\"))
		return config_refuse(j, which.at, "'%s': '%s' cannot be the name of a variable",
				     key, config_show(which, shown));
	s->there = mem_grow(s->there, s->there_count + 2, sizeof(char *));
	s->there[s->there_count++] = *name;
	s->there[s->there_count] = NULL;
	*name = NULL;
	return 0;
}

static int add_from(struct config_job *j, const char *key, struct json which, struct json source,
		    struct entries *s)
{
	AUTO(mem_drop) char *name = NULL;
	const char *value;
	int r = config_env_read_name(j, key, which, &name);

	if (r < 0)
		return r;
	assert(name);
	if (json_is(source, "remote"))
		return add_there(j, key, which, &name, s);
	value = expand_lookup(j->env, name, strlen(name));
	if (!value)
		return 0;
	return entries_add(j, s, (struct entry){ .rank = BY_NAME, .at = which.at }, name, value);
}

/* One element of envVars: "NAME" or {"name": "NAME", "source": "local"}. */
static int add_named(struct config_job *j, const char *key, struct json v, struct entries *s)
{
	struct json which = v, source = JSON_NONE;

	if (json_type(v) == JSON_OBJECT) {
		which = json_get(v, "name");
		source = json_get(v, "source");
		if (source.at && json_type(source) != JSON_NULL && !json_is(source, "local") &&
		    !json_is(source, "remote"))
			return config_refuse(j, source.at,
					     "'%s': a source must be 'local' or 'remote'", key);
	}
	if (json_type(which) != JSON_STRING)
		return config_refuse(j, v.at, "'%s' must be an array of names, found %s", key,
				     which.at ? config_type(which) : "an object without 'name'");
	return add_from(j, key, which, source, s);
}

static int add_names(struct config_job *j, struct config_value names, struct entries *s)
{
	struct json_iter it = json_iter(names.v);
	int r = 0;

	if (names.v.at && json_type(names.v) != JSON_ARRAY)
		return config_refuse(j, names.v.at, "'%s' must be an array of names, found %s",
				     names.key, config_type(names.v));
	while (r == 0 && names.v.at && json_each(&it))
		r = add_named(j, names.key, it.value, s);
	return r;
}

static int config_env_add_value(struct config_job *j, const char *key, struct json_iter *it,
				struct entries *s)
{
	AUTO(mem_drop) char *name = NULL, *value = NULL;
	char shown[CONFIG_SHOW_SIZE], path[CONFIG_SHOW_SIZE + 16];
	enum json_type type = json_type(it->value);
	int r = config_env_read_name(j, key, it->key, &name);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s.%s", key, config_show(it->key, shown));
	if (type == JSON_NUMBER || type == JSON_BOOL)
		return config_refuse(j, it->value.at,
				     "'%s' must be a string, found %s; write \"%.*s\"", path,
				     config_type(it->value),
				     it->value.len < 24 ? (int)it->value.len : 24, it->value.at);
	r = config_string(j, path, it->value, CONFIG_EXPAND, &value);
	if (r < 0)
		return r;
	return entries_add(j, s, (struct entry){ .rank = BY_VALUE, .at = it->key.at }, name, value);
}

static int add_values(struct config_job *j, struct config_value env, struct entries *s)
{
	struct json_iter it = json_iter(env.v);
	int r = 0;

	if (env.v.at && json_type(env.v) != JSON_OBJECT)
		return config_refuse(j, env.v.at, "'%s' must be an object of strings, found %s",
				     env.key, config_type(env.v));
	while (r == 0 && env.v.at && json_each(&it))
		r = config_env_add_value(j, env.key, &it, s);
	return r;
}

static int by_name(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	size_t len = x->name_len < y->name_len ? x->name_len : y->name_len;
	int r = env_compare_names(x->text, y->text, len);

	if (r || x->name_len != y->name_len)
		return r ? r : (x->name_len < y->name_len ? -1 : 1);
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static bool same_name(const struct entry *x, const struct entry *y)
{
	return x->name_len == y->name_len && env_compare_names(x->text, y->text, x->name_len) == 0;
}

/* Sort the entries and put the last entry of each name into *out_envp. A name that `env` has twice
 * is an error. */
static int pick(struct config_job *j, const char *key, struct entries *s, char ***out_envp)
{
	char **envp = mem_grow(NULL, s->count + 1, sizeof(char *));
	size_t count = 0;
	int r = 0;

	qsort(s->list, s->count, sizeof(*s->list), by_name);
	for (size_t i = 0; i < s->count; i++) {
		struct entry *this = &s->list[i], *next = this + 1;

		if (i + 1 == s->count || !same_name(this, next)) {
			envp[count++] = this->text;
		} else if (this->rank == BY_VALUE) {
			r = config_refuse(j, next->at, "'%s' has '%.*s' twice", key,
					  next->name_len < 40 ? (int)next->name_len : 40,
					  next->text);
			break;
		}
	}
	envp[count] = NULL;
	if (r < 0) {
		free(envp);
		return r;
	}
	for (size_t i = 0, k = 0; i < s->count; i++) { /* envp owns these texts now */
		if (k < count && s->list[i].text == envp[k]) {
			s->list[i].text = NULL;
			k++;
		}
	}
	*out_envp = envp;
	return 0;
}

int config_env_read(struct config_job *j, struct config_env *v)
{
	size_t most = config_env_passed() + COUNT(for_ssh) + json_count(v->names.v) + json_count(v->env.v);
	AUTO(entries_done)
	struct entries s = { .list = mem_grow(NULL, most, sizeof(struct entry)), .kind = v->kind };
	int r;

	v->envp = v->names_there = NULL;
	r = add_defaults(j, &s);
	if (r == 0)
		r = add_names(j, v->names, &s);
	if (r == 0)
		r = add_values(j, v->env, &s);
	v->names_there = s.there;
	return r < 0 ? r : pick(j, v->env.key, &s, &v->envp);
}
