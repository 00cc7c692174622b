/* config.c - what people write: understood, or refused with the place and the reason. */
#include "config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../t.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"
#include "config/expand.h"

static char *env[] = { "HOME=/home/me",   "PATH=/bin:/usr/bin", "USER=me",      "TOKEN=s3cret",
		       "EMPTY=",          "SHELL=() { :; }",    "SSH_AUTH=x",   "LANG=C.UTF-8",
		       "NESTED=${TOKEN}", "FUNC=() { :; }",     "TOKEN=second", NULL };
static struct err e;

/* Texts have ' for ", which is easier to read. */
static int parse_from(const char *text, const struct config_source *src, struct config *out)
{
	/* in a block of exactly its size: reading past its end is seen */
	size_t len = strlen(text);
	char *copy = mem_grow(NULL, len, 1);
	int r;

	for (size_t i = 0; i < len; i++)
		copy[i] = text[i] == '\'' ? '"' : text[i];
	e = (struct err)ERR_INIT;
	r = config_parse(copy, len, src, out, &e);
	free(copy);
	return r;
}

static int parse(const char *text, struct config *out)
{
	struct config_source src = { .file = "mcp.json", .environ_ = env };

	return parse_from(text, &src, out);
}

static struct config good(const char *text)
{
	struct config c;

	if (parse(text, &c) < 0)
		FAIL("refused: %s", e.text);
	return c;
}

/* The members of one server, on line 2. */
static struct config one(const char *members)
{
	char text[4096];

	snprintf(text, sizeof(text), "{'mcpServers': {\n'x': {'command': 'x',\n%s}}}", members);
	return good(text);
}

#define REFUSED(text_, sentence_)                                                                  \
	do {                                                                                       \
		struct config c_ = { .count = 4711 };                                              \
		EQ(parse(text_, &c_), -EINVAL);                                                    \
		EQ(c_.count, 4711);                                                                \
		STREQ(e.text, sentence_);                                                          \
		EQ(e.code, -EINVAL);                                                               \
	} while (0)

/* The text is taken, but one of its servers fails, and nothing of its definition is left. */
static void fails(const char *text, const char *sentence)
{
	AUTO(config_done) struct config c = good(text);
	size_t count = 0;

	for (size_t i = 0; i < c.count; i++) {
		const struct config_server *s = &c.servers[i];

		if (!s->refused)
			continue;
		count++;
		STREQ(s->problem, sentence);
		OK(s->name && s->recipe.name == s->name && s->line);
		OK(!s->recipe.argv[0] && !s->recipe.envp[0] && s->startup_ms);
		EQ(strlen(s->fingerprint), 64);
	}
	EQ(count, 1);
}
#define FAILS(text_, sentence_) fails(text_, sentence_)

/* Of a server "x" with these members, the first of them on line 3. */
#define REFUSED_ONE(members_, sentence_)                                                           \
	FAILS("{'mcpServers': {\n'x': {'command': 'x',\n" members_ "}}}",                          \
	      "mcp.json:3: server 'x': " sentence_)

static void list_is(char *const *list, const char *joined)
{
	char text[4096] = "";
	size_t len = 0;

	for (; *list; list++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? "|" : "",
					*list);
	STREQ(text, joined);
}

static void warnings_are(const struct config *c, const char *joined)
{
	char **texts = NULL;

	for (size_t i = 0; i < c->warning_count; i++)
		strings_add(&texts, mem_dup(c->warnings[i].text));
	list_is(texts ? texts : (char *[]){ NULL }, joined);
	strings_free(texts);
}

#define DEFAULT_ENV "HOME=/home/me|LANG=C.UTF-8|PATH=/bin:/usr/bin|USER=me"

TEST(config_of_a_plain_server)
{
	AUTO(config_done)
	struct config c =
		good("{'mcpServers': {'files': {'command': 'npx', 'args': ['-y', 'server', '']}}}");
	struct config_server *s = c.servers;

	EQ(c.count, 1);
	STREQ(s->name, "files");
	list_is(s->recipe.argv, "npx|-y|server|");
	list_is(s->recipe.envp, DEFAULT_ENV);
	OK(!s->recipe.cwd && !s->recipe.environment && s->recipe.contain == LEVEL_AUTO &&
	   !s->stderr_file);
	OK(!s->disabled && !s->required && s->share == CONFIG_SHARE_RULE);
	OK(s->stateful == CONFIG_STATE_RULE && !s->logs_all && !s->rest_ms && !s->max_memory);
	EQ(s->max_instances, 4);
	OK(!s->enabled_tools && !s->disabled_tools);
	EQ(s->era, CONFIG_LEGACY);
	EQ(s->restart, RESTART_ON_USE);
	EQ(s->lost_calls, CONFIG_LOST_AUTO);
	EQ(s->startup_ms, 180000); /* npx may have to download */
	EQ(s->idle_ms, 30000);
	EQ(s->tool_ms, 300000);
	EQ(s->recipe.limits[LIMIT_PROCS], 0);
	EQ(s->recipe.limits[LIMIT_MEMORY], 0);
	EQ(s->line, 1);
	EQ(strlen(s->fingerprint), 64);
	EQ(c.warning_count, 0);
}

TEST(config_of_all_keys)
{
	AUTO(config_done)
	struct config c =
		one("'type': 'stdio', 'args': ['a'], 'env': {'K': 'v'}, 'envVars': ['SSH_AUTH'], "
		    "'cwd': '/tmp', 'disabled': false, 'enabled': true, 'startupTimeoutSec': 0.5, "
		    "'toolTimeoutSec': 7, 'required': true, 'enabledTools': ['t', "
		    "'u'], 'disabledTools': ['u'], 'environment': 'local', 'share': "
		    "'identical', 'limits': {'maxProcs': 64, 'memory': '512M'}, 'era': 'auto', "
		    "'restart': 'now', 'lostCalls': 'wait', 'contain': 'cgroup', "
		    "'stderr': '~/x.log'");
	struct config_server *s = c.servers;

	warnings_are(&c, "");
	list_is(s->recipe.argv, "x|a");
	list_is(s->recipe.envp,
		"HOME=/home/me|K=v|LANG=C.UTF-8|PATH=/bin:/usr/bin|SSH_AUTH=x|USER=me");
	STREQ(s->recipe.cwd, "/tmp");
	EQ(s->startup_ms, 500);
	EQ(s->tool_ms, 7000);
	OK(s->required && s->share == CONFIG_SHARE_IDENTICAL && !s->disabled);
	list_is(s->enabled_tools, "t|u");
	list_is(s->disabled_tools, "u");
	OK(!s->recipe.environment);
	EQ(s->recipe.limits[LIMIT_PROCS], 64);
	EQ(s->recipe.limits[LIMIT_MEMORY], 512 << 20);
	EQ(s->era, CONFIG_AUTO);
	EQ(s->restart, RESTART_NOW);
	EQ(s->lost_calls, CONFIG_LOST_WAIT);
	EQ(s->recipe.contain, LEVEL_CGROUP);
	STREQ(s->stderr_file, "/home/me/x.log");
	EQ(s->line, 2);
	OK(config_tool_allowed(s, "t") && !config_tool_allowed(s, "u"));
	OK(!config_tool_allowed(s, "v"));
}

TEST(config_reads_how_codex_and_others_write_it)
{
	AUTO(config_done)
	struct config c = one(
		"'type': 'local', 'startup_timeout_sec': 20, 'tool_timeout_sec': 1.5, "
		"'enabled_tools': ['a'], 'disabled_tools': ['b'], 'limits': {'max_procs': "
		"3}, 'env_vars': [{'name': 'SSH_AUTH', 'source': 'local'},{'name': 'NOWHERE'}], "
		"'experimental_environment': 'local', 'tools': {'a': {'approval_mode': 'auto'}}");
	AUTO(config_done)
	struct config d = one("'startup_timeout_ms': 20, 'includeTools': ['a', "
			      "'b'], 'excludeTools': ['b'], 'environment_id': 'local'");
	AUTO(config_done) struct config all = one("'tools': ['*']");
	AUTO(config_done) struct config none = one("'tools': []");
	AUTO(config_done) struct config off = one("'disabledTools': ['*']");

	warnings_are(&c, "");
	EQ(c.servers->startup_ms, 20000);
	EQ(c.servers->tool_ms, 1500);
	list_is(c.servers->enabled_tools, "a");
	list_is(c.servers->disabled_tools, "b");
	EQ(c.servers->recipe.limits[LIMIT_PROCS], 3);
	OK(!c.servers->recipe.environment);
	OK(strstr(c.servers->recipe.envp[3], "SSH_AUTH=x"));
	EQ(d.servers->startup_ms, 20);
	OK(!d.servers->recipe.environment);
	OK(config_tool_allowed(d.servers, "a") && !config_tool_allowed(d.servers, "b"));
	OK(config_tool_allowed(all.servers, "anything"));
	OK(!config_tool_allowed(none.servers, "anything"));
	OK(!config_tool_allowed(off.servers, "anything"));
}

TEST(config_null_and_empty_values_are_ignored)
{
	AUTO(config_done)
	struct config c =
		one("'args': null, 'env': null, 'envVars': null, 'cwd': '', 'disabled': null, "
		    "'startupTimeoutSec': null, 'limits': null, 'enabledTools': null, 'share': "
		    "null, 'stderr': '', 'environment': null, 'type': null, 'url': null");
	struct config_server *s = c.servers;

	warnings_are(&c, "");
	list_is(s->recipe.argv, "x");
	list_is(s->recipe.envp, DEFAULT_ENV);
	OK(!s->recipe.cwd && !s->stderr_file && !s->recipe.environment && !s->enabled_tools &&
	   !s->disabled);
	EQ(s->startup_ms, 30000);
	AUTO(config_done) struct config d = one("'cwd': '${NONE:-}', 'stderr': '${EMPTY}'");
	OK(!d.servers->recipe.cwd && !d.servers->stderr_file);
}

TEST(config_of_vs_code)
{
	AUTO(config_done)
	struct config c = good("\xef\xbb\xbf// mine\n{\n  'inputs': [{'id': 'k'}], /* not ours */\n"
			       "  'servers': {\n    'a': {'type': 'stdio', 'command': 'a',\n"
			       "      'env': {'K': '${env:TOKEN}',},},\n    // and\n"
			       "    'b': {'command': 'b', 'dev': {'watch': '*'}},\n  },\n}\n");

	EQ(c.count, 2);
	EQ(c.servers[0].line, 5);
	EQ(c.servers[1].line, 8);
	STREQ(c.servers[1].name, "b");
	list_is(c.servers[0].recipe.envp,
		"HOME=/home/me|K=s3cret|LANG=C.UTF-8|PATH=/bin:/usr/bin|USER=me");
	warnings_are(&c, "");
}

TEST(config_may_have_no_servers)
{
	AUTO(config_done)
	struct config c = good("{'mcpServers': {}, 'environments': {}}");

	EQ(c.count, 0);
	warnings_are(&c, "");
}

TEST(config_variables_are_put_in_where_texts_are)
{
	AUTO(config_done)
	struct config c =
		good("{'mcpServers': {'x': {'command': '${HOME}/bin/x', 'args': ['--t=${TOKEN}', "
		     "'${NONE:-d e f}', '${EMPTY:-d}', '${NONE:-}', '${NESTED}', '$TOKEN $$ "
		     "$${TOKEN} $'], 'cwd': '~', 'env': {'A': '${env:NONE:-x}${USER}'}}}}");

	list_is(c.servers->recipe.argv,
		"/home/me/bin/x|--t=s3cret|d e f|d||${TOKEN}|$TOKEN $$ ${TOKEN} $");
	STREQ(c.servers->recipe.cwd, "/home/me");
	STREQ(c.servers->recipe.envp[0], "A=xme");
}

TEST(config_variables_that_cannot_be)
{
	REFUSED_ONE("'args': ['${NONE}']",
		    "'args': variable 'NONE' is not set; set it, or write ${NONE:-} to do without");
	REFUSED_ONE(
		"'env': {'KEY': 'a${NONE}'}",
		"'env.KEY': variable 'NONE' is not set; set it, or write ${NONE:-} to do without");
	REFUSED_ONE("'env': {'KEY': '${input:key}'}",
		    "'env.KEY': ${input:key} asks the user, which killick cannot do; use an "
		    "environment variable, as in ${NAME}");
	REFUSED_ONE("'args': ['${config:x}']",
		    "'args': ${config:x} is not a variable; write $${ for the characters ${");
	REFUSED_ONE("'args': ['${}']",
		    "'args': ${} is not a variable; write $${ for the characters ${");
	REFUSED_ONE("'args': ['${1}']",
		    "'args': ${1} is not a variable; write $${ for the characters ${");
	REFUSED_ONE("'args': ['${HOME%x}']",
		    "'args': ${HOME%x} is not a variable; write $${ for the characters ${");
	REFUSED_ONE("'cwd': '${HOME'", "'cwd': '${' without '}'; write $${ for the characters ${");
	REFUSED_ONE("'args': ['${A:-${B}}']",
		    "'args': ${A:-${B}}: a default cannot hold another ${");
	REFUSED_ONE("'args': ['${EMPTY}${NONE:x}']",
		    "'args': ${NONE:x} is not a variable; write $${ for the characters ${");
}

TEST(config_names_the_file_the_line_and_the_key)
{
	FAILS("{\n// one\n/* two\n three */ 'mcpServers': {\n'files': {'command': 'x',\n"
	      "'args': 3}}}",
	      "mcp.json:6: server 'files': 'args' must be an array of strings, found a number");
	REFUSED_ONE("'args': ['a', 3]", "'args' must be an array of strings, found a number");
	FAILS("{'mcpServers': {'x': {'command': 'x', 'args': [\n\n'a',\nnull]}}}",
	      "mcp.json:4: server 'x': 'args' must be an array of strings, found null");
	FAILS("{'mcpServers': {'x': {'command': ['npx']}}}",
	      "mcp.json:1: server 'x': 'command' must be a string, found an array; the arguments "
	      "go into 'args'");
	FAILS("{'mcpServers': {'x': {'command': ''}}}",
	      "mcp.json:1: server 'x': 'command' is empty");
	FAILS("{'mcpServers': {\n\n'x': {}}}", "mcp.json:3: server 'x': 'command' is missing");
	FAILS("{'mcpServers': {'x': {'comand': 'y', 'agrs': []}}}",
	      "mcp.json:1: server 'x': 'command' is missing; not known: 'comand', 'agrs' (did you "
	      "mean 'command'?)");
	FAILS("{'mcpServers': {'x': 'npx'}}",
	      "mcp.json:1: server 'x': a server must be an object, found a string");
}

TEST(config_values_of_the_wrong_kind)
{
	REFUSED_ONE("'env': ['A=b']", "'env' must be an object of strings, found an array");
	REFUSED_ONE("'env': {'PORT': 3000}",
		    "'env.PORT' must be a string, found a number; write \"3000\"");
	REFUSED_ONE("'env': {'ON': true}",
		    "'env.ON' must be a string, found a boolean; write \"true\"");
	REFUSED_ONE("'env': {'ON': null}", "'env.ON' must be a string, found null");
	REFUSED_ONE("'env': {'A=B': ''}", "'env': 'A=B' cannot be the name of a variable");
	REFUSED_ONE("'env': {'': ''}", "'env': '' cannot be the name of a variable");
	REFUSED_ONE("'envVars': 'A'", "'envVars' must be an array of names, found a string");
	REFUSED_ONE("'envVars': [1]", "'envVars' must be an array of names, found a number");
	REFUSED_ONE("'envVars': [{}]",
		    "'envVars' must be an array of names, found an object without 'name'");
	REFUSED_ONE("'envVars': ['A=']", "'envVars': 'A=' cannot be the name of a variable");
	REFUSED_ONE("'envVars': [{'name': 'A', 'source': 'remote'}]",
		    "'envVars': the source of 'A' is 'remote', but the server has no "
		    "'environment': it runs on this machine");
	REFUSED_ONE("'envVars': [{'name': 'A', 'source': 1}]",
		    "'envVars': a source must be 'local' or 'remote'");
	REFUSED_ONE("'cwd': 1", "'cwd' must be a string, found a number");
	REFUSED_ONE("'disabled': 'true'", "'disabled' must be true or false, found a string");
	REFUSED_ONE("'required': 1", "'required' must be true or false, found a number");
	REFUSED_ONE("'enabledTools': 'a'",
		    "'enabledTools' must be an array of strings, found a string");
	REFUSED_ONE("'exclude_tools': 1, 'excludeTools': [1]",
		    "'excludeTools' must be an array of strings, found a number");
	REFUSED_ONE("'share': 'always'",
		    "'share' must be 'never', 'identical' or 'auto', found 'always'");
	REFUSED_ONE("'share': true",
		    "'share' must be 'never', 'identical' or 'auto', found a boolean");
	REFUSED_ONE("'stateful': 'no'", "'stateful' must be true or false, found a string");
	REFUSED_ONE("'logs': 'none'", "'logs' must be 'own' or 'all', found 'none'");
	REFUSED_ONE("'maxInstances': 0", "'maxInstances' must be a whole number from 1 to 1000000");
	REFUSED_ONE("'maxMemory': '2X'", "'maxMemory' must be a number of bytes or a size such as "
					 "\"512M\" or \"2G\"");
	REFUSED_ONE("'era': 'old'", "'era' must be 'legacy', 'modern' or 'auto', found 'old'");
	REFUSED_ONE("'restart': 'always'",
		    "'restart' must be 'on-use', 'now' or 'never', found 'always'");
	REFUSED_ONE("'lostCalls': true",
		    "'lostCalls' must be 'auto', 'wait' or 'fail', found a boolean");
	REFUSED_ONE("'contain': 'docker'", "'contain' must be 'auto', 'namespace', 'cgroup', "
					   "'keeper', 'group' or 'job', found 'docker'");
	REFUSED_ONE("'environment': {'A': 'b'}",
		    "'environment' must be a string, found an object; variables go into 'env'");
	REFUSED_ONE("'environment': ''", "'environment' is empty; this machine is 'local'");
	REFUSED_ONE("'environment': 1", "'environment' must be a string, found a number");
	REFUSED_ONE("'environment': 'a\\u001b['", "'environment' must be a printable name");
	REFUSED_ONE("'type': 1", "'type' must be a string, found a number");
	REFUSED_ONE("'args': ['a\\u0000b']", "'args' has a NUL character in it");
}

TEST(idle_is_a_time_and_the_top_level_has_the_default)
{
	static const struct {
		const char *text;
		int64_t ms;
	} table[] = { { "90", 90000 },     { "0.25", 250 },    { "0", 0 },
		      { "'90s'", 90000 },  { "'5m'", 300000 }, { "'1h'", 3600000 },
		      { "'1.5m'", 90000 }, { "null", 0 },      { "'0s'", 0 } };
	static const char *const wrong[] = { "-1",    "'5'",     "'5d'",  "'m'",          "true",
					     "'.5s'", "'1..2s'", "'-1s'", "'366000000h'", "''" };
	char members[64];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		snprintf(members, sizeof(members), "'idle': %s", table[i].text);
		AUTO(config_done) struct config c = one(members);
		EQ(c.servers[0].rest_ms, table[i].ms);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(members, sizeof(members), "'idle': %s", wrong[i]);
		AUTO(config_done) struct config c = one(members);
		OK(c.servers[0].refused && strstr(c.servers[0].problem, "'idle' must be"));
	}
	AUTO(config_done)
	struct config all = good("{'idle': '2m', 'maxServers': 7, 'maxMemory': '1G', "
				 "'mcpServers': {'a': {'command': 'x'}, "
				 "'b': {'command': 'x', 'idle': 0}}}");
	EQ(all.servers[0].rest_ms, 120000);
	EQ(all.servers[1].rest_ms, 0);
	EQ(all.max_servers, 7);
	EQ(all.max_memory, 1u << 30);
	REFUSED("{'idle': '5', 'mcpServers': {}}", "mcp.json:1: 'idle' must be a number of seconds "
						   "or a time such as \"90s\", \"5m\" or "
						   "\"1h\", of at most a year");
	REFUSED("{'maxServers': 0, 'mcpServers': {}}",
		"mcp.json:1: 'maxServers' must be a whole number from 1 to 1000000");
	REFUSED("{'idle': 1, 'idle': 2, 'mcpServers': {}}", "mcp.json:1: 'idle' occurs twice");
}

TEST(keys_of_the_hub_are_read)
{
	AUTO(config_done)
	struct config c =
		one("'share': 'auto', 'stateful': false, 'maxInstances': 2, 'logs': 'all', "
		    "'maxMemory': 1000000");
	const struct config_server *s = c.servers;

	EQ(s->share, CONFIG_SHARE_AUTO);
	EQ(s->stateful, CONFIG_STATELESS);
	EQ(s->max_instances, 2);
	EQ(s->max_memory, 1000000);
	OK(s->logs_all);
	EQ(c.warning_count, 0);
}

TEST(config_times)
{
	static const struct {
		const char *text;
		long long ms;
	} times[] = { { "1", 1000 },     { "0.25", 250 },    { "1.1", 1100 },
		      { "1e2", 100000 }, { "0.0000001", 1 }, { "31536000", 31536000000 } };

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		char text[100];

		snprintf(text, sizeof(text), "'toolTimeoutSec': %s", times[i].text);
		AUTO(config_done) struct config c = one(text);
		EQ(c.servers->tool_ms, times[i].ms);
	}
#define NO_TIME "must be a number above 0, of at most a year"
	REFUSED_ONE("'toolTimeoutSec': 0", "'toolTimeoutSec' " NO_TIME);
	REFUSED_ONE("'toolTimeoutSec': -1", "'toolTimeoutSec' " NO_TIME);
	REFUSED_ONE("'toolTimeoutSec': '3'", "'toolTimeoutSec' " NO_TIME);
	REFUSED_ONE("'toolTimeoutSec': 31536001", "'toolTimeoutSec' " NO_TIME);
	REFUSED_ONE("'startup_timeout_sec': 1e999", "'startup_timeout_sec' " NO_TIME);
	REFUSED_ONE("'startup_timeout_ms': true", "'startup_timeout_ms' " NO_TIME);
	REFUSED_ONE("'startup_timeout_sec': 1, 'startup_timeout_ms': 1",
		    "'startup_timeout_ms' means the same as 'startup_timeout_sec': keep one");
}

TEST(config_limits)
{
	static const struct {
		const char *text;
		unsigned long long bytes;
	} sizes[] = { { "1", 1 },
		      { "'1'", 1 },
		      { "'64k'", 64 << 10 },
		      { "'2G'", 2ULL << 30 },
		      { "'2GiB'", 2ULL << 30 },
		      { "'3MB'", 3 << 20 },
		      { "9007199254740993", 9007199254740993 } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char text[100];

		snprintf(text, sizeof(text), "'limits': {'memory': %s}", sizes[i].text);
		AUTO(config_done) struct config c = one(text);
		EQ(c.servers->recipe.limits[LIMIT_MEMORY], sizes[i].bytes);
		EQ(c.servers->recipe.limits[LIMIT_PROCS], 0);
	}
#define NO_SIZE "'limits.memory' must be a number of bytes or a size such as \"512M\" or \"2G\""
	REFUSED_ONE("'limits': {'memory': 0}", NO_SIZE);
	REFUSED_ONE("'limits': {'memory': '0M'}", NO_SIZE);
	REFUSED_ONE("'limits': {'memory': 1.5}", NO_SIZE);
	REFUSED_ONE("'limits': {'memory': ''}", NO_SIZE);
	REFUSED_ONE("'limits': {'memory': 'M'}", NO_SIZE);
	REFUSED_ONE("'limits': {'memory': '5T'}", NO_SIZE);
	REFUSED_ONE("'limits': {'memory': '5 M'}", NO_SIZE);
	REFUSED_ONE("'limits': {'memory': '-5M'}", NO_SIZE);
	REFUSED_ONE("'limits': {'memory': '9999999999G'}", NO_SIZE);
	REFUSED_ONE("'limits': {'memory': '99999999999999999999'}", NO_SIZE);
	REFUSED_ONE("'limits': {'memory': '0000000000000000000000000000001M'}", NO_SIZE);
	REFUSED_ONE("'limits': {'memory': true}", NO_SIZE);
	REFUSED_ONE("'limits': {'maxProcs': 0}",
		    "'limits.maxProcs' must be a whole number from 1 to 1000000");
	REFUSED_ONE("'limits': {'maxProcs': '9'}",
		    "'limits.maxProcs' must be a whole number from 1 to 1000000");
	REFUSED_ONE("'limits': {'maxProcs': 1000001}",
		    "'limits.maxProcs' must be a whole number from 1 to 1000000");
	REFUSED_ONE("'limits': {'cpu': 1}",
		    "'cpu' is not a limit; 'limits' can have 'maxProcs' and 'memory'");
	REFUSED_ONE("'limits': {'memory': 1, 'memory': 2}", "'limits' has 'memory' twice");
	REFUSED_ONE("'limits': {'maxProcs': 1, 'max_procs': 2}", "'limits' has 'max_procs' twice");
	REFUSED_ONE("'limits': '512M'", "'limits' must be an object, found a string");
}

TEST(config_refuses_duplicates)
{
	FAILS("{'mcpServers': {'a': {'command': 'x'},\n'a': {'command': 'y'}}}",
	      "mcp.json:2: the name 'a' is already used in line 1");
	FAILS("{'mcpServers': {'a': {'command': 'x'}, '\\u0061': {'command': 'y'}}}",
	      "mcp.json:1: the name 'a' is already used in line 1");
	REFUSED("{'mcpServers': {}, 'mcpServers': {}}",
		"mcp.json:1: the config has 'mcpServers' after 'mcpServers'; keep one");
	REFUSED("{'mcpServers': {},\n'servers': {}}",
		"mcp.json:2: the config has 'servers' after 'mcpServers'; keep one");
	REFUSED_ONE("'command': 'y'", "'command' occurs twice");
	REFUSED_ONE("'cwd': null, 'cwd': null", "'cwd' occurs twice");
	REFUSED_ONE("'toolTimeoutSec': 1, 'tool_timeout_sec': 1",
		    "'tool_timeout_sec' means the same as 'toolTimeoutSec': keep one");
	REFUSED_ONE("'env': {'A': '1', 'B': '2', 'A': '3'}", "'env' has 'A' twice");
	REFUSED_ONE("'disabled': true, 'enabled': true",
		    "'enabled' and 'disabled' contradict each other");
}

TEST(config_refuses_texts_that_are_not_json)
{
	REFUSED("[]", "mcp.json:1: a config must be an object with 'mcpServers', found an array");
	REFUSED("{}", "mcp.json:1: there is no 'mcpServers' and no 'servers'");
	REFUSED("\n{'files': {}, 'mcp': {}}",
		"mcp.json:2: there is no 'mcpServers' and no 'servers', but 'files', 'mcp'");
	REFUSED("{'mcpServers': []}",
		"mcp.json:1: 'mcpServers' must be an object of servers, found an array");
	REFUSED("{'servers':\nnull}",
		"mcp.json:2: 'servers' must be an object of servers, found null");
	{
		struct config c;

		EQ(parse("", &c), -EINVAL);
		STREQ(e.text, "mcp.json:1: the config is empty; it must be JSON: {\"mcpServers\": "
			      "{}}");
		EQ(parse("hello", &c), -EINVAL);
		STREQ(e.text, "mcp.json:1: the config is not JSON: a value is expected; correct "
			      "this line");
		EQ(parse("{\n'mcpServers': {\n'a\n", &c), -EINVAL);
		EQ(strncmp(e.text, "mcp.json:3: ", 12), 0);
	}
}

TEST(config_without_a_file_says_config)
{
	struct config_source src = { .environ_ = NULL };
	struct config c;

	EQ(parse_from("{}", &src, &c), -EINVAL);
	STREQ(e.text, "config:1: there is no 'mcpServers' and no 'servers'");
	EQ(config_parse("{}", 2, &src, &c, NULL), -EINVAL); /* nobody wants to know */
}

TEST(config_long_file_names_are_cut_before_reasons_are)
{
	char file[600];
	struct config_source src = { .file = file, .environ_ = NULL };
	struct config c;

	memset(file, 'd', sizeof(file));
	snprintf(file + 500, sizeof(file) - 500, "/mcp.json");
	EQ(parse_from("{}", &src, &c), -EINVAL);
	EQ(strlen(e.text), sizeof(e.text) - 1);
	EQ(strncmp(e.text, "...ddd", 6), 0);
	OK(strstr(e.text, "ddd/mcp.json:1: there is no 'mcpServers' and no 'servers'"));
}

TEST(config_names_of_servers)
{
	AUTO(config_done)
	struct config c =
		good("{'mcpServers': {'My server/2 \xe2\x9a\x93': {'command': "
		     "'x'}, '012345678901234567890123456789012345678901234567890123456789abc':{'"
		     "command': 'x'}}}");

	STREQ(c.servers[0].name, "My server/2 \xe2\x9a\x93");
	EQ(strlen(c.servers[1].name), CONFIG_NAME_MAX);
	FAILS("{'mcpServers': {'': {'command': 'x'}}}",
	      "mcp.json:1: server '': a name is printable and has 1 to 63 bytes, not 0");
	FAILS("{'mcpServers': {'a\\u001b[2J': {'command': 'x'}}}",
	      "mcp.json:1: server 'a?[2J': a name is printable and has 1 to 63 bytes, not 5");
	FAILS("{'mcpServers': {'a\\u009b2J': {'command': 'x'}}}",
	      "mcp.json:1: server 'a??2J': a name is printable and has 1 to 63 bytes, not 5");
	FAILS("{'mcpServers': "
	      "{'0123456789012345678901234567890123456789012345678901234567890123': {}}}",
	      "mcp.json:1: server '01234567890123456789012345678901234567890123456': a name is "
	      "printable and has 1 to 63 bytes, not 64");
	FAILS("{'mcpServers': {'a\\u0000': {}}}", "mcp.json:1: 'name' has a NUL character in it");
}

TEST(config_unknown_keys_are_named_once)
{
	AUTO(config_done)
	struct config c = good("{'$schema': 'x', 'theme': 'dark',\n'mcpServers': {\n"
			       "'a': {'command': 'a', 'autoApprove': [], 'trust': true,\n"
			       "'foo': 1, 'bar': {'command': 1}},\n"
			       "'b': {'command': 'b', 'envFile': '.env', 'timeout': 5,\n"
			       "'type': 'stdio', 'url': 'http://x', 'x\\u001b': 0}}}");

	warnings_are(
		&c,
		"mcp.json:1: key 'theme' is not known and not used|mcp.json:4: server 'a': keys "
		"'foo', 'bar' are not known and not used|mcp.json:6: server 'b': key 'x?' is not "
		"known and not used|mcp.json:5: server 'b': 'envFile' is not read: use 'env' or "
		"'envVars'|mcp.json:5: server 'b': 'timeout' is not used, because clients disagree "
		"about its unit: use 'startupTimeoutSec' and 'toolTimeoutSec'|mcp.json:6: server "
		"'b': 'url' is not used: the server has a command");
}

TEST(config_many_unknown_keys_are_counted)
{
	char text[8192] = "{'mcpServers': {}";
	size_t len = strlen(text);

	for (int i = 0; i < 50; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, ", 'unknown%02d': 1", i);
	snprintf(text + len, sizeof(text) - len, "}");
	AUTO(config_done) struct config c = good(text);
	EQ(c.warning_count, 1);
	OK(strstr(c.warnings[0].text, "'unknown00', 'unknown01', "));
	OK(strstr(c.warnings[0].text, " more are not known and not used"));
}

#define REMOTE(url_)                                                                               \
	"; killick starts servers that have a 'command', and does not speak to URLs: use it "      \
	"through a program that does, such as \"command\": \"npx\", \"args\": [\"-y\", "           \
	"\"mcp-remote\", \"" url_ "\"]"

TEST(config_remote_servers_are_kept_and_not_started)
{
	AUTO(config_done)
	struct config c =
		good("{'mcpServers': {\n'a': {'type': 'http', 'url': 'https://x', 'headers': {'A': "
		     "'${NONE}'}},\n'b': {'serverUrl': 'https://x'},\n"
		     "'c': {'type': 'sse', 'url': 'https://x', 'disabled': true, 'required': "
		     "true},\n'd': {'command': 'x'}}}");

	EQ(c.count, 4);
	OK(c.servers[0].disabled && c.servers[1].disabled && c.servers[2].disabled);
	OK(!c.servers[3].disabled);
	OK(!c.servers[0].recipe.argv[0] && !c.servers[0].recipe.envp[0]);
	OK(c.servers[0].remote && c.servers[1].remote && !c.servers[2].remote);
	STREQ(c.servers[0].problem, "server 'a' is remote (http, https://x)" REMOTE("https://x"));
	warnings_are(&c, "mcp.json:2: server 'a' is remote (http, https://x)" REMOTE(
				 "https://x") "|mcp.json:3: server 'b' is remote (url, "
					      "https://x)" REMOTE("https://x"));
	STREQ(c.warnings[0].server, "a");
	config_drop_warnings(&c, "b");
	warnings_are(&c, "mcp.json:3: server 'b' is remote (url, https://x)" REMOTE("https://x"));
	config_drop_warnings(&c, "d");
	warnings_are(&c, "");
	FAILS("{'mcpServers': {'a': {'httpUrl': 'https://x', 'required': true}}}",
	      "mcp.json:1: server 'a' is required, but it is remote (url) and killick starts "
	      "only stdio servers");
	FAILS("{'mcpServers': {'a': {'type': 'stdio', 'url': 'https://x'}}}",
	      "mcp.json:1: server 'a': 'command' is missing");
}

TEST(config_a_server_with_a_url_and_a_command_needs_a_type)
{
	AUTO(config_done)
	struct config c = good("{'mcpServers': {'a': {'command': 'a', 'type': 'stdio', 'url': "
			       "'http://x'}, 'b': {'command': 'b', 'url': 'http://x', 'disabled': "
			       "true}, 'c': {'command': 'c', 'transport': 'http', 'url': "
			       "'http://x'}}}");

	OK(!c.servers[0].disabled && !c.servers[0].problem);
	OK(c.servers[1].disabled && !c.servers[1].problem);
	OK(c.servers[2].remote);
	REFUSED_ONE("'httpUrl': 'http://x'",
		    "the server has a 'httpUrl' and a 'command', and clients disagree about which "
		    "one they use: remove one, or set 'type' to 'stdio'");
}

TEST(config_disabled_servers_need_no_variables)
{
	AUTO(config_done)
	struct config c =
		good("{'mcpServers': {'a': {'disabled': true}, 'b': {'enabled': false, "
		     "'command': 'b', 'args': ['${NONE}'], 'env': {'K': '${input:k}'}}}}");

	OK(c.servers[0].disabled && c.servers[1].disabled);
	list_is(c.servers[0].recipe.argv, "");
	list_is(c.servers[1].recipe.argv, "b|${NONE}");
	FAILS("{'mcpServers': {'b': {'disabled': true, 'command': 1}}}",
	      "mcp.json:1: server 'b': 'command' must be a string, found a number; the arguments "
	      "go into 'args'");
}

TEST(config_environment_is_small_and_sorted)
{
	static char *most[] = { "USER=u",         "TZ=UTC",        "TMPDIR=/t",
				"TERM=xterm",     "SHELL=/bin/sh", "PATH=/p",
				"LOGNAME=u",      "LC_ALL=C",      "LANG=C",
				"HOME=/h",        "AWS_SECRET=1",  "PWD=/x",
				"NODE_OPTIONS=x", "noequals",      NULL };
	static char *nothing[] = { "PATH=", NULL };
	struct config_source src = { .environ_ = most };
	const char *text = "{'servers': {'x': {'command': 'x'}}}";
	AUTO(config_done) struct config c = { .count = 0 };
	AUTO(config_done) struct config d = { .count = 0 };
	AUTO(config_done) struct config f = { .count = 0 };

	EQ(parse_from(text, &src, &c), 0);
	list_is(c.servers->recipe.envp, "HOME=/h|LANG=C|LC_ALL=C|LOGNAME=u|PATH=/p|SHELL=/bin/"
					"sh|TERM=xterm|TMPDIR=/t|TZ=UTC|USER=u");
	src.environ_ = nothing;
	EQ(parse_from(text, &src, &d), 0);
	list_is(d.servers->recipe.envp, "PATH=/usr/local/bin:/usr/bin:/bin");
	src.environ_ = NULL;
	EQ(parse_from(text, &src, &f), 0);
	list_is(f.servers->recipe.envp, "PATH=/usr/local/bin:/usr/bin:/bin");
}

/* Behind the proxy of a company, servers and npx need them. */
TEST(config_passes_variables_for_proxies_and_certificates_on_this_machine)
{
	static char *set[] = { "HTTPS_PROXY=http://p",
			       "no_proxy=.corp",
			       "SSL_CERT_FILE=/ca",
			       "NODE_EXTRA_CA_CERTS=/extra",
			       "NPM_TOKEN=1",
			       "PATH=/p",
			       NULL };
	struct config_source src = { .environ_ = set };
	AUTO(config_done) struct config c = { .count = 0 };

	EQ(parse_from("{'environments': {'far': {'url': 'ws://h:1'}}, 'mcpServers': {'x': "
		      "{'command': 'x'}, 'y': {'command': 'y', 'environment': 'far', 'cwd': '/', "
		      "'env': {'K': 'v'}}}}",
		      &src, &c),
	   0);
	list_is(c.servers[0].recipe.envp, "HTTPS_PROXY=http://p|NODE_EXTRA_CA_CERTS=/extra|PATH=/p|"
					  "SSL_CERT_FILE=/ca|no_proxy=.corp");
	list_is(c.servers[1].recipe.envp, "K=v");
}

TEST(config_env_wins_over_names_and_names_over_defaults)
{
	AUTO(config_done)
	struct config c = one("'envVars': ['FUNC', 'SHELL', 'TOKEN', 'TOKEN', 'NOWHERE'], 'env': "
			      "{'TOKEN': 'mine', 'HOME': '', 'PATH': '/p', 'A': 'a=b', 'AB': ''}");

	list_is(c.servers->recipe.envp,
		"A=a=b|AB=|FUNC=() { :; }|HOME=|LANG=C.UTF-8|PATH=/p|SHELL=() { "
		":; }|TOKEN=mine|USER=me");
}

TEST(config_home_is_needed_for_a_tilde)
{
	static char *none[] = { "PATH=/bin", NULL };
	struct config_source src = { .environ_ = none };
	const char *text = "{'servers': {'x': {'command': '~/x'}}}";
	struct config c;
	AUTO(config_done)
	struct config d = one("'args': ['~/a'], 'cwd': '~other/x', 'stderr': '~'");

	EQ(parse_from(text, &src, &c), 0);
	STREQ(c.servers->problem,
	      "config:1: server 'x': 'command': '~' needs HOME, which is not set");
	config_done(&c);
	list_is(d.servers->recipe.argv, "x|~/a"); /* arguments are the server's own */
	STREQ(d.servers->recipe.cwd, "~other/x");
	STREQ(d.servers->stderr_file, "/home/me");
}

/* --- fingerprints --- */

static void print_of(const char *members, char out[FINGERPRINT_SIZE])
{
	AUTO(config_done) struct config c = one(members);

	memcpy(out, c.servers->fingerprint, FINGERPRINT_SIZE);
}

TEST(config_fingerprints_differ_for_different_processes)
{
	static const char *const members[] = {
		"",
		"'args': ['']",
		"'args': ['ab']",
		"'args': ['a', 'b']",
		"'args': ['HOME=/home/me']",
		"'env': {'A': ''}",
		"'env': {'A': 'b'}",
		"'env': {'AB': ''}",
		"'envVars': ['TOKEN']",
		"'cwd': '/'",
		"'environment': '/'",
		"'limits': {'maxProcs': 1}",
		"'limits': {'memory': 1}",
		"'limits': {'maxProcs': 11}",
		"'limits': {'maxProcs': 1, 'memory': 1}",
		"'contain': 'group'",
		"'contain': 'keeper'",
	};
	enum { N = sizeof(members) / sizeof(members[0]) };
	char prints[N][FINGERPRINT_SIZE];

	for (int i = 0; i < N; i++) {
		print_of(members[i], prints[i]);
		EQ(strspn(prints[i], "0123456789abcdef"), 64);
		for (int k = 0; k < i; k++)
			OK(strcmp(prints[i], prints[k]) != 0);
	}
}

TEST(config_fingerprints_are_equal_for_equal_processes)
{
	static const char *const members[] = {
		"",
		"'args': []",
		"'env': {'USER': 'me', 'HOME': '${HOME}'}",
		"'envVars': ['USER'], 'contain': 'auto', 'environment': 'local'",
		"'toolTimeoutSec': 1, 'startupTimeoutSec': 1, 'required': true",
		"'share': 'identical', 'enabledTools': [], 'disabledTools': ['a']",
		"'restart': 'never', 'cwd': '', 'limits': {}",
	};
	char first[FINGERPRINT_SIZE], other[FINGERPRINT_SIZE];

	print_of(members[0], first);
	for (size_t i = 1; i < sizeof(members) / sizeof(members[0]); i++) {
		print_of(members[i], other);
		STREQ(other, first);
	}
}

/* --- sizes --- */

/* A text of `head`, count times `each` (with %d) with commas between, and `tail`. */
static char *many(const char *head, const char *each, int count, const char *tail)
{
	size_t room = strlen(head) + strlen(tail) + (size_t)count * (strlen(each) + 16) + 1;
	char *text = mem_grow(NULL, room, 1);
	size_t len = (size_t)snprintf(text, room, "%s", head);

	for (int i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, room - len, each, i ? ", " : "", i);
	snprintf(text + len, room - len, "%s", tail);
	return text;
}

TEST(config_of_a_thousand_servers_and_no_more)
{
	const char *each = "%s\n's%d': {'command': 'x', 'huh': 1}";
	AUTO(mem_drop) char *fits = many("{'mcpServers': {", each, 1000, "}}");
	AUTO(mem_drop) char *too_many = many("{'mcpServers': {", each, 1001, "}}");
	AUTO(config_done) struct config c = good(fits);

	EQ(c.count, 1000);
	EQ(c.servers[999].line, 1001);
	EQ(c.warning_count, 1000);
	REFUSED(too_many, "mcp.json:1: 1001 servers; at most 1000 are possible");
}

TEST(config_of_long_strings)
{
	size_t len = CONFIG_STRING_MAX;
	AUTO(mem_drop) char *text = mem_grow(NULL, len + 100, 1);
	size_t at = (size_t)snprintf(text, 100, "{'servers': {'x': {'command': '");

	memset(text + at, 'x', len);
	memcpy(text + at + len, "'}}}", 5);
	AUTO(config_done) struct config c = good(text);
	EQ(strlen(c.servers->recipe.argv[0]), len);
	memcpy(text + at + len, "x'}}}", 6);
	FAILS(text, "mcp.json:1: server 'x': 'command' has more than 131071 bytes");
}

TEST(config_all_strings_together_have_a_limit, .timeout_ms = 60000)
{
	static char big[100100] = "BIG=";
	static char *with[] = { big, NULL };
	AUTO(mem_drop)
	char *text = many("{'servers': {'x': {'command': 'x', 'args': [", "%s'${BIG}%d'", 1000,
			  "]}, 'y': {'command': 'y', 'args': ['${BIG}']}}}");
	AUTO(mem_drop)
	char *names = many("{'servers': {'x': {'command': 'x', 'envVars': [",
			   "%s{'name': 'BIG', 'x': %d}", 1000, "]}}}");
	struct config_source src = { .environ_ = with };
	struct config c;

	memset(big + 4, 'b', sizeof(big) - 5);
	EQ(parse_from(text, &src, &c), 0);
	STREQ(c.servers->problem,
	      "config:1: server 'x': the strings of the config have more than 67108864 bytes");
	OK(!c.servers[1].problem); /* what the first one took is free again */
	config_done(&c);
	EQ(parse_from(names, &src, &c), 0);
	STREQ(c.servers->problem,
	      "config:1: server 'x': the strings of the config have more than 67108864 bytes");
	config_done(&c);
}

/* --- files and commands --- */

static char path[64];

static void write_file(const char *text, size_t len)
{
	AUTO(fd_drop) int fd = -1;

	snprintf(path, sizeof(path), "/tmp/killick-config-XXXXXX");
	fd = mkstemp(path);
	OK(fd >= 0);
	EQ(write(fd, text, len), len);
}

TEST(config_is_read_from_a_file)
{
	const char *text = "{\"servers\": {\"a\": {\"command\": \"${TOKEN}\"}}}";
	AUTO(config_done) struct config c = { .count = 0 };
	char sentence[240];

	write_file(text, strlen(text));
	EQ(config_read(path, env, &c, &e), 0);
	STREQ(c.servers->recipe.argv[0], "s3cret");
	unlink(path);
	EQ(config_read(path, env, &c, &e), -ENOENT);
	snprintf(sentence, sizeof(sentence), "cannot read config '%s': No such file or directory",
		 path);
	STREQ(e.text, sentence);
	EQ(config_read("/tmp", env, &c, &e), -EISDIR);
	write_file("{\n1", 3);
	EQ(config_read(path, env, &c, &e), -EINVAL);
	EQ(strncmp(e.text, path, strlen(path)), 0);
	EQ(strncmp(e.text + strlen(path), ":2: ", 4), 0);
	unlink(path);
	write_file("", 0);
	EQ(config_read(path, env, &c, &e), -EINVAL);
	unlink(path);
}

TEST(config_files_have_a_limit)
{
	size_t len = CONFIG_FILE_MAX;
	AUTO(mem_drop) char *text = mem_grow(NULL, len + 1, 1);
	struct config_source src = { .environ_ = NULL };
	AUTO(config_done) struct config c = { .count = 0 };

	memset(text, ' ', len + 1);
	memcpy(text, "{\"servers\": {}}", 15);
	write_file(text, len);
	EQ(config_read(path, env, &c, &e), 0);
	unlink(path);
	config_done(&c);
	write_file(text, len + 1);
	EQ(config_read(path, env, &c, &e), -EFBIG);
	unlink(path);
	EQ(config_parse(text, len + 1, &src, &c, &e), -EINVAL);
	STREQ(e.text, "config: the config has more than 16777216 bytes");
}

TEST(config_of_a_command)
{
	static char *argv[] = { "./server", "${TOKEN}", "", NULL };
	static char *empty[] = { "", NULL };
	AUTO(config_done) struct config c = { .count = 0 };
	AUTO(config_done)
	struct config same =
		good("{'servers': {'other': {'command': './server', 'args': ['$${TOKEN}', '']}}}");

	EQ(config_command("server", argv, env, &c, &e), 0);
	EQ(c.count, 1);
	STREQ(c.servers->name, "server");
	list_is(c.servers->recipe.argv, "./server|${TOKEN}|");
	list_is(c.servers->recipe.envp, DEFAULT_ENV);
	EQ(c.servers->startup_ms, 30000);
	EQ(c.servers->tool_ms, 300000);
	STREQ(c.servers->fingerprint, same.servers->fingerprint);
	warnings_are(&c, "");
	EQ(config_command("server", argv + 3, env, &same, &e), -EINVAL);
	STREQ(e.text, "command: there is no program to start");
	EQ(config_command("server", empty, env, &same, &e), -EINVAL);
	EQ(config_command("", argv, env, &same, &e), -EINVAL);
	EQ(config_command("a\nb", argv, env, &same, &e), -EINVAL);
	STREQ(e.text, "command: a server's name is printable and has 1 to 63 bytes");
}

TEST(config_done_may_be_called_twice)
{
	struct config c = one("'args': ['a']"), zero = { .count = 0 };

	config_done(&c);
	config_done(&c);
	EQ(c.count, 0);
	config_done(&zero);
}

/* --- expand by itself --- */

TEST(expand_stops_at_the_limit_of_its_buffer)
{
	AUTO(buf_done) struct buf b = BUF_INIT(5);

	EQ(expand("${TOKEN}", env, &b, &e), -EMSGSIZE);
	buf_reset(&b, 0);
	EQ(expand("abcde", env, &b, &e), 0);
	STREQ(b.data, "abcde");
	EQ(expand("", env, &b, &e), 0);
	EQ(expand("$", env, &b, &e), -EMSGSIZE);
	buf_reset(&b, 0);
	EQ(expand_path("~", env, &b, &e), -EMSGSIZE);
}

TEST(expand_looks_up_whole_names)
{
	STREQ(expand_lookup(env, "TOKEN", 5), "s3cret"); /* the first one, as getenv does */
	OK(!expand_lookup(env, "TOKE", 4));
	OK(!expand_lookup(env, "TOKENS", 6));
	STREQ(expand_lookup(env, "TOKENS", 5), "s3cret");
	STREQ(expand_lookup(env, "EMPTY", 5), "");
	OK(!expand_lookup(NULL, "A", 1));
}

TEST(config_errors_of_one_server_leave_the_others)
{
	AUTO(config_done)
	struct config c = good("{'mcpServers': {'a': {'command': 'x', 'args': ['${NONE}'], "
			       "'required': true},\n'b': {'command': 'y'},\n"
			       "'c': {'command': 'z', 'env': {'K': '${input:key}'}}, 'd': 7,\n"
			       "'b2': {'command': 'y', 'command': 'z', 'disabled': true}}}");

	EQ(c.count, 5);
	OK(c.servers[0].refused && c.servers[0].required);
	OK(strstr(c.servers[0].problem, "mcp.json:1: server 'a': 'args': variable 'NONE'"));
	OK(!c.servers[1].problem && !c.servers[1].refused);
	list_is(c.servers[1].recipe.argv, "y");
	OK(strstr(c.servers[2].problem, "mcp.json:3: server 'c': 'env.K': ${input:key} asks"));
	OK(c.servers[3].refused && strcmp(c.servers[3].name, "d") == 0);
	OK(c.servers[4].refused);
}

TEST(config_names_that_cannot_be_used_fail_under_a_shown_name)
{
	AUTO(config_done)
	struct config c =
		good("{'mcpServers': {'': {'command': 'x'}, 'a\\u001b': {'command': 'x'}, "
		     "'ok': {'command': 'x'}}}");

	EQ(c.count, 3);
	STREQ(c.servers[0].name, "?");
	STREQ(c.servers[1].name, "a?");
	OK(c.servers[0].refused && c.servers[1].refused && !c.servers[2].refused);
}

TEST(config_of_launchers)
{
	static const struct {
		const char *members;
		int startup_ms, idle_ms;
	} cases[] = {
		{ "'command': '/usr/bin/npx', 'args': ['-y', 'x']", 180000, 30000 },
		{ "'command': 'uvx'", 180000, 30000 },
		{ "'command': 'bunx'", 180000, 30000 },
		{ "'command': 'pipx', 'args': ['run', 'x']", 180000, 30000 },
		{ "'command': 'docker', 'args': ['run', 'x']", 180000, 30000 },
		{ "'command': 'podman'", 180000, 30000 },
		{ "'command': 'npm', 'args': ['exec', 'x']", 180000, 30000 },
		{ "'command': 'pnpm', 'args': ['dlx', 'x']", 180000, 30000 },
		{ "'command': 'yarn', 'args': ['dlx', 'x']", 180000, 30000 },
		{ "'command': 'killick', 'args': ['run', '--', 'npx', 'x']", 180000, 30000 },
		{ "'command': 'npm', 'args': ['start']", 30000, 0 },
		{ "'command': 'yarn'", 30000, 0 },
		{ "'command': 'killick', 'args': ['run', '--', 'x']", 30000, 0 },
		{ "'command': 'killick', 'args': ['run', '--']", 30000, 0 },
		{ "'command': 'npx', 'startupTimeoutSec': 5", 5000, 0 },
		{ "'command': 'npx', 'startup_timeout_ms': 5", 5, 0 },
		{ "'command': 'npx', 'startupIdleSec': 2", 180000, 2000 },
		{ "'command': 'x', 'startupIdleSec': 2", 30000, 2000 },
		{ "'command': 'x', 'startupIdleSec': 2, 'startupTimeoutSec': 9", 9000, 2000 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[512];

		snprintf(text, sizeof(text), "{'mcpServers': {'x': {%s}}}", cases[i].members);
		AUTO(config_done) struct config c = good(text);

		if (c.servers->startup_ms != cases[i].startup_ms ||
		    c.servers->idle_ms != cases[i].idle_ms)
			FAIL("%s: %d, %d", text, (int)c.servers->startup_ms,
			     (int)c.servers->idle_ms);
		config_set_startup(&c, 7);
		OK(c.servers->startup_ms == 7 && c.servers->idle_ms == 0);
	}
	REFUSED_ONE("'startupIdleSec': 0", "'startupIdleSec' " NO_TIME);
}

TEST(config_commands_with_arguments_in_them_are_explained)
{
	static char *here[] = { "PATH=.", NULL };
	struct config_source src = { .file = "mcp.json", .environ_ = here };
	struct config c;

	FAILS("{'mcpServers': {'x': {'command': 'npx -y foo'}}}",
	      "mcp.json:1: server 'x': there is no program 'npx -y foo'; arguments go into 'args': "
	      "write \"command\": \"npx\", \"args\": [\"-y\", \"foo\"]");
	FAILS("{'mcpServers': {'x': {'command': '/no such dir/x'}}}",
	      "mcp.json:1: server 'x': there is no program '/no such dir/x'; arguments go into "
	      "'args': write \"command\": \"/no\", \"args\": [\"such\", \"dir/x\"]");
	/* a program whose name has a space */
	OK(chdir(t_audit.dir) == 0);
	close(open("a program", O_CREAT | O_WRONLY | O_CLOEXEC, 0700));
	EQ(parse_from("{'mcpServers': {'x': {'command': 'a program'}}}", &src, &c), 0);
	OK(!c.servers->problem);
	config_done(&c);
}
