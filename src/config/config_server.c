/* config_server.c - reads one server of a config
 *
 * Keys are looked up in one table, which also has the names that other clients use for the same
 * keys, and the keys of other clients that killick ignores. The values are read after all keys.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/strings.h"
#include "config/config_internal.h"
#include "config/launcher.h"

#define STARTUP_MS    30000
#define LAUNCHER_MS   180000 /* a download that is killed can leave a broken cache of packages */
#define TOOL_MS       300000
#define INSTANCES_MAX 4
#define SECONDS_MAX   31536000.0 /* a year; a larger value is a mistake */

enum key {
	TYPE,
	COMMAND,
	ARGS,
	ENV,
	ENV_VARS,
	CWD,
	DISABLED,
	ENABLED,
	REQUIRED,
	STARTUP,
	STARTUP_IN_MS,
	STARTUP_IDLE,
	TOOL,
	ENABLED_TOOLS,
	DISABLED_TOOLS,
	ENVIRONMENT,
	SHARE,
	IDLE,
	STATEFUL,
	MAX_INSTANCES,
	MAX_MEMORY,
	LOGS,
	LIMITS,
	ERA,
	RESTART,
	LOST_CALLS,
	CONTAIN,
	STDERR,
	URL,
	ENV_FILE,
	TIMEOUT,
	KEY_COUNT,
	NOT_OURS = KEY_COUNT, /* keys of clients: approval, display, debugging */
	UNKNOWN,
};

static const struct {
	const char *name;
	enum key key;
} table[] = {
	{ "type", TYPE },
	{ "transport", TYPE },
	{ "command", COMMAND },
	{ "args", ARGS },
	{ "env", ENV },
	{ "envVars", ENV_VARS },
	{ "env_vars", ENV_VARS }, /* codex; the other names with underscores, too */
	{ "cwd", CWD },
	{ "disabled", DISABLED },
	{ "enabled", ENABLED },
	{ "required", REQUIRED },
	{ "startupTimeoutSec", STARTUP },
	{ "startup_timeout_sec", STARTUP },
	{ "startup_timeout_ms", STARTUP_IN_MS },
	{ "startupIdleSec", STARTUP_IDLE },
	{ "toolTimeoutSec", TOOL },
	{ "tool_timeout_sec", TOOL },
	{ "enabledTools", ENABLED_TOOLS },
	{ "enabled_tools", ENABLED_TOOLS },
	{ "includeTools", ENABLED_TOOLS }, /* Gemini CLI */
	{ "tools", ENABLED_TOOLS },        /* Copilot CLI; codex has an object, which is ignored */
	{ "disabledTools", DISABLED_TOOLS },
	{ "disabled_tools", DISABLED_TOOLS },
	{ "excludeTools", DISABLED_TOOLS },
	{ "environment", ENVIRONMENT },
	{ "environment_id", ENVIRONMENT },
	{ "experimental_environment", ENVIRONMENT },
	{ "share", SHARE },
	{ "idle", IDLE },
	{ "stateful", STATEFUL },
	{ "maxInstances", MAX_INSTANCES },
	{ "maxMemory", MAX_MEMORY },
	{ "logs", LOGS },
	{ "limits", LIMITS },
	{ "era", ERA },
	{ "restart", RESTART },
	{ "lostCalls", LOST_CALLS },
	{ "contain", CONTAIN },
	{ "stderr", STDERR },
	{ "url", URL },
	{ "httpUrl", URL },
	{ "serverUrl", URL },
	{ "envFile", ENV_FILE },
	{ "timeout", TIMEOUT },
	{ "alwaysAllow", NOT_OURS },
	{ "autoApprove", NOT_OURS },
	{ "default_tools_approval_mode", NOT_OURS },
	{ "description", NOT_OURS },
	{ "dev", NOT_OURS },
	{ "displayName", NOT_OURS },
	{ "gallery", NOT_OURS },
	{ "icon", NOT_OURS },
	{ "name", NOT_OURS },
	{ "supports_parallel_tool_calls", NOT_OURS },
	{ "trust", NOT_OURS },
	{ "version", NOT_OURS },
};

struct fields {
	struct config_value of[KEY_COUNT];
	struct config_unknown unknown;
};

static int config_server_fields_add(struct config_job *j, struct json key, struct json value,
				    struct fields *f)
{
	struct config_value *v;
	size_t i = 0;

	while (i < sizeof(table) / sizeof(table[0]) && !json_is(key, table[i].name))
		i++;
	if (i == sizeof(table) / sizeof(table[0])) {
		config_unknown_add(&f->unknown, key);
		return 0;
	}
	if (table[i].key == NOT_OURS ||
	    (strcmp(table[i].name, "tools") == 0 && json_type(value) == JSON_OBJECT))
		return 0;
	v = &f->of[table[i].key];
	if (v->key == table[i].name)
		return config_refuse(j, key.at, "'%s' occurs twice", v->key);
	if (v->key)
		return config_refuse(j, key.at, "'%s' means the same as '%s': keep one",
				     table[i].name, v->key);
	v->key = table[i].name;
	if (json_type(value) != JSON_NULL)
		v->v = value;
	return 0;
}

/* --- values --- */

static int read_ms(struct config_job *j, const struct config_value *v, double unit_ms, int64_t *out)
{
	double n;

	if (!v->v.at)
		return 0;
	if (!json_double(v->v, &n) || !(n > 0 && n * unit_ms <= SECONDS_MAX * 1000))
		return config_refuse(j, v->v.at, "'%s' must be a number above 0, of at most a year",
				     v->key);
	*out = n * unit_ms < 1 ? 1 : (int64_t)(n * unit_ms + 0.5);
	return 0;
}

/* Read a string that must be one of `words` (NULL at the end), and set *out to its index. *out is
 * untouched if the value is absent. */
static int read_word(struct config_job *j, const struct config_value *v, const char *const *words,
		     int *out)
{
	char choice[120] = "", shown[CONFIG_SHOW_SIZE];
	size_t len = 0;

	if (!v->v.at)
		return 0;
	for (int i = 0; words[i]; i++) {
		if (json_is(v->v, words[i])) {
			*out = i;
			return 0;
		}
		len += (size_t)snprintf(choice + len, sizeof(choice) - len, "%s'%s'",
					i == 0         ? ""
					: words[i + 1] ? ", "
						       : " or ",
					words[i]);
		assert(len < sizeof(choice));
	}
	if (json_type(v->v) != JSON_STRING)
		return config_refuse(j, v->v.at, "'%s' must be %s, found %s", v->key, choice,
				     config_type(v->v));
	return config_refuse(j, v->v.at, "'%s' must be %s, found '%s'", v->key, choice,
			     config_show(v->v, shown));
}

static int read_tools(struct config_job *j, const struct fields *f, struct config_server *s)
{
	const struct config_value *on = &f->of[ENABLED_TOOLS], *off = &f->of[DISABLED_TOOLS];
	int r = 0;

	if (on->v.at)
		r = config_value_list(j, on, CONFIG_PLAIN, 0, &s->enabled_tools);
	if (r == 0 && off->v.at)
		r = config_value_list(j, off, CONFIG_PLAIN, 0, &s->disabled_tools);
	return r;
}

/* --- the definition of a server --- */

/* "~" is expanded only for a server on this machine: HOME is a directory of this machine. */
static enum config_text config_server_path_of(const struct config_server *s)
{
	return s->recipe.environment ? CONFIG_EXPAND : CONFIG_PATH;
}

static int config_server_read_argv(struct config_job *j, const struct fields *f,
				   struct config_server *s)
{
	const struct config_value *command = &f->of[COMMAND];
	char *program = NULL;
	int r;

	if (!command->v.at)
		return config_value_list(j, &f->of[ARGS], CONFIG_EXPAND, 0, &s->recipe.argv);
	if (json_type(command->v) != JSON_STRING)
		return config_refuse(j, command->v.at,
				     "'command' must be a string, found %s; the arguments go into "
				     "'args'",
				     config_type(command->v));
	r = config_string(j, "command", command->v, config_server_path_of(s), &program);
	if (r < 0)
		return r;
	strings_add(&s->recipe.argv, program);
	if (!*program)
		return config_refuse(j, command->v.at, "'command' is empty");
	return config_value_list(j, &f->of[ARGS], CONFIG_EXPAND, 1, &s->recipe.argv);
}

/* Read where the server runs, before other values, which depend on it. An empty name is refused,
 * because it could mean this machine or another one. */
static int read_placement(struct config_job *j, const struct config_value *v,
			  struct config_server *s)
{
	char *name = NULL;
	int r;

	if (json_type(v->v) == JSON_OBJECT) /* as in opencode */
		return config_refuse(
			j, v->v.at,
			"'%s' must be a string, found an object; variables go into 'env'", v->key);
	if (!v->v.at || json_is(v->v, "local"))
		return 0;
	if (json_is(v->v, ""))
		return config_refuse(j, v->v.at, "'%s' is empty; this machine is 'local'", v->key);
	r = config_value_text(j, v, CONFIG_PLAIN, &name);
	s->recipe.environment = name;
	if (name && !config_is_printable(name))
		return config_refuse(j, v->v.at, "'%s' must be a printable name", v->key);
	return r;
}

static int config_server_read_env(struct config_job *j, const struct fields *f,
				  struct config_server *s)
{
	struct config_env v = { .kind = s->recipe.environment ? CONFIG_ENV_PLACED
							      : CONFIG_ENV_SERVER,
				.env = f->of[ENV],
				.names = f->of[ENV_VARS] };
	int r = config_env_read(j, &v);

	s->recipe.envp = v.envp;
	s->recipe.remote_names = v.names_there;
	return r;
}

/* Returns the path in the directory of the config's source; NULL: that directory. The path, which
 * may be NULL, is freed or returned. */
static char *config_server_path_in(const struct config_job *j, char *path)
{
	AUTO(buf_done) struct buf whole = BUF_INIT(BUF_ANY_SIZE);

	if (!j->cwd || (path && path_kind(path) != PATH_RELATIVE))
		return path;
	buf_adds(&whole, j->cwd);
	if (path)
		buf_addf(&whole, "%c%s", PATH_SEPARATOR, path);
	free(path);
	return buf_take(&whole);
}

static int read_cwd(struct config_job *j, const struct config_value *v, struct config_server *s)
{
	char *cwd = NULL;
	int r = config_value_text(j, v, config_server_path_of(s), &cwd);

	s->recipe.cwd = s->recipe.environment ? cwd : config_server_path_in(j, cwd);
	return r;
}

static int read_stderr(struct config_job *j, const struct config_value *v, struct config_server *s)
{
	int r = config_value_text(j, v, CONFIG_PATH, &s->stderr_file);

	if (s->stderr_file)
		s->stderr_file = config_server_path_in(j, s->stderr_file);
	return r;
}

static int read_words(struct config_job *j, const struct fields *f, struct config_server *s)
{
	static const char *const shares[] = { "never", "identical", "auto", NULL };
	static const char *const logs[] = { "own", "all", NULL };
	static const char *const eras[] = { "legacy", "modern", "auto", NULL };
	static const char *const restarts[] = { "on-use", "now", "never", NULL };
	static const char *const losts[] = { "auto", "wait", "fail", NULL };
	int share = CONFIG_SHARE_RULE - 1, era = CONFIG_LEGACY, restart = RESTART_ON_USE;
	int level = LEVEL_AUTO, lost = CONFIG_LOST_AUTO, log = 0, r;

	static_assert(CONFIG_SHARE_NEVER == 1 && CONFIG_SHARE_AUTO == 3, "as in shares, from 1");
	static_assert(CONFIG_MODERN == 1 && CONFIG_AUTO == 2, "as in eras");
	static_assert(RESTART_NOW == 1 && RESTART_NEVER == 2, "as in restarts");
	static_assert(CONFIG_LOST_WAIT == 1 && CONFIG_LOST_FAIL == 2, "as in losts");
	if ((r = read_word(j, &f->of[SHARE], shares, &share)) < 0 ||
	    (r = read_word(j, &f->of[ERA], eras, &era)) < 0 ||
	    (r = read_word(j, &f->of[RESTART], restarts, &restart)) < 0 ||
	    (r = read_word(j, &f->of[LOST_CALLS], losts, &lost)) < 0 ||
	    (r = read_word(j, &f->of[CONTAIN], level_words, &level)) < 0 ||
	    (r = read_word(j, &f->of[LOGS], logs, &log)) < 0)
		return r;
	s->share = (enum config_share)(share + 1);
	s->logs_all = log == 1;
	s->era = (enum config_era)era;
	s->restart = (enum config_restart)restart;
	s->lost_calls = (enum config_lost)lost;
	s->recipe.contain = (enum level)level;
	return 0;
}

static int read_times(struct config_job *j, const struct fields *f, struct config_server *s)
{
	const struct config_value *sec = &f->of[STARTUP], *ms = &f->of[STARTUP_IN_MS];
	const struct config_value *idle = &f->of[STARTUP_IDLE];
	int r;

	if (sec->v.at || ms->v.at || idle->v.at)
		s->idle_ms = 0;

	if (sec->v.at && ms->v.at)
		return config_refuse(j, ms->v.at, "'%s' means the same as '%s': keep one", ms->key,
				     sec->key);
	r = read_ms(j, sec, 1000, &s->startup_ms);
	if (r == 0)
		r = read_ms(j, ms, 1, &s->startup_ms);
	if (r == 0)
		r = read_ms(j, idle, 1000, &s->idle_ms);
	return r < 0 ? r : read_ms(j, &f->of[TOOL], 1000, &s->tool_ms);
}

/* Read what decides about sharing and rest, except the words. */
static int read_hub_values(struct config_job *j, const struct fields *f, struct config_server *s)
{
	const struct config_value *stateful = &f->of[STATEFUL];
	bool keeps = false;
	int r;

	s->rest_ms = j->rest_ms;
	if ((r = config_value_idle(j, &f->of[IDLE], &s->rest_ms)) < 0 ||
	    (r = config_value_bool(j, stateful, &keeps)) < 0 ||
	    (r = config_value_size(j, &f->of[MAX_MEMORY], &s->max_memory)) < 0)
		return r;
	if (stateful->v.at)
		s->stateful = keeps ? CONFIG_STATEFUL : CONFIG_STATELESS;
	return config_value_count(j, &f->of[MAX_INSTANCES], &s->max_instances);
}

static int read_switches(struct config_job *j, const struct fields *f, struct config_server *s)
{
	const struct config_value *enabled = &f->of[ENABLED];
	bool on = true;
	int r;

	if ((r = config_value_bool(j, &f->of[DISABLED], &s->disabled)) < 0 ||
	    (r = config_value_bool(j, enabled, &on)) < 0 ||
	    (r = config_value_bool(j, &f->of[REQUIRED], &s->required)) < 0)
		return r;
	if (enabled->v.at && f->of[DISABLED].v.at && on == s->disabled)
		return config_refuse(j, enabled->v.at,
				     "'enabled' and 'disabled' contradict each "
				     "other");
	s->disabled |= !on;
	return 0;
}

static int read_rest(struct config_job *j, const struct fields *f, struct config_server *s)
{
	const struct config_value *env = &f->of[ENVIRONMENT];
	int r;

	if ((r = read_placement(j, env, s)) < 0 || (r = config_server_read_argv(j, f, s)) < 0)
		return r;
	config_server_defaults(s);
	if ((r = config_server_read_env(j, f, s)) < 0 || (r = read_cwd(j, &f->of[CWD], s)) < 0 ||
	    (r = config_hint_program(j, &f->of[COMMAND], s)) < 0 || (r = read_times(j, f, s)) < 0 ||
	    (r = read_tools(j, f, s)) < 0 || (r = config_limits_read(j, &f->of[LIMITS], s)) < 0 ||
	    (r = read_words(j, f, s)) < 0 || (r = read_hub_values(j, f, s)) < 0 ||
	    (r = read_stderr(j, &f->of[STDERR], s)) < 0)
		return r;
	return s->recipe.environment ? config_place_server(j, env->v.at, s) : 0;
}

static void warn(struct config_job *j, const struct fields *f)
{
	config_unknown_warn(j, &f->unknown);
	if (f->of[ENV_FILE].v.at)
		config_warn(j, f->of[ENV_FILE].v.at,
			    "'envFile' is not read: use 'env' or 'envVars'");
	if (f->of[TIMEOUT].v.at)
		config_warn(j, f->of[TIMEOUT].v.at,
			    "'timeout' is not used, because clients disagree about its unit: use "
			    "'startupTimeoutSec' and 'toolTimeoutSec'");
	if (f->of[URL].v.at)
		config_warn(j, f->of[URL].v.at, "'%s' is not used: the server has a command",
			    f->of[URL].key);
}

/* A server that does not use stdio stays in the list and is not started. */
static int read_remote(struct config_job *j, struct json key, const struct fields *f,
		       struct config_server *s)
{
	const struct config_value *type = &f->of[TYPE];
	char shown[CONFIG_SHOW_SIZE] = "url";

	if (type->v.at)
		config_show(type->v, shown);
	j->server = NULL;
	if (s->required && !s->disabled)
		return config_refuse(j, key.at,
				     "server '%s' is required, but it is remote (%s) and killick "
				     "starts only stdio servers",
				     s->name, shown);
	if (!s->disabled) {
		config_hint_remote(&f->of[URL], shown, s);
		config_warn(j, key.at, "%s", s->problem);
	}
	s->disabled = true;
	s->recipe.argv = strings_copy((char *[]){ NULL });
	s->recipe.envp = strings_copy((char *[]){ NULL });
	return 0;
}

static bool config_server_is_name(const char *name)
{
	return *name && strlen(name) <= CONFIG_NAME_MAX && config_is_printable(name);
}

static int config_server_read_name(struct config_job *j, struct json key, struct config_server *s)
{
	char shown[CONFIG_SHOW_SIZE];
	char *name = NULL;
	int r = config_string(j, "name", key, CONFIG_PLAIN, &name);

	s->name = s->recipe.name = name;
	if (r < 0)
		return r;
	if (!config_server_is_name(s->name))
		return config_refuse(
			j, key.at,
			"server '%s': a name is printable and has 1 to %u bytes, not %zu",
			config_show(key, shown), CONFIG_NAME_MAX, strlen(s->name));
	return 0;
}

void config_server_defaults(struct config_server *s)
{
	bool launcher = s->recipe.argv && launcher_is(s->recipe.argv);

	s->startup_ms = launcher ? LAUNCHER_MS : STARTUP_MS;
	s->idle_ms = launcher ? STARTUP_MS : 0;
	s->tool_ms = TOOL_MS;
	s->max_instances = INSTANCES_MAX;
}

/* Find out whether the server is remote, and read the other values of a server that is not. */
static int read_kind(struct config_job *j, struct json key, const struct fields *f,
		     struct config_server *s)
{
	const struct config_value *type = &f->of[TYPE];
	bool command = f->of[COMMAND].v.at != NULL;
	bool stdio = json_is(type->v, "stdio") || json_is(type->v, "local");

	if (type->v.at && json_type(type->v) != JSON_STRING)
		return config_refuse(j, type->v.at, "'%s' must be a string, found %s", type->key,
				     config_type(type->v));
	if (type->v.at ? !stdio : !command && f->of[URL].v.at)
		return read_remote(j, key, f, s);
	if (!type->v.at && f->of[URL].v.at && !s->disabled)
		return config_refuse(j, f->of[URL].v.at,
				     "the server has a '%s' and a 'command', and clients disagree "
				     "about which one they use: remove one, or set 'type' to "
				     "'stdio'",
				     f->of[URL].key);
	if (!command && !s->disabled)
		return config_refuse(j, key.at, "'command' is missing%s%s%s",
				     f->unknown.count ? "; not known: " : "", f->unknown.text,
				     f->unknown.command ? " (did you mean 'command'?)" : "");
	j->plain = s->disabled || j->as_written;
	warn(j, f);
	return read_rest(j, f, s);
}

static int config_server_read_keys(struct config_job *j, struct json key, struct json value,
				   struct config_server *s)
{
	struct fields f = { .unknown.count = 0 };
	struct json_iter it = json_iter(value);
	int r = config_server_read_name(j, key, s);

	if (r < 0)
		return r;
	config_server_defaults(s);
	j->about = j->server = s->name;
	j->plain = j->as_written;
	if (json_type(value) != JSON_OBJECT)
		return config_refuse(j, value.at, "a server must be an object, found %s",
				     config_type(value));
	while (r == 0 && json_each(&it))
		r = config_server_fields_add(j, it.key, it.value, &f);
	if (r == 0)
		r = read_switches(j, &f, s);
	return r < 0 ? r : read_kind(j, key, &f, s);
}

void config_server_done(struct config_server *s)
{
	recipe_done(&s->recipe);
	if (s->place)
		config_place_done(s->place);
	free(s->place);
	free(s->problem);
	strings_free(s->enabled_tools);
	strings_free(s->disabled_tools);
	free(s->stderr_file);
}

void config_server_problem(struct config_server *s, const char *fmt, ...)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	char rest[640];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(rest, sizeof(rest), fmt, ap);
	va_end(ap);
	buf_addf(&text, "server '%s' ", s->name);
	s->reason_at = text.len;
	buf_adds(&text, rest);
	s->problem = buf_take(&text);
}

void config_server_fail(struct config_server *s, const char *why)
{
	struct config_server failed = { .problem = mem_dup(why),
					.refused = true,
					.disabled = s->disabled && !s->remote,
					.required = s->required,
					.line = s->line };

	failed.name = failed.recipe.name = mem_dup(s->name);
	failed.recipe.argv = strings_copy((char *[]){ NULL });
	failed.recipe.envp = strings_copy((char *[]){ NULL });
	config_server_defaults(&failed);
	config_server_done(s);
	*s = failed;
}

/* Give a server with an invalid name the name that messages show; the server fails under this
 * name. */
static void config_server_rename(struct json key, struct config_server *s)
{
	char shown[CONFIG_SHOW_SIZE];

	config_show(key, shown);
	free((char *)s->recipe.name);
	s->name = s->recipe.name = mem_dup(*shown ? shown : "?");
}

void config_server_read(struct config_job *j, struct json key, struct json value,
			struct config_server *s)
{
	struct err why = ERR_INIT, *e = j->e;
	size_t room = j->room;
	int r;

	s->line = config_line(j, key.at);
	j->e = &why;
	r = config_server_read_keys(j, key, value, s);
	j->about = j->server = NULL;
	j->e = e;
	if (r == 0)
		return;
	if (!s->name || !config_server_is_name(s->name))
		config_server_rename(key, s);
	json_bool(json_get(value, "required"), &s->required);
	j->room = room;
	config_server_fail(s, why.text);
}
