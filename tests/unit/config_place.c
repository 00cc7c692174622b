/* config_place.c - environments of a config, and what is placed in them: never anywhere else. */
#include "config/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../t.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/strings.h"

static char *env[] = { "HOME=/home/me",       "PATH=/bin",          "USER=me",  "TOKEN=s3cret",
		       "SSH_AUTH_SOCK=/a/b",  "SPACED=two words",   "EMPTY=",   "WHERE=far.example",
		       "LD_PRELOAD=/evil.so", "LINES=a\r\nHost: b", "SHELL=sh", NULL };
static struct err e;

/* Texts have ' for ", which is easier to read. */
static int parse(const char *text, struct config *out)
{
	struct config_source src = { .file = "mcp.json", .environ_ = env };
	char *copy = mem_text(text, strlen(text));
	int r;

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	e = (struct err)ERR_INIT;
	r = config_parse(copy, strlen(copy), &src, out, &e);
	free(copy);
	return r;
}

static struct config good(const char *text)
{
	struct config c;

	if (parse(text, &c) < 0)
		FAIL("refused: %s", e.text);
	return c;
}

/* Environment 'far' with these members and server 'x' with those. */
static struct config both(const char *place, const char *server)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "{'environments': {\n'far': {%s}},\n'mcpServers': {'x': {'command': 'x', %s}}}",
		 place, server);
	return good(text);
}

#define REFUSED(text_, sentence_)                                                                  \
	do {                                                                                       \
		struct config c_ = { .count = 4711 };                                              \
		EQ(parse(text_, &c_), -EINVAL);                                                    \
		EQ(c_.count, 4711);                                                                \
		STREQ(e.text, sentence_);                                                          \
	} while (0)
/* Of environment 'far', on line 2. */
#define REFUSED_PLACE(members_, sentence_)                                                         \
	REFUSED("{'environments': {\n'far': {" members_ "}}, 'mcpServers': {}}",                   \
		"mcp.json:2: environment 'far': " sentence_)

static void list_is(char *const *list, const char *joined)
{
	char text[4096] = "";
	size_t len = 0;

	for (; list && *list; list++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? "|" : "",
					*list);
	STREQ(text, joined);
}

static void warnings_are(const struct config *c, const char *joined)
{
	char **texts = NULL;

	for (size_t i = 0; i < c->warning_count; i++)
		strings_add(&texts, mem_dup(c->warnings[i].text));
	list_is(texts, joined);
	strings_free(texts);
}

#define PLACED "'environment': 'far', 'cwd': '/srv'"
#define URL    "'url': 'ws://127.0.0.1:4711'"

/* --- environments --- */

TEST(places_by_url_ssh_and_program)
{
	AUTO(config_done)
	struct config c = good(
		"{'environments': {"
		"'a': {'url': 'wss://${WHERE}:8443/x?y=1', 'tokenEnv': 'TOKEN', 'caFile': '~/ca'},"
		"'b': {'ssh': 'me@host', 'args': ['-p', '22'], 'killick': '~/bin/kil lick'},"
		"'c': {'program': ['~/bin/go', '~/x', '${USER}'], 'env': {'K': '${TOKEN}'}},"
		"'d': {'url': 'unix:/run/x'}}, 'mcpServers': {}}");

	EQ(c.place_count, 4);
	warnings_are(&c, "");
	STREQ(c.places[0].url, "wss://far.example:8443/x?y=1");
	STREQ(c.places[0].token, "s3cret");
	STREQ(c.places[0].ca_file, "/home/me/ca");
	OK(!c.places[0].program && !c.places[0].problem);
	list_is(c.places[1].program,
		"ssh|-p|22|-T|-oBatchMode=yes|-oServerAliveInterval=5|-oServerAliveCountMax=3|--|"
		"me@host|~/'bin/kil lick' exec-server --listen stdio --quiet");
	STREQ(c.places[1].far_killick, "~/'bin/kil lick'");
	OK(!c.places[1].url);
	list_is(c.places[2].program, "/home/me/bin/go|~/x|me");
	list_is(c.places[2].program_env,
		"HOME=/home/me|K=s3cret|PATH=/bin|SHELL=sh|SSH_AUTH_SOCK=/a/b|USER=me");
	STREQ(c.places[3].url, "unix:/run/x");
	for (size_t i = 0; i < 4; i++) {
		OK(config_place_find(&c, c.places[i].name) == &c.places[i]);
		EQ(strlen(c.places[i].fingerprint), 64);
		for (size_t k = 0; k < i; k++)
			OK(strcmp(c.places[i].fingerprint, c.places[k].fingerprint) != 0);
	}
	OK(!config_place_find(&c, "e"));
}

TEST(places_are_quoted_for_the_far_shell)
{
	static const struct {
		const char *killick, *line;
	} cases[] = {
		{ "killick", "killick" }, { "/opt/k-1.0/bin/killick", "/opt/k-1.0/bin/killick" },
		{ "a;b", "'a;b'" },       { "it\\u0027s", "'it'\\''s'" },
		{ "~", "'~'" },           { "~you/k", "'~you/k'" },
		{ "~/k", "~/k" },         { "$(x)", "'$(x)'" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char members[100];

		snprintf(members, sizeof(members), "'ssh': 'h', 'killick': '%s'", cases[i].killick);
		AUTO(config_done) struct config c = both(members, PLACED);
		STREQ(c.places->far_killick, cases[i].line);
	}
}

TEST(places_that_are_wrong_refuse_the_config)
{
	REFUSED("{'environments': [], 'mcpServers': {}}",
		"mcp.json:1: 'environments' must be an object, found an array");
	REFUSED("{'environments': {}, 'mcpServers': {}, 'environments': {}}",
		"mcp.json:1: 'environments' occurs twice");
	REFUSED("{'environments': {'a': {" URL "}, 'a': {" URL "}}, 'mcpServers': {}}",
		"mcp.json:1: the environment 'a' occurs twice");
	REFUSED("{'environments': {'local': {" URL "}}, 'mcpServers': {}}",
		"mcp.json:1: environment 'local' is this machine and cannot be defined");
	REFUSED("{'environments': {'a:b': {" URL "}}, 'mcpServers': {}}",
		"mcp.json:1: environment 'a:b': a name is printable, has 1 to 63 bytes and no ':'");
	REFUSED("{'environments': {'a': 1}, 'mcpServers': {}}",
		"mcp.json:1: environment 'a': an environment must be an object, found a number");
	REFUSED_PLACE("'ssh': 'h', 'program': ['x']",
		      "'ssh' and 'program' exclude each other; keep one");
	REFUSED_PLACE(URL ", 'args': ['x']", "'args' cannot be used with 'url'");
	REFUSED_PLACE("'program': ['x'], 'tokenEnv': 'T'",
		      "'tokenEnv' cannot be used with 'program'");
	REFUSED_PLACE(URL ", " URL, "'url' occurs twice");
	REFUSED_PLACE("'program': 'x'", "'program' must be an array of strings, found a string");
	REFUSED_PLACE("'program': []", "'program' is empty");
	REFUSED_PLACE("'program': ['${EMPTY}']", "'program' is empty");
	REFUSED_PLACE("'ssh': ''", "'ssh': the host is missing");
	REFUSED_PLACE("'ssh': '-oProxyCommand=x'",
		      "'ssh': a host that begins with '-' would be an option of ssh");
	REFUSED_PLACE("'ssh': 'a b'", "'ssh': a host has only printable characters and no spaces");
	REFUSED_PLACE("'ssh': 'a', 'killick': '-x'", "'killick' cannot begin with '-'");
	REFUSED_PLACE("'ssh': 'a', 'args': [1]",
		      "'args' must be an array of strings, found a number");
	REFUSED_PLACE("'url': 'ws://far.example:1', 'tokenEnv': 'TOKEN'",
		      "'url': the token would be sent unencrypted; use wss://, "
		      "or set '\"insecure\": true'");
	REFUSED_PLACE("'url': 'ws://127.0.0.1:1', 'caFile': '/x'",
		      "'url': 'caFile' works with wss:// only");
	REFUSED_PLACE("'url': 'ws://127.0.0.1:1', 'insecure': 1",
		      "'insecure' must be true or false, found a number");
	REFUSED_PLACE("'url': '${NOT}'",
		      "'url': variable 'NOT' is not set; set it, or write ${NOT:-} to do without");
}

TEST(places_with_an_invalid_url_are_refused)
{
	static const char *const urls[] = { "",      "http://x", "stdio", "ws://", "ws://u:p@h:1",
					    "unix:", "/x" };

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct config c;
		char text[200];

		snprintf(text, sizeof(text),
			 "{'environments': {'far': {'url': '%s'}}, 'mcpServers': {}}", urls[i]);
		EQ(parse(text, &c), -EINVAL);
		OK(strstr(e.text, "mcp.json:1: environment 'far': 'url': "));
	}
}

TEST(places_take_a_token_where_it_is_safe)
{
	static const char *const urls[] = {
		"'url': 'ws://127.0.0.1:1'",  "'url': 'ws://[::1]:1'",
		"'url': 'ws://localhost:1'",  "'url': 'unix:/x'",
		"'url': 'wss://far.example'", "'url': 'ws://far.example:1', 'insecure': true"
	};

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		char members[200];

		snprintf(members, sizeof(members), "%s, 'tokenEnv': 'TOKEN'", urls[i]);
		AUTO(config_done) struct config c = both(members, PLACED);
		STREQ(c.servers->place->token, "s3cret");
	}
}

TEST(places_warn_of_unknown_keys)
{
	AUTO(config_done) struct config c = both(URL ", 'color': 1", PLACED);

	warnings_are(&c, "mcp.json:2: environment 'far': key 'color' is not known and not used");
}

/* --- servers --- */

TEST(placed_servers_get_the_named_variables)
{
	AUTO(config_done)
	struct config c = both(
		URL, "'environment': 'far', 'cwd': '/srv/${USER}', 'args': ['~/x'], "
		     "'env': {'K': '${TOKEN}'}, 'envVars': ['USER', {'name': 'SHELL', 'source': "
		     "'local'}, {'name': 'LICENSE', 'source': 'remote'}, {'name': 'DISPLAY', "
		     "'source': 'remote'}, 'NOT_SET'], 'stderr': '~/log'");
	struct config_server *s = c.servers;

	STREQ(s->recipe.environment, "far");
	OK(s->place && !s->problem);
	STREQ(s->place->url, "ws://127.0.0.1:4711");
	STREQ(s->place->fingerprint, c.places->fingerprint);
	STREQ(s->recipe.cwd, "/srv/me");
	list_is(s->recipe.argv, "x|~/x");
	list_is(s->recipe.envp, "K=s3cret|SHELL=sh|USER=me"); /* no default variable crosses */
	list_is(s->recipe.remote_names, "LICENSE|DISPLAY");
	STREQ(s->stderr_file, "/home/me/log"); /* that is here */
}

TEST(placed_servers_keep_their_home)
{
	AUTO(config_done)
	struct config c = good("{'environments': {'far': {" URL "}}, 'mcpServers': {'x': "
			       "{'command': '~/bin/x', 'environment': 'far', 'cwd': '/'}}}");

	list_is(c.servers->recipe.argv, "~/bin/x"); /* not ours */
	list_is(c.servers->recipe.envp, "");
}

#define PROBLEM(text_, why_)                                                                       \
	do {                                                                                       \
		AUTO(config_done) struct config c_ = good(text_);                                  \
		OK(c_.servers->recipe.environment && !c_.servers->place);                          \
		STREQ(c_.servers->problem, "server 'x' is placed in environment 'far' and cannot " \
					   "be started: " why_);                                   \
	} while (0)
#define SERVER(members_) "'mcpServers': {'x': {'command': 'x', 'environment': 'far', " members_ "}}"

TEST(servers_that_cannot_be_placed_are_not_started_here)
{
	PROBLEM("{" SERVER("'cwd': '/'") "}", "the config has no 'environments'");
	PROBLEM("{'environments': null, " SERVER("'cwd': '/'") "}",
		"the config has no 'environments'");
	PROBLEM("{'environments': {'a': {" URL "}, 'b': {" URL "}}, " SERVER("'cwd': '/'") "}",
		"the config does not define this environment; it defines 'a', 'b'");
	PROBLEM("{" SERVER("'cwd': '/'") ", 'environments': {'far': {}}}",
		"'url', 'ssh' and 'program' are missing; give one of them");
	PROBLEM("{" SERVER("'cwd': '/'") ", 'environments': {'far': null}}",
		"'url', 'ssh' and 'program' are missing; give one of them");
	PROBLEM("{" SERVER("'cwd': '/'") ", 'environments': {'far': {" URL
					 ", 'tokenEnv': 'EMPTY'}}}",
		"variable 'EMPTY', which must have the token, is not set");
	PROBLEM("{" SERVER("'cwd': '/'") ", 'environments': {'far': {" URL
					 ", 'tokenEnv': 'LINES'}}}",
		"the token in variable 'LINES' has spaces, or characters that are not ASCII");
	PROBLEM("{" SERVER("'args': []") ", 'environments': {'far': {" URL "}}}",
		"'cwd' is missing; give the working directory on that machine");
	PROBLEM("{" SERVER("'cwd': '~/x'") ", 'environments': {'far': {" URL "}}}",
		"'cwd' must be an absolute path on that machine, not '~/x'");
	PROBLEM("{" SERVER("'cwd': './x'") ", 'environments': {'far': {" URL "}}}",
		"'cwd' must be an absolute path on that machine, not './x'");
	PROBLEM("{" SERVER("'cwd': 'C:x'") ", 'environments': {'far': {" URL "}}}",
		"'cwd' must be an absolute path on that machine, not 'C:x'");
	PROBLEM("{" SERVER("'cwd': 'file:///a%2'") ", 'environments': {'far': {" URL "}}}",
		"'cwd' must be an absolute path on that machine, not 'file:///a%2'");
}

TEST(placed_servers_may_have_directories_of_windows)
{
	static const char *const dirs[] = {
		"C:\\\\a b",           "C:/x",       "\\\\\\\\server\\\\share", "file:///C:/a%20b",
		"file://server/share", "file:///srv"
	};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		char text[300];

		snprintf(text, sizeof(text),
			 "{'environments': {'far': {" URL
			 "}}, 'mcpServers': {'x': {'command': 'x', "
			 "'environment': 'far', 'cwd': '%s'}}}",
			 dirs[i]);
		AUTO(config_done) struct config c = good(text);

		OK(!c.servers->problem);
		EQ(path_kind(c.servers->recipe.cwd), *dirs[i] == 'f' ? PATH_URL : PATH_WINDOWS);
	}
}

TEST(a_server_that_cannot_be_placed_does_not_affect_the_others)
{
	AUTO(config_done)
	struct config c = good("{'mcpServers': {'x': {'command': 'x', 'environment': 'far'}, 'y': "
			       "{'command': 'y'}}}");

	OK(c.servers[0].problem);
	OK(!c.servers[1].problem && !c.servers[1].recipe.environment);
}

TEST(placed_servers_name_variables_and_no_patterns)
{
	AUTO(config_done)
	struct config c = good("{'environments': {'far': {" URL
			       "}},\n'mcpServers': {'x': {'command': 'x', " PLACED
			       ", 'envVars': [{'name': 'A*', 'source': 'remote'}]}}}");

	OK(c.servers->refused);
	STREQ(c.servers->problem,
	      "mcp.json:2: server 'x': 'envVars': 'A*' cannot be the name of a variable");
}

TEST(placed_servers_have_the_fingerprint_of_their_place)
{
	static const struct {
		const char *place, *server;
	} cases[] = {
		{ URL, "'cwd': '/srv'" },
		{ URL, PLACED },
		{ "'url': 'ws://127.0.0.1:4712'", PLACED },
		{ URL ", 'tokenEnv': 'TOKEN'", PLACED },
		{ "'ssh': 'h'", PLACED },
		{ "'ssh': 'h', 'args': ['-4']", PLACED },
		{ "'program': ['h']", PLACED },
		{ "'program': ['h'], 'env': {'A': 'b'}", PLACED },
		{ URL, PLACED ", 'envVars': [{'name': 'A', 'source': 'remote'}]" },
		{ URL, PLACED ", 'envVars': ['USER']" },
	};
	enum { N = sizeof(cases) / sizeof(cases[0]) };
	char prints[N][FINGERPRINT_SIZE];

	for (int i = 0; i < N; i++) {
		AUTO(config_done) struct config c = both(cases[i].place, cases[i].server);

		memcpy(prints[i], c.servers->fingerprint, FINGERPRINT_SIZE);
		for (int k = 0; k < i; k++)
			OK(strcmp(prints[i], prints[k]) != 0);
	}
}

/* The room of a config is for the copies, too. */
TEST(the_number_of_places_is_limited)
{
	size_t len = 0, room = 2u << 20;
	char *text = mem_grow(NULL, room, 1);
	struct config c;

	len += (size_t)snprintf(text, room, "{'environments': {'far': {'program': ['");
	memset(text + len, 'a', 100000);
	len += 100000;
	len += (size_t)snprintf(text + len, room - len, "']}}, 'mcpServers': {");
	for (int i = 0; i < 1000; i++)
		len += (size_t)snprintf(text + len, room - len,
					"%s'x%d': {'command': 'x', " PLACED "}", i ? "," : "", i);
	snprintf(text + len, room - len, "}}");
	EQ(parse(text, &c), 0);
	OK(!c.servers[0].problem);
	OK(strstr(c.servers[999].problem, "the strings of the config have more than"));
	config_done(&c);
	free(text);
}

/* --- without a config --- */

static int from(const char *text, const char *token_env, struct config_place *out)
{
	return config_place_from(&(struct config_way){ text, token_env }, env, out, &e);
}

TEST(places_from_a_url_or_ssh_host)
{
	AUTO(config_place_done)
	struct config_place url = { .name = NULL }, ssh = { .name = NULL }, port = { .name = NULL };

	OK(config_place_is_way("ws://h:1") && config_place_is_way("unix:/x"));
	OK(config_place_is_way("ssh:h") && !config_place_is_way("far"));
	EQ(from("ws://far.example:1", NULL, &url), 0);
	STREQ(url.url, "ws://far.example:1");
	STREQ(url.name, "ws://far.example:1");
	OK(!url.program && !url.problem);
	EQ(from("ssh:me@h", NULL, &ssh), 0);
	list_is(ssh.program,
		"ssh|-T|-oBatchMode=yes|-oServerAliveInterval=5|"
		"-oServerAliveCountMax=3|--|me@h|killick exec-server --listen stdio --quiet");
	list_is(ssh.program_env, "HOME=/home/me|PATH=/bin|SHELL=sh|SSH_AUTH_SOCK=/a/b|USER=me");
	EQ(from("ssh://me@h:22", NULL, &port), 0);
	STREQ(port.program[6], "ssh://me@h:22");
}

TEST(places_from_invalid_addresses_are_refused)
{
	struct config_place p;

	EQ(from("ssh:-x", NULL, &p), -EINVAL);
	STREQ(e.text, "'ssh:-x': a host that begins with '-' would be an option of ssh");
	EQ(from("ssh:", NULL, &p), -EINVAL);
	EQ(from("http://x", NULL, &p), -EINVAL);
	EQ(from("ws://far.example:1", "TOKEN", &p), -EINVAL);
	EQ(from("ssh:h", "TOKEN", &p), -EINVAL);
	EQ(from("ws://127.0.0.1:1", "EMPTY", &p), -EINVAL);
	STREQ(e.text,
	      "'ws://127.0.0.1:1': variable 'EMPTY', which must have the token, is not set");
	EQ(from("ws://127.0.0.1:1", "TOKEN", &p), 0);
	STREQ(p.token, "s3cret");
	config_place_done(&p);
}
