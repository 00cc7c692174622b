/* plan.c - see plan.h */
#include "remote/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"
#include "wire/wire.h"

/* What the protocol calls the core variables, for when others are inherited beside them. */
static const char *const core[] = { "PATH", "SHELL",  "TMPDIR",   "TEMP",    "TMP",  "HOME",
				    "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "USER", NULL };

/* Would a reader get the same bytes back? Only UTF-8 comes through. */
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

int plan_copy(struct plan *out, const struct link_spec *spec, const struct placement *where,
	      struct err *e)
{
	struct plan p = { .stdio = spec->stdio,
			  .linger_ms = spec->linger_ms,
			  .max_procs = spec->max_procs,
			  .memory = spec->memory };
	int r;

	if (!spec->cwd || spec->cwd[0] != '/')
		return err_set(e, -EINVAL,
			       "a server on an environment needs a cwd, an absolute path there");
	p.name = mem_dup(spec->name);
	p.session = mem_dup(spec->session);
	p.cwd = mem_dup(spec->cwd);
	p.contain = mem_dup(spec->contain);
	p.arg0 = mem_dup(spec->arg0);
	p.argv = strings_copy(spec->argv);
	p.envp = strings_copy(spec->envp);
	p.remote_names = strings_copy(where ? where->remote_names : NULL);
	r = check_list(p.argv, "argument", e);
	if (r == 0)
		r = check_list(p.envp, "variable", e);
	if (r == 0 && strings_count(p.argv) == 0)
		r = err_set(e, -EINVAL, "there is no command");
	if (r < 0)
		plan_done(&p);
	else
		*out = p;
	return r;
}

void plan_done(struct plan *p)
{
	free(p->name);
	free(p->session);
	free(p->cwd);
	free(p->contain);
	free(p->arg0);
	strings_free(p->argv);
	strings_free(p->envp);
	strings_free(p->remote_names);
	*p = (struct plan){ .name = NULL };
}

int plan_check_plain(const struct plan *p, struct err *e)
{
	const char *what = p->max_procs ? "a limit of processes"
			   : p->memory  ? "a limit of memory"
					: NULL;

	if (p->contain && strcmp(p->contain, "auto") != 0 && strcmp(p->contain, "group") != 0)
		what = p->contain;
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

/* Of the executor's own environment the core variables, and those that were named. */
static void emit_policy(const struct plan *p, struct emit *j)
{
	bool named = strings_count(p->remote_names) > 0;

	emit_open(j, "envPolicy", '{');
	emit_str(j, "inherit", named ? "all" : "core");
	emit_bool(j, "ignoreDefaultExcludes", true);
	emit_names(j, "exclude", NULL);
	emit_open(j, "set", '{');
	emit_close(j);
	emit_open(j, "includeOnly", '[');
	for (const char *const *name = core; named && *name; name++)
		emit_str(j, NULL, *name);
	for (char **name = p->remote_names; name && *name; name++)
		emit_str(j, NULL, *name);
	emit_close(j);
	emit_close(j);
}

/* Of duplicates the first counts, as for getenv. */
static bool is_repeated(char *const *envp, char *const *at)
{
	size_t len = strcspn(*at, "=");

	for (char *const *p = envp; p < at; p++)
		if (strncmp(*p, *at, len) == 0 && (*p)[len] == '=')
			return true;
	return false;
}

static void emit_env(const struct plan *p, struct emit *j, const char *tag)
{
	emit_open(j, "env", '{');
	for (char **at = p->envp; at && *at; at++) {
		const char *value = strchr(*at, '=');
		AUTO(mem_drop) char *key = NULL;

		if (!value || value == *at || is_repeated(p->envp, at) ||
		    (tag && strncmp(*at, "KILLICK_TREE=", 13) == 0))
			continue;
		key = mem_text(*at, (size_t)(value - *at));
		emit_text(j, key, value + 1, strlen(value + 1));
	}
	if (tag)
		emit_str(j, "KILLICK_TREE", tag);
	emit_close(j);
}

void plan_emit(const struct plan *p, struct emit *j, const char *tag)
{
	AUTO(buf_done) struct buf uri = BUF_INIT(BUF_ANY_SIZE);

	emit_names(j, "argv", (const char *const *)p->argv);
	wire_file_uri(&uri, p->cwd);
	emit_text(j, "cwd", uri.data, uri.len);
	emit_policy(p, j);
	emit_env(p, j, tag);
	emit_bool(j, "tty", p->stdio == LINK_TERMINAL);
	emit_bool(j, "pipeStdin", p->stdio == LINK_PIPES);
	emit_str(j, "arg0", p->arg0);
	if (p->stdio != LINK_PIPES)
		emit_int(j, "lingerMs", p->linger_ms);
	if (p->name)
		emit_str(j, "name", p->name);
	if (p->session)
		emit_str(j, "session", p->session);
	if (p->contain)
		emit_str(j, "contain", p->contain);
	if (p->max_procs)
		emit_int(j, "maxProcs", (long long)p->max_procs);
	if (p->memory)
		emit_int(j, "memory", (long long)p->memory);
}
