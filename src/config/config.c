/* config.c - see config.h */
#include "config/config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "config/config_internal.h"
#include "config/expand.h"
#include "os/fd.h"
#include "os/file.h"

/* --- messages --- */

unsigned config_line(struct config_job *j, const char *at)
{
	if (!j->line_at || at < j->line_at) {
		j->line_at = j->text;
		j->line = 1;
	}
	j->line += json_line(j->line_at, at) - 1;
	j->line_at = at;
	return j->line;
}

/* Write "mcp.json:12: server 'files': " and the reason. If the message is too long, the beginning
 * of the file name is cut, so that the reason stays complete. */
static void message(struct config_job *j, const char *at, const char *reason, char *out,
		    size_t size)
{
	char line[16] = "", server[CONFIG_NAME_MAX + 24] = "";
	const char *file = j->file, *dots = "";
	size_t len = strlen(file), fixed;

	if (at)
		snprintf(line, sizeof(line), ":%u", config_line(j, at));
	if (j->server)
		snprintf(server, sizeof(server), "server '%s': ", j->server);
	else if (j->place)
		snprintf(server, sizeof(server), "environment '%s': ", j->place);
	fixed = strlen(line) + 2 + strlen(server) + strlen(reason);
	if (fixed + len >= size && len > 24) {
		dots = "...";
		file += len - (size > fixed + 25 ? size - fixed - 4 : 21);
		while ((*file & 0xc0) == 0x80) /* do not begin inside a UTF-8 character */
			file++;
	}
	snprintf(out, size, "%s%s%s: %s%s", dots, file, line, server, reason);
}

int config_refuse(struct config_job *j, const char *at, const char *fmt, ...)
{
	char reason[sizeof(j->e->text)], text[sizeof(j->e->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	message(j, at, reason, text, sizeof(text));
	return err_set(j->e, -EINVAL, "%s", text);
}

void config_warn(struct config_job *j, const char *at, const char *fmt, ...)
{
	struct config *c = j->out;
	char reason[700], text[900];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	message(j, at, reason, text, sizeof(text));
	c->warnings = mem_grow(c->warnings, c->warning_count + 1, sizeof(*c->warnings));
	c->warnings[c->warning_count++] =
		(struct config_warning){ .server = mem_dup(j->about), .text = mem_dup(text) };
}

bool config_is_printable(const char *s)
{
	for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
		if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0))
			return false;
	}
	return true;
}

const char *config_show(struct json v, char out[CONFIG_SHOW_SIZE])
{
	json_string_into(v, out, CONFIG_SHOW_SIZE);
	if (config_is_printable(out))
		return out;
	for (char *p = out; *p; p++) {
		if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
			*p = '?';
	}
	return out;
}

const char *config_type(struct json v)
{
	static const char *const names[] = {
		[JSON_ABSENT] = "nothing",   [JSON_NULL] = "null",       [JSON_BOOL] = "a boolean",
		[JSON_NUMBER] = "a number",  [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",
		[JSON_OBJECT] = "an object",
	};

	return names[json_type(v)];
}

void config_unknown_add(struct config_unknown *u, struct json key)
{
	char shown[CONFIG_SHOW_SIZE];
	size_t len = strlen(u->text);

	if (u->count == 0)
		u->at = key.at;
	config_show(key, shown);
	u->command = u->command || option_is_near(shown, "command");
	if (len + strlen(shown) + sizeof(", ''") <= sizeof(u->text))
		snprintf(u->text + len, sizeof(u->text) - len, "%s'%s'", len ? ", " : "", shown);
	else
		u->left_off++;
	u->count++;
}

void config_unknown_warn(struct config_job *j, const struct config_unknown *u)
{
	if (u->left_off)
		config_warn(j, u->at, "keys %s and %zu more are not known and not used", u->text,
			    u->left_off);
	else if (u->count > 1)
		config_warn(j, u->at, "keys %s are not known and not used", u->text);
	else if (u->count)
		config_warn(j, u->at, "key %s is not known and not used", u->text);
}

/* --- strings --- */

int config_charge(struct config_job *j, const char *at, size_t len)
{
	if (len > j->room)
		return config_refuse(j, at, "the strings of the config have more than %u bytes",
				     CONFIG_ROOM);
	j->room -= len;
	return 0;
}

/* JSON can contain a NUL (\u0000), but a NUL cannot be passed to a program. */
static bool has_nul(struct json v)
{
	for (size_t i = 0; i + 1 < v.len; i++) {
		if (v.at[i] != '\\')
			continue;
		if (v.len - i >= 6 && memcmp(v.at + i, "\\u0000", 6) == 0)
			return true;
		i++; /* skip the escaped character, which begins no escape */
	}
	return false;
}

int config_string(struct config_job *j, const char *key, struct json v, enum config_text how,
		  char **out)
{
	AUTO(buf_done) struct buf b = BUF_INIT(CONFIG_STRING_MAX);
	AUTO(mem_drop) char *text = NULL;
	struct err e = ERR_INIT;
	int r;

	if (!json_string(v, &text))
		return config_refuse(j, v.at, "'%s' must be a string, found %s", key,
				     config_type(v));
	if (has_nul(v))
		return config_refuse(j, v.at, "'%s' has a NUL character in it", key);
	if (how == CONFIG_PLAIN || j->plain)
		r = buf_adds(&b, text);
	else if (how == CONFIG_PATH)
		r = expand_path(text, j->env, &b, &e);
	else
		r = expand(text, j->env, &b, &e);
	if (r == -EMSGSIZE)
		return config_refuse(j, v.at, "'%s' has more than %u bytes", key,
				     CONFIG_STRING_MAX);
	if (r < 0)
		return config_refuse(j, v.at, "'%s': %s", key, e.text);
	r = config_charge(j, v.at, b.len);
	if (r == 0)
		*out = buf_take(&b);
	return r;
}

/* --- fingerprint --- */

void config_hash_text(struct sha256 *s, const char *text)
{
	unsigned char head[9] = { text != NULL };
	uint64_t len = text ? strlen(text) : 0;

	for (int i = 0; i < 8; i++)
		head[i + 1] = (unsigned char)(len >> (8 * i));
	sha256_add(s, head, sizeof(head));
	sha256_add(s, text ? text : "", len);
}

void config_hash_list(struct sha256 *s, char *const *list)
{
	for (; list && *list; list++)
		config_hash_text(s, *list);
	config_hash_text(s, NULL);
}

void config_fingerprint(struct config_server *s)
{
	struct recipe r = s->recipe;
	AUTO(mem_drop) char *words = NULL;
	struct sha256 h;
	size_t size;

	static_assert(sizeof(s->fingerprint) == SHA256_HEX_SIZE, "");
	r.name = NULL; /* the same server with another name has the same fingerprint */
	size = recipe_write(&r, NULL, 0);
	words = mem_grow(NULL, size, 1);
	recipe_write(&r, words, size);
	sha256_init(&h);
	config_hash_list(&h, r.argv);
	config_hash_list(&h, r.envp);
	config_hash_text(&h, r.environment);
	config_hash_text(&h, s->place ? s->place->fingerprint : NULL);
	config_hash_list(&h, r.remote_names);
	sha256_add(&h, words, size);
	sha256_hex(&h, s->fingerprint);
}

/* --- the text --- */

/* Refuse a text that is not JSON. */
static int refuse_syntax(struct config_job *j, const char *text, size_t len,
			 const struct json_fault *fault)
{
	size_t blank = 0;

	while (blank < len && strchr(" \t\r\n", text[blank]))
		blank++;
	if (blank == len)
		return config_refuse(j, text,
				     "the config is empty; it must be JSON: {\"mcpServers\": {}}");
	return config_refuse(j, text + fault->offset,
			     "the config is not JSON: %s; correct this line", fault->reason);
}

int config_parse(const char *text, size_t len, const struct config_source *src, struct config *out,
		 struct err *e)
{
	struct config c = { .count = 0 };
	struct config_job j = {
		.text = text,
		.file = src->file ? src->file : "config",
		.env = src->environ_,
		.cwd = src->cwd,
		.as_written = src->as_written,
		.plain = src->as_written,
		.room = CONFIG_ROOM,
		.out = &c,
		.e = e,
	};
	struct json_fault fault;
	struct json top;
	int r;

	if (len > CONFIG_FILE_MAX)
		r = config_refuse(&j, NULL, "the config has more than %u bytes", CONFIG_FILE_MAX);
	else if (json_check(text, len, JSON_RELAXED, &top, &fault) < 0)
		r = refuse_syntax(&j, text, len, &fault);
	else
		r = config_top_read(&j, top);
	if (r < 0)
		config_done(&c);
	else
		*out = c;
	return r;
}

static bool config_has_digest(const struct buf *text, const char *want)
{
	char digest[SHA256_HEX_SIZE];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, text->data, text->len);
	sha256_hex(&s, digest);
	return strcmp(digest, want) == 0;
}

/* Read the file and parse it. */
static int config_read_as(const struct config_source *src, enum file_how how, struct config *out,
			  struct err *e)
{
	AUTO(buf_done) struct buf b = BUF_INIT(CONFIG_FILE_MAX);
	AUTO(fd_drop) int fd = file_open(src->file, how);
	ssize_t n = fd < 0 ? fd : 1;
	int full = 0;

	while (n > 0 && full == 0) {
		char piece[16384];

		n = fd_read(fd, piece, sizeof(piece));
		if (n > 0)
			full = buf_add(&b, piece, (size_t)n);
		else if (n == -EINTR)
			n = 1;
	}
	if (n < 0)
		return err_set(e, (int)n, "cannot read config '%.120s': %s%s", src->file,
			       strerror((int)-n), err_next((int)n));
	if (full < 0)
		return err_set(e, -EFBIG, "config '%.120s' has more than %u bytes", src->file,
			       CONFIG_FILE_MAX);
	if (src->digest && !config_has_digest(&b, src->digest))
		return err_set(
			e, -ESTALE,
			"config '%.120s' was changed since it was allowed; look at the file, "
			"then run 'killick trust'",
			src->file);
	return config_parse(b.data, b.len, src, out, e);
}

int config_read(const char *file, char *const *environ_, struct config *out, struct err *e)
{
	return config_read_as(&(struct config_source){ .file = file, .environ_ = environ_ },
			      FILE_READ, out, e);
}

int config_load(const struct config_source *src, struct config *out, struct err *e)
{
	return config_read_as(src, FILE_READ_NOW, out, e);
}

int config_command(const char *name, char *const *argv, char *const *environ_, struct config *out,
		   struct err *e)
{
	struct config_env vars = { .env.key = "env", .names.key = "envVars" };
	struct config c = { .count = 0 };
	struct config_job j = {
		.file = "command", .env = environ_, .room = CONFIG_ROOM, .out = &c, .e = e
	};
	struct config_server *s;
	int r;

	if (!*name || strlen(name) > CONFIG_NAME_MAX || !config_is_printable(name))
		r = config_refuse(&j, NULL, "a server's name is printable and has 1 to %u bytes",
				  CONFIG_NAME_MAX);
	else if (!argv || !argv[0] || !*argv[0])
		r = config_refuse(&j, NULL, "there is no program to start");
	else
		r = 0;
	if (r < 0) {
		config_done(&c);
		return r;
	}
	s = c.servers = mem_grow(NULL, 1, sizeof(*s));
	memset(s, 0, sizeof(*s));
	c.count = 1;
	s->name = s->recipe.name = mem_dup(name);
	s->recipe.argv = strings_copy(argv);
	config_server_defaults(s);
	r = config_env_read(&j, &vars);
	s->recipe.envp = vars.envp;
	if (r < 0) {
		config_done(&c);
		return r;
	}
	config_fingerprint(s);
	*out = c;
	return 0;
}

static size_t config_name_len(const char *variable)
{
	return strcspn(variable, "=");
}

static int by_variable_name(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	size_t x_len = config_name_len(x), y_len = config_name_len(y);
	int r = memcmp(x, y, x_len < y_len ? x_len : y_len);

	return r ? r : x_len < y_len ? -1 : x_len > y_len;
}

/* Add a variable, or replace the variable that has the same name. */
static void set_variable(char ***envp, const char *variable)
{
	size_t len = config_name_len(variable), count = 0;

	for (; (*envp)[count]; count++) {
		if (config_name_len((*envp)[count]) != len ||
		    memcmp((*envp)[count], variable, len) != 0)
			continue;
		free((*envp)[count]);
		(*envp)[count] = mem_dup(variable);
		return;
	}
	strings_add(envp, mem_dup(variable));
}

int config_command_more(struct config *c, const struct config_more *more, struct err *e)
{
	struct config_server *s = c->servers;
	struct recipe *r = &s->recipe;

	assert(c->count == 1 && r->envp && !r->environment);
	for (char *const *v = more->env; v && *v; v++) {
		if (**v == '=' || !strchr(*v, '='))
			return err_set(e, -EINVAL, "env: '%.100s' is not of the form NAME=value",
				       *v);
		if (strlen(*v) > CONFIG_STRING_MAX)
			return err_set(e, -EINVAL, "env: '%.*s' has more than %u bytes",
				       (int)(config_name_len(*v) < 100 ? config_name_len(*v) : 100),
				       *v, CONFIG_STRING_MAX);
	}
	if (more->cwd && !*more->cwd)
		return err_set(e, -EINVAL, "cwd is empty");
	for (char *const *v = more->env; v && *v; v++)
		set_variable(&r->envp, *v);
	qsort(r->envp, strings_count(r->envp), sizeof(char *), by_variable_name);
	if (more->cwd)
		r->cwd = mem_dup(more->cwd);
	if (more->startup_ms)
		config_set_startup(c, more->startup_ms);
	config_fingerprint(s);
	return 0;
}

void config_set_startup(struct config *c, int64_t startup_ms)
{
	for (size_t i = 0; i < c->count; i++) {
		c->servers[i].startup_ms = startup_ms;
		c->servers[i].idle_ms = 0;
	}
}

void config_drop_words(struct config_server *s, size_t count)
{
	char **argv = s->recipe.argv;

	assert(count < strings_count(argv));
	for (size_t i = 0; i < count; i++)
		free(argv[i]);
	memmove(argv, argv + count, (strings_count(argv + count) + 1) * sizeof(*argv));
	config_fingerprint(s);
}

static void config_warning_done(struct config_warning *w)
{
	free(w->server);
	free(w->text);
}

void config_drop_warnings(struct config *c, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->warning_count; i++) {
		struct config_warning *w = &c->warnings[i];

		if (!name || (w->server && strcmp(w->server, name) != 0))
			config_warning_done(w);
		else
			c->warnings[kept++] = *w;
	}
	c->warning_count = kept;
}

/* Is there a server with each of these names? */
static int config_has_all(const struct config *c, char *const *names, struct err *e)
{
	AUTO(buf_done) struct buf all = BUF_INIT(100);

	for (size_t i = 0; i < c->count; i++)
		buf_addf(&all, "%s'%s'", i ? ", " : "", c->servers[i].name);
	for (; *names; names++) {
		size_t i = 0;

		while (i < c->count && strcmp(c->servers[i].name, *names) != 0)
			i++;
		if (i == c->count)
			return err_set(e, -ENOENT, "the config has no server '%.60s'; it has %s",
				       *names, all.len ? all.data : "none");
	}
	return 0;
}

int config_select(struct config *c, char *const *names, struct err *e)
{
	size_t kept = 0;
	int r = config_has_all(c, names, e);

	for (size_t i = 0; r == 0 && i < c->count; i++) {
		if (strings_have(names, c->servers[i].name))
			c->servers[kept++] = c->servers[i];
		else
			config_server_done(&c->servers[i]);
	}
	if (r == 0)
		c->count = kept;
	return r;
}

void config_done(struct config *c)
{
	for (size_t i = 0; i < c->count; i++)
		config_server_done(&c->servers[i]);
	for (size_t i = 0; i < c->place_count; i++)
		config_place_done(&c->places[i]);
	free(c->servers);
	free(c->places);
	config_drop_warnings(c, NULL);
	free(c->warnings);
	*c = (struct config){ .count = 0 };
}

bool config_tool_allowed(const struct config_server *s, const char *tool)
{
	if (s->enabled_tools && !strings_have(s->enabled_tools, tool) &&
	    !strings_have(s->enabled_tools, "*"))
		return false;
	return !strings_have(s->disabled_tools, tool) && !strings_have(s->disabled_tools, "*");
}
