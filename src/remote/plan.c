/* plan.c - see plan.h */
#include "remote/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/strings.h"

/* The core variables of the protocol, for a policy that also inherits other variables. */
static const char *const core[] = { "PATH", "SHELL",  "TMPDIR",   "TEMP",    "TMP",  "HOME",
				    "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "USER", NULL };

/* Does the text survive the way through JSON? Only UTF-8 does. */
static bool can_be_sent(const char *text)
{
	AUTO(buf_done) struct buf quoted = BUF_INIT(BUF_ANY_SIZE);
	struct json v;

	emit_quoted(&quoted, text, strlen(text));
	return json_check(quoted.data, quoted.len, 0, &v, NULL) == 0 && json_is(v, text);
}

static int check_list(char *const *list, const char *what, struct err *e)
{
	for (char *const *p = list; p && *p; p++)
		if (!can_be_sent(*p))
			return err_set(e, -EILSEQ,
				       "%s %zu is not UTF-8, and cannot be sent to an executor",
				       what, (size_t)(p - list));
	return 0;
}

int plan_check(const struct recipe *r, struct err *e)
{
	int error;

	if (!r->cwd || path_kind(r->cwd) == PATH_RELATIVE)
		return err_set(e, -EINVAL,
			       "a server on an environment needs a cwd, an absolute path there");
	if (path_kind(r->cwd) == PATH_WINDOWS && !can_be_sent(r->cwd))
		return err_set(e, -EILSEQ, "the cwd is not UTF-8, which Windows paths must be");
	error = check_list(r->argv, "argument", e);
	if (error == 0)
		error = check_list(r->envp, "variable", e);
	if (error == 0 && strings_count(r->argv) == 0)
		error = err_set(e, -EINVAL, "there is no command");
	return error;
}

int plan_check_plain(const struct recipe *r, struct err *e)
{
	const char *what = NULL;

	for (int i = LIMIT_COUNT - 1; i >= 0; i--)
		if (r->limits[i])
			what = recipe_limits[i].noun;
	if (r->contain != LEVEL_AUTO && r->contain != LEVEL_GROUP)
		what = level_name(r->contain);
	if (!what)
		return 0;
	return err_set(e, -ENOTSUP,
		       "its executor is not killick's and does not support what was requested: %s",
		       what);
}

/* --- the message --- */

static void emit_names(struct emit *j, const char *key, const char *const *names)
{
	emit_open(j, key, '[');
	for (; names && *names; names++)
		emit_text(j, NULL, *names, strlen(*names));
	emit_close(j);
}

/* The process inherits the core variables and the named variables of the executor's environment. */
static void emit_policy(const struct recipe *r, struct emit *j)
{
	bool named = strings_count(r->remote_names) > 0;

	emit_open(j, "envPolicy", '{');
	emit_str(j, "inherit", named ? "all" : "core");
	emit_bool(j, "ignoreDefaultExcludes", true);
	emit_names(j, "exclude", NULL);
	emit_open(j, "set", '{');
	emit_close(j);
	emit_open(j, "includeOnly", '[');
	for (const char *const *name = core; named && *name; name++)
		emit_str(j, NULL, *name);
	for (char **name = r->remote_names; name && *name; name++)
		emit_str(j, NULL, *name);
	emit_close(j);
	emit_close(j);
}

/* The first of several variables of the same name counts, as for getenv. */
static bool is_repeated(char *const *envp, char *const *at)
{
	size_t len = strcspn(*at, "=");

	for (char *const *p = envp; p < at; p++)
		if (strncmp(*p, *at, len) == 0 && (*p)[len] == '=')
			return true;
	return false;
}

static void emit_env(const struct recipe *r, struct emit *j, const char *tag)
{
	emit_open(j, "env", '{');
	for (char **at = r->envp; at && *at; at++) {
		const char *value = strchr(*at, '=');
		AUTO(mem_drop) char *key = NULL;

		if (!value || value == *at || is_repeated(r->envp, at) ||
		    (tag && strncmp(*at, "KILLICK_TREE=", 13) == 0))
			continue;
		key = mem_text(*at, (size_t)(value - *at));
		emit_text(j, key, value + 1, strlen(value + 1));
	}
	if (tag)
		emit_str(j, "KILLICK_TREE", tag);
	emit_close(j);
}

void plan_emit(const struct recipe *r, struct emit *j, const char *tag)
{
	AUTO(buf_done) struct buf uri = BUF_INIT(BUF_ANY_SIZE);

	emit_names(j, "argv", (const char *const *)r->argv);
	path_add_url(&uri, r->cwd); /* plan_check has seen the cwd */
	emit_text(j, "cwd", uri.data, uri.len);
	emit_policy(r, j);
	emit_env(r, j, tag);
	emit_bool(j, "tty", r->stdio == STDIO_TERMINAL);
	emit_bool(j, "pipeStdin", r->stdio == STDIO_PIPES);
	emit_str(j, "arg0", r->arg0);
	if (r->stdio != STDIO_PIPES)
		emit_int(j, "lingerMs", r->linger_ms);
	if (r->name)
		emit_str(j, "name", r->name);
	if (r->session)
		emit_str(j, "session", r->session);
	if (r->contain != LEVEL_AUTO)
		emit_str(j, "contain", level_name(r->contain));
	for (int i = 0; i < LIMIT_COUNT; i++)
		if (r->limits[i])
			emit_int(j, recipe_limits[i].key, (long long)r->limits[i]);
}
