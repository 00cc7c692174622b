/* expand.c - see expand.h */
#include "config/expand.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "os/env.h"

const char *expand_lookup(char *const *env, const char *name, size_t len)
{
	for (; env && *env; env++) {
		if (env_is_named(*env, name, len))
			return *env + len + 1;
	}
	return NULL;
}

/* Returns the length of the variable name at p; 0: no name. */
static size_t expand_name_len(const char *p)
{
	size_t len = 0;

	if (isdigit((unsigned char)*p))
		return 0;
	while (isascii((unsigned char)p[len]) && (isalnum((unsigned char)p[len]) || p[len] == '_'))
		len++;
	return len;
}

/* Refuse a text between braces that is not a variable; the error says what to write instead. */
static int expand_refuse(const char *inside, size_t len, struct err *e)
{
	int show = len < 60 ? (int)len : 60;

	if (strncmp(inside, "input:", 6) == 0)
		return err_set(e, -EINVAL,
			       "${%.*s} asks the user, which killick cannot do; use an environment "
			       "variable, as in ${NAME}",
			       show, inside);
	return err_set(e, -EINVAL, "${%.*s} is not a variable; write $${ for the characters ${",
		       show, inside);
}

/* Append the value of the text between the braces. */
static int expand_add_value(const char *inside, size_t len, char *const *env, struct buf *out,
			    struct err *e)
{
	const char *name = strncmp(inside, "env:", 4) == 0 ? inside + 4 : inside;
	const char *end = inside + len, *after, *value;
	size_t n = expand_name_len(name);
	bool has_default;

	after = name + n;
	has_default = end - after >= 2 && after[0] == ':' && after[1] == '-';
	if (n == 0 || (after != end && !has_default))
		return expand_refuse(inside, len, e);
	value = expand_lookup(env, name, n);
	if (has_default && (!value || !*value))
		return buf_add(out, after + 2, (size_t)(end - after - 2));
	if (!value)
		return err_set(e, -EINVAL,
			       "variable '%.*s' is not set; set it, or write ${%.*s:-} to do "
			       "without",
			       n < 60 ? (int)n : 60, name, n < 60 ? (int)n : 60, name);
	return buf_adds(out, value);
}

/* Append the value of one ${...}; *p points to the $, and is moved behind the }. */
static int add_braces(const char **p, char *const *env, struct buf *out, struct err *e)
{
	const char *inside = *p + 2, *end = strchr(inside, '}'), *inner = strstr(inside, "${");

	if (!end)
		return err_set(e, -EINVAL, "'${' without '}'; write $${ for the characters ${");
	if (inner && inner < end)
		return err_set(e, -EINVAL, "${%.60s: a default cannot hold another ${", inside);
	*p = end + 1;
	return expand_add_value(inside, (size_t)(end - inside), env, out, e);
}

int expand(const char *text, char *const *env, struct buf *out, struct err *e)
{
	for (const char *p = text; *p;) {
		const char *dollar = strchr(p, '$');
		int r = buf_add(out, p, dollar ? (size_t)(dollar - p) : strlen(p));

		if (r < 0 || !dollar)
			return r;
		p = dollar;
		if (strncmp(p, "$${", 3) == 0) {
			r = buf_adds(out, "${");
			p += 3;
		} else if (strncmp(p, "${", 2) == 0) {
			r = add_braces(&p, env, out, e);
		} else {
			r = buf_add(out, p++, 1);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int expand_path(const char *text, char *const *env, struct buf *out, struct err *e)
{
	const char *home;
	int r;

	if (text[0] != '~' || (text[1] && text[1] != '/'))
		return expand(text, env, out, e);
	home = expand_lookup(env, "HOME", 4);
	if (!home || !*home)
		return err_set(e, -EINVAL, "'~' needs HOME, which is not set");
	r = buf_adds(out, home);
	return r < 0 ? r : expand(text + 1, env, out, e);
}
