/* config_place.c - the environments of a config, and the servers that are placed in them.
 *
 * An environment has one way to connect: a URL, ssh, or a program. An error in the text of an
 * environment refuses the whole config. An error that matters only when the environment is used (no
 * way to connect, the token is not set) becomes the `problem` of the environment and of its
 * servers, so that the other servers can be used. A server that is to run elsewhere never runs on
 * this machine instead.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/strings.h"
#include "config/config_internal.h"
#include "config/expand.h"
#include "net/url.h"

#define PLACES_MAX 1000u

enum way { BY_URL = 1, BY_SSH = 2, BY_PROGRAM = 4 };
enum key { URL, TOKEN_ENV, CA_FILE, INSECURE, SSH, ARGS, KILLICK, PROGRAM, ENV, KEY_COUNT };

static const struct {
	const char *name;
	unsigned ways; /* the ways that the key belongs to */
} keys[] = {
	[URL] = { "url", BY_URL },
	[TOKEN_ENV] = { "tokenEnv", BY_URL },
	[CA_FILE] = { "caFile", BY_URL },
	[INSECURE] = { "insecure", BY_URL },
	[SSH] = { "ssh", BY_SSH },
	[ARGS] = { "args", BY_SSH },
	[KILLICK] = { "killick", BY_SSH },
	[PROGRAM] = { "program", BY_PROGRAM },
	[ENV] = { "env", BY_SSH | BY_PROGRAM },
};

struct fields {
	struct config_value of[KEY_COUNT];
	struct config_unknown unknown;
};

static const char *way_name(unsigned way)
{
	return keys[way == BY_URL ? URL : way == BY_SSH ? SSH : PROGRAM].name;
}

static void config_place_fingerprint(struct config_place *p)
{
	struct sha256 h;

	sha256_init(&h);
	config_hash_text(&h, p->name);
	config_hash_text(&h, p->url);
	config_hash_list(&h, p->program);
	config_hash_list(&h, p->program_env);
	config_hash_text(&h, p->token);
	config_hash_text(&h, p->ca_file);
	config_hash_text(&h, p->problem);
	sha256_hex(&h, p->fingerprint);
}

void config_place_done(struct config_place *p)
{
	free(p->name);
	free(p->url);
	strings_free(p->program);
	strings_free(p->program_env);
	free(p->far_killick);
	free(p->token);
	free(p->ca_file);
	free(p->problem);
	*p = (struct config_place){ .name = NULL };
}

/* --- ssh --- */

static int check_host(const char *host, struct err *e)
{
	if (!*host)
		return err_set(e, -EINVAL, "the host is missing");
	if (*host == '-')
		return err_set(e, -EINVAL, "a host that begins with '-' would be an option of ssh");
	if (!config_is_printable(host) || strchr(host, ' '))
		return err_set(e, -EINVAL, "a host has only printable characters and no spaces");
	return 0;
}

/* Quote a path for the remote shell: ssh passes one line to this shell, not single words. A "~/" at
 * the beginning stays unquoted, because the remote shell expands it. */
static char *quote(const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./+,:@%=";
	struct buf b = BUF_INIT(BUF_ANY_SIZE);

	if (strncmp(path, "~/", 2) == 0) {
		buf_adds(&b, "~/");
		path += 2;
	}
	if (path[strspn(path, plain)] == '\0') {
		buf_adds(&b, path);
		return buf_take(&b);
	}
	buf_adds(&b, "'");
	for (; *path; path++) {
		if (*path == '\'')
			buf_adds(&b, "'\\''");
		else
			buf_add(&b, path, 1);
	}
	buf_adds(&b, "'");
	return buf_take(&b);
}

/* Make the argv of ssh. If an option is given twice, ssh uses the first one, so the args of the
 * config come first. But ssh uses the last one of -t and -T: our -T must come last, because a
 * terminal would change the bytes of the protocol. */
static void set_ssh(struct config_place *p, const char *host, char *const *args,
		    const char *killick)
{
	static const char *const ours[] = { "-T", "-oBatchMode=yes", "-oServerAliveInterval=5",
					    "-oServerAliveCountMax=3", "--" };
	struct buf line = BUF_INIT(BUF_ANY_SIZE);
	size_t n = 0, most = strings_count(args) + sizeof(ours) / sizeof(ours[0]) + 4;

	p->far_killick = quote(killick);
	p->program = mem_grow(NULL, most, sizeof(char *));
	p->program[n++] = mem_dup("ssh");
	for (; args && *args; args++)
		p->program[n++] = mem_dup(*args);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		p->program[n++] = mem_dup(ours[i]);
	p->program[n++] = mem_dup(host);
	buf_addf(&line, "%s exec-server --listen stdio --quiet", p->far_killick);
	p->program[n++] = buf_take(&line);
	p->program[n] = NULL;
}

/* --- a URL --- */

struct url_rules {
	bool token, ca_file, insecure; /* what is given together with the URL */
};

static int check_url(const char *text, struct url_rules with, struct err *e)
{
	struct url u;
	int r = url_parse(text, URL_CONNECT, &u, e);

	if (r < 0)
		return r;
	if (with.ca_file && u.kind != URL_WSS)
		return err_set(e, -EINVAL, "'caFile' works with wss:// only");
	if (with.token && u.kind == URL_WS && !url_is_loopback(&u) && !with.insecure)
		return err_set(e, -EINVAL,
			       "the token would be sent unencrypted; use wss://, "
			       "or set '\"insecure\": true'");
	return 0;
}

/* --- reading --- */

static int config_place_fields_add(struct config_job *j, struct json key, struct json value,
				   struct fields *f)
{
	size_t i = 0;

	while (i < KEY_COUNT && !json_is(key, keys[i].name))
		i++;
	if (i == KEY_COUNT) {
		config_unknown_add(&f->unknown, key);
		return 0;
	}
	if (f->of[i].key)
		return config_refuse(j, key.at, "'%s' occurs twice", keys[i].name);
	f->of[i].key = keys[i].name;
	if (json_type(value) != JSON_NULL)
		f->of[i].v = value;
	return 0;
}

/* Find the way to connect; *out is set to 0 if there is none. */
static int find_way(struct config_job *j, const struct fields *f, unsigned *out)
{
	static const enum key ways[] = { URL, SSH, PROGRAM };
	unsigned found = 0;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const struct config_value *v = &f->of[ways[i]];

		if (v->v.at && found)
			return config_refuse(j, v->v.at,
					     "'%s' and '%s' exclude each other; keep one",
					     way_name(found), v->key);
		if (v->v.at)
			found = keys[ways[i]].ways;
	}
	for (size_t i = 0; found && i < KEY_COUNT; i++) {
		if (f->of[i].v.at && !(keys[i].ways & found))
			return config_refuse(j, f->of[i].v.at, "'%s' cannot be used with '%s'",
					     keys[i].name, way_name(found));
	}
	*out = found;
	return 0;
}

__attribute__((format(printf, 2, 3))) static void set_problem(struct config_place *p,
							      const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	free(p->problem);
	p->problem = mem_dup(text);
}

/* A token is sent in a header line, so it must have only visible ASCII characters. */
static bool config_place_is_token(const char *text)
{
	for (; *text; text++) {
		if (*text <= ' ' || *text >= 0x7f)
			return false;
	}
	return true;
}

static void set_token(struct config_place *p, const char *name, char *const *environ_)
{
	const char *value = expand_lookup(environ_, name, strlen(name));

	if (!value || !*value)
		set_problem(p, "variable '%.100s', which must have the token, is not set", name);
	else if (!config_place_is_token(value))
		set_problem(p,
			    "the token in variable '%.100s' has spaces, or characters that are "
			    "not ASCII",
			    name);
	else
		p->token = mem_dup(value);
}

static int config_place_read_token(struct config_job *j, const struct config_value *v,
				   struct config_place *p)
{
	AUTO(mem_drop) char *name = NULL;
	int r = config_value_text(j, v, CONFIG_PLAIN, &name);

	if (r == 0 && name)
		set_token(p, name, j->env);
	return r;
}

static int read_url(struct config_job *j, const struct fields *f, struct config_place *p)
{
	struct url_rules with = { .token = f->of[TOKEN_ENV].v.at != NULL,
				  .ca_file = f->of[CA_FILE].v.at != NULL };
	struct err e = ERR_INIT;
	int r;

	if ((r = config_string(j, "url", f->of[URL].v, CONFIG_EXPAND, &p->url)) < 0 ||
	    (r = config_place_read_token(j, &f->of[TOKEN_ENV], p)) < 0 ||
	    (r = config_value_text(j, &f->of[CA_FILE], CONFIG_PATH, &p->ca_file)) < 0 ||
	    (r = config_value_bool(j, &f->of[INSECURE], &with.insecure)) < 0)
		return r;
	if (check_url(p->url, with, &e) < 0)
		return config_refuse(j, f->of[URL].v.at, "'url': %s", e.text);
	return 0;
}

static int read_ssh(struct config_job *j, const struct fields *f, struct config_place *p)
{
	AUTO(mem_drop) char *host = NULL, *killick = NULL;
	struct err e = ERR_INIT;
	char **args = NULL;
	int r;

	if ((r = config_string(j, "ssh", f->of[SSH].v, CONFIG_EXPAND, &host)) == 0 &&
	    (r = config_value_text(j, &f->of[KILLICK], CONFIG_EXPAND, &killick)) == 0)
		r = config_value_list(j, &f->of[ARGS], CONFIG_EXPAND, 0, &args);
	if (r == 0 && check_host(host, &e) < 0)
		r = config_refuse(j, f->of[SSH].v.at, "'ssh': %s", e.text);
	if (r == 0 && killick && *killick == '-')
		r = config_refuse(j, f->of[KILLICK].v.at, "'killick' cannot begin with '-'");
	if (r == 0) {
		assert(host);
		set_ssh(p, host, args, killick ? killick : "killick");
	}
	strings_free(args);
	return r;
}

static int read_program(struct config_job *j, const struct config_value *v, struct config_place *p)
{
	struct json_iter it = json_iter(v->v);
	char *first = NULL;
	int r = config_value_list(j, v, CONFIG_EXPAND, 0, &p->program);

	if (r < 0)
		return r;
	if (!p->program[0] || !*p->program[0])
		return config_refuse(j, v->v.at, "'program' is empty");
	json_each(&it);
	r = config_string(j, "program", it.value, CONFIG_PATH, &first); /* expands "~" */
	if (r == 0) {
		free(p->program[0]);
		p->program[0] = first;
	}
	return r;
}

static int config_place_read_env(struct config_job *j, struct config_value env,
				 struct config_place *p)
{
	struct config_env v = { .kind = CONFIG_ENV_PROGRAM, .env = env, .names.key = "envVars" };
	int r = config_env_read(j, &v);

	p->program_env = v.envp;
	return r;
}

static int read_way(struct config_job *j, const struct fields *f, struct config_place *p)
{
	unsigned way = 0;
	int r = find_way(j, f, &way);

	if (r < 0)
		return r;
	switch (way) {
	case BY_URL:
		return read_url(j, f, p);
	case BY_SSH:
		r = read_ssh(j, f, p);
		break;
	case BY_PROGRAM:
		r = read_program(j, &f->of[PROGRAM], p);
		break;
	default:
		set_problem(p, "'url', 'ssh' and 'program' are missing; give one of them");
		return 0;
	}
	return r < 0 ? r : config_place_read_env(j, f->of[ENV], p);
}

static int config_place_read_name(struct config_job *j, struct json key, struct config_place *p)
{
	char shown[CONFIG_SHOW_SIZE];
	int r = config_string(j, "environments", key, CONFIG_PLAIN, &p->name);

	if (r < 0)
		return r;
	if (!*p->name || strlen(p->name) > CONFIG_NAME_MAX || !config_is_printable(p->name) ||
	    strchr(p->name, ':'))
		return config_refuse(j, key.at,
				     "environment '%s': a name is printable, has 1 to %u bytes and "
				     "no ':'",
				     config_show(key, shown), CONFIG_NAME_MAX);
	if (strcmp(p->name, "local") == 0)
		return config_refuse(j, key.at,
				     "environment 'local' is this machine and cannot be defined");
	if (config_place_find(j->out, p->name) != p)
		return config_refuse(j, key.at, "the environment '%s' occurs twice", p->name);
	return 0;
}

static int config_place_read_place(struct config_job *j, struct json key, struct json value,
				   struct config_place *p)
{
	struct fields f = { .unknown.count = 0 };
	struct json_iter it = json_iter(value);
	int r = config_place_read_name(j, key, p);

	if (r < 0)
		return r;
	p->line = config_line(j, key.at);
	j->place = p->name;
	if (json_type(value) != JSON_OBJECT && json_type(value) != JSON_NULL)
		return config_refuse(j, value.at, "an environment must be an object, found %s",
				     config_type(value));
	while (r == 0 && json_each(&it))
		r = config_place_fields_add(j, it.key, it.value, &f);
	if (r == 0)
		r = read_way(j, &f, p);
	if (r == 0) {
		config_unknown_warn(j, &f.unknown);
		config_place_fingerprint(p);
	}
	j->place = NULL;
	return r;
}

int config_places_read(struct config_job *j, struct json places)
{
	struct json_iter it = json_iter(places);
	size_t count = json_count(places);
	struct config *c = j->out;
	int r = 0;

	if (!places.at || json_type(places) == JSON_NULL)
		return 0;
	if (json_type(places) != JSON_OBJECT)
		return config_refuse(j, places.at, "'environments' must be an object, found %s",
				     config_type(places));
	if (count > PLACES_MAX)
		return config_refuse(j, places.at, "%zu environments; at most %u are possible",
				     count, PLACES_MAX);
	c->places = mem_grow(NULL, count, sizeof(*c->places));
	while (r == 0 && json_each(&it)) {
		struct config_place *p = &c->places[c->place_count++];

		*p = (struct config_place){ .name = NULL };
		r = config_place_read_place(j, it.key, it.value, p);
	}
	return r;
}

/* --- placing --- */

const struct config_place *config_place_find(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->place_count; i++) {
		if (strcmp(c->places[i].name, name) == 0)
			return &c->places[i];
	}
	return NULL;
}

static size_t size_of(const struct config_place *p)
{
	size_t size = strlen(p->name) + (p->url ? strlen(p->url) : 0);

	for (char **w = p->program; w && *w; w++)
		size += strlen(*w);
	for (char **w = p->program_env; w && *w; w++)
		size += strlen(*w);
	return size;
}

/* Make a copy for a server, because the server may be used for longer than the rest of the
 * config. */
static int copy_place(struct config_job *j, const char *at, const struct config_place *from,
		      struct config_place **out)
{
	struct config_place *p;
	int r;

	assert(from);
	r = config_charge(j, at, size_of(from));
	if (r < 0)
		return r;
	p = *out = mem_grow(NULL, 1, sizeof(*p));
	*p = (struct config_place){
		.name = mem_dup(from->name),
		.url = mem_dup(from->url),
		.program = strings_copy(from->program),
		.program_env = strings_copy(from->program_env),
		.far_killick = mem_dup(from->far_killick),
		.token = mem_dup(from->token),
		.ca_file = mem_dup(from->ca_file),
		.line = from->line,
	};
	memcpy(p->fingerprint, from->fingerprint, sizeof(p->fingerprint));
	return 0;
}

static void name_places(const struct config *c, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (size_t i = 0; i < c->place_count && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s'%s'", i ? ", " : "",
					 c->places[i].name);
}

/* Write to out why s cannot be placed in p; "": s can be placed. p is NULL if the config does not
 * define the environment. */
static void find_problem(const struct config *c, const struct config_server *s,
			 const struct config_place *p, char *out, size_t size)
{
	char known[120];

	name_places(c, known, sizeof(known));
	*out = '\0';
	if (!p && c->place_count == 0)
		snprintf(out, size, "the config has no 'environments'");
	else if (!p)
		snprintf(out, size, "the config does not define this environment; it defines %s",
			 known);
	else if (p->problem)
		snprintf(out, size, "%s", p->problem);
	else if (!s->recipe.cwd)
		snprintf(out, size, "'cwd' is missing; give the working directory on that machine");
	else if (path_kind(s->recipe.cwd) == PATH_RELATIVE)
		snprintf(out, size, "'cwd' must be an absolute path on that machine, not '%.100s'",
			 s->recipe.cwd);
}

int config_place_server(struct config_job *j, const char *at, struct config_server *s)
{
	const struct config_place *p = config_place_find(j->out, s->recipe.environment);
	char why[300];

	find_problem(j->out, s, p, why, sizeof(why));
	if (!*why)
		return copy_place(j, at, p, &s->place);
	config_server_problem(s, "is placed in environment '%.100s' and cannot be started: %s",
			      s->recipe.environment, why);
	return 0;
}

/* --- without a config --- */

bool config_place_is_way(const char *text)
{
	return strchr(text, ':') != NULL; /* a name has no ':' */
}

int config_place_from(const struct config_way *way, char *const *environ_, struct config_place *out,
		      struct err *e)
{
	struct config_place p = { .name = mem_dup(way->text) };
	struct config none = { .count = 0 };
	struct err why = ERR_INIT;
	struct config_job j = {
		.file = "environment", .env = environ_, .room = CONFIG_ROOM, .out = &none, .e = &why
	};
	int r;

	assert(way->text);
	if (strncmp(way->text, "ssh:", 4) == 0) { /* ssh:HOST or ssh://HOST:PORT */
		const char *host = strncmp(way->text, "ssh://", 6) == 0 ? way->text : way->text + 4;

		r = check_host(host, &why);
		if (r == 0 && way->token_env)
			r = err_set(&why, -EINVAL, "ssh does not use a token");
		if (r == 0) {
			set_ssh(&p, host, NULL, "killick");
			r = config_place_read_env(&j, (struct config_value){ .key = "env" }, &p);
		}
	} else {
		r = check_url(way->text, (struct url_rules){ .token = way->token_env != NULL },
			      &why);
		p.url = mem_dup(way->text);
	}
	if (r == 0 && way->token_env)
		set_token(&p, way->token_env, environ_);
	if (r == 0 && p.problem)
		r = err_set(&why, -EINVAL, "%s", p.problem);
	if (r < 0) {
		config_place_done(&p);
		return err_set(e, r, "'%.100s': %s", way->text, why.text);
	}
	config_place_fingerprint(&p);
	*out = p;
	return 0;
}
