/* config.c - a config of servers: refused with a sentence, or understood and sound */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "fuzz.h"
#include "config/config.h"
#include "config/expand.h"
#include "session/names.h"

static char *const env[] = { "HOME=/home/me", "PATH=/bin", "A=1", "EMPTY=", "TOKEN=${A}", NULL };

/* Little by default; elsewhere nothing. */
static void check_env(char *const *envp, bool here)
{
	int paths = 0;

	for (; *envp; envp++) {
		size_t len = strcspn(*envp, "=");

		assert(len > 0 && (*envp)[len] == '=');
		paths += strncmp(*envp, "PATH=", 5) == 0;
		if (envp[1]) /* no name twice */
			assert(strncmp(*envp, envp[1], len + 1) != 0);
	}
	assert(here ? paths == 1 : paths <= 1);
}

static void check_server(const struct config_server *s)
{
	size_t len = strlen(s->name);

	assert(len > 0 && len <= CONFIG_NAME_MAX && s->line > 0);
	assert(s->recipe.argv && s->recipe.envp &&
	       (s->disabled || s->refused || (s->recipe.argv[0] && *s->recipe.argv[0])));
	assert(s->startup_ms > 0 && s->tool_ms > 0);
	assert(level_name(s->recipe.contain) && (!s->recipe.cwd || *s->recipe.cwd));
	assert(strspn(s->fingerprint, "0123456789abcdef") == FINGERPRINT_SIZE - 1);
	assert(!s->refused || s->problem);
	if (!s->disabled && !s->refused)
		check_env(s->recipe.envp, !s->recipe.environment);
	config_tool_allowed(s, "x");
}

static void check_config(const struct config *c)
{
	struct names names = NAMES_INIT;

	assert(c->count <= CONFIG_SERVERS_MAX);
	for (size_t i = 0; i < c->warning_count; i++)
		assert(strncmp(c->warnings[i].text, "fuzz.json:", 10) == 0);
	for (size_t i = 0; i < c->count; i++) {
		check_server(&c->servers[i]);
		assert(names_add(&names, c->servers[i].name, c->servers[i].fingerprint) == 0);
		names_add(&names, c->servers[i].name, c->servers[0].name);
	}
	names_settle(&names);
	for (size_t i = 0; i < names.count; i++)
		assert(names_find(&names, names.list[i]->qualified) == names.list[i]);
	names_done(&names);
}

static void check_expand(const char *text)
{
	struct buf b = BUF_INIT(1000);
	struct err e = ERR_INIT;
	int r = expand_path(text, env, &b, &e);

	assert(r == 0 || r == -EMSGSIZE || (r == -EINVAL && e.text[0]));
	assert(b.len <= 1000);
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config_source src = { .file = "fuzz.json", .environ_ = env };
	char *copy = malloc(size ? size : 1), *text = fuzz_text(data, size);
	struct config c = { .count = 4711 };
	struct err e = ERR_INIT;
	int r;

	assert(copy);
	if (size)
		memcpy(copy, data, size);
	r = config_parse(copy, size, &src, &c, &e);
	if (r == 0) {
		check_config(&c);
		config_done(&c);
	} else {
		assert(r == -EINVAL && c.count == 4711);
		assert(strncmp(e.text, "fuzz.json:", 10) == 0 &&
		       fuzz_is_text(e.text, sizeof(e.text)));
	}
	check_expand(text);
	free(text);
	free(copy);
	return 0;
}
