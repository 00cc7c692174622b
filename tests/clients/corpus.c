/* corpus.c - see corpus.h */
#include "corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct maker {
	uint64_t state;
	struct buf *out;
	const char *nl;     /* line end; "": all on one line */
	const char *indent; /* of one level */
	bool comments, tight;
	unsigned depth;
};

static uint64_t maker_random(struct maker *m) /* splitmix64 */
{
	uint64_t z = (m->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static unsigned maker_pick(struct maker *m, unsigned n)
{
	return (unsigned)(maker_random(m) % n);
}

static bool maker_chance(struct maker *m, unsigned percent)
{
	return maker_pick(m, 100) < percent;
}

static const char *maker_one(struct maker *m, const char *const *list, size_t count)
{
	return list[maker_pick(m, (unsigned)count)];
}
#define ONE(m_, list_) maker_one(m_, list_, sizeof(list_) / sizeof((list_)[0]))

static void put(struct maker *m, const char *text)
{
	buf_adds(m->out, text);
}

/* Strings as written in JSON; most are also strings of TOML and YAML. */
static const char *const json_commands[] = {
	"\"npx\"",       "\"uvx\"",         "\"/usr/bin/node\"",
	"\"\\u006epx\"", "\"\\/opt\\/x\"",  "\"C:\\\\Program Files\\\\x.exe\"",
	"\"a b\"",       "\"caf\xc3\xa9\"", "\"q\\\"uote\"",
	"\"docker\"",    "\"~/bin/x\"",     "\"${HOME}/bin/x\"",
	"\"sh -c\"",     "\"cat -u\"",
};
static const char *const json_args[] = {
	"\"-y\"",
	"\"--\"",
	"\"run\"",
	"\"killick\"",
	"\"a\\\"b\"",
	"\"\\\\\"",
	"\"\"",
	"\"[]\"",
	"\"//no\"",
	"\"/* no */\"",
	"\"\\ud83d\\ude00\"",
	"\"# no\"",
	"\"x,y\"",
	"\"args\"",
	"\"\xe2\x82\xac\"",
	"\"run -- it\"",
};
static const char *const names[] = { "files",   "github", "a b", "x.y",     "caf\xc3\xa9",
				     "command", "args",   "-",   "server-1" };

/* Space that means nothing: a new line in the depth, or not. */
static void line(struct maker *m)
{
	put(m, m->nl);
	for (unsigned i = 0; *m->nl && i < m->depth; i++)
		put(m, m->indent);
}

static void json_gap(struct maker *m)
{
	static const char *const gaps[] = { "", "", " ", "  ", "\t" };

	if (!m->tight)
		put(m, ONE(m, gaps));
	if (m->comments && maker_chance(m, 8))
		put(m, "/* \"command\": \"no\", */");
	if (m->comments && *m->nl && maker_chance(m, 6)) {
		put(m, "// ] } \"");
		put(m, m->nl);
	}
}

static void json_list(struct maker *m, unsigned count, const char *const *words, size_t words_count)
{
	bool lines = *m->nl && maker_chance(m, 40);

	put(m, "[");
	m->depth++;
	for (unsigned i = 0; i < count; i++) {
		if (lines)
			line(m);
		else
			json_gap(m);
		put(m, maker_one(m, words, words_count));
		json_gap(m);
		if (i + 1 < count)
			put(m, ",");
		else if (m->comments && maker_chance(m, 20))
			put(m, ",");
	}
	m->depth--;
	if (lines)
		line(m);
	else
		json_gap(m);
	put(m, "]");
}
#define JSON_LIST(m_, n_, words_) json_list(m_, n_, words_, sizeof(words_) / sizeof((words_)[0]))

static void json_key(struct maker *m, bool *first, const char *key)
{
	if (!*first)
		put(m, ",");
	*first = false;
	if (*m->nl && maker_chance(m, 85))
		line(m);
	json_gap(m);
	put(m, "\"");
	put(m, key);
	put(m, "\"");
	json_gap(m);
	put(m, ":");
	json_gap(m);
}

static void json_noise(struct maker *m, bool *first)
{
	static const char *const values[] = {
		"{\"command\": \"no\", \"args\": [\"no\"]}",
		"[{\"command\":[\"x\"]},[],{}]",
		"1e3",
		"null",
		"true",
		"\"\\\\\\\"\"",
		"{ }",
	};
	static const char *const keys[] = { "env",         "tools", "timeout",
					    "autoApprove", "trust", "\\u0065nv2" };

	json_key(m, first, ONE(m, keys));
	put(m, ONE(m, values));
}

static void json_close(struct maker *m)
{
	m->depth--;
	if (m->comments && maker_chance(m, 15))
		put(m, ",");
	line(m);
	put(m, "}");
}

/* One server: command and args in a random order, with other members around. */
static void json_words(struct maker *m, bool *first, const char *command)
{
	bool args_first = maker_chance(m, 25), args = maker_chance(m, 75);

	if (args && args_first) {
		json_key(m, first, "args");
		JSON_LIST(m, maker_pick(m, 4), json_args);
	}
	if (maker_chance(m, 30))
		json_noise(m, first);
	json_key(m, first, command);
	put(m, ONE(m, json_commands));
	json_gap(m);
	if (maker_chance(m, 30))
		json_noise(m, first);
	if (args && !args_first) {
		json_key(m, first, "args");
		JSON_LIST(m, maker_pick(m, 4), json_args);
	}
}

static void json_zed_command(struct maker *m, bool *first)
{
	bool inner = true;

	json_key(m, first, "command");
	put(m, "{");
	m->depth++;
	json_words(m, &inner, "path");
	json_close(m);
}

static void json_server(struct maker *m, const char *shape)
{
	bool first = true;
	unsigned kind = maker_pick(m, 10);

	put(m, "{");
	m->depth++;
	if (kind == 0) {
		json_key(m, &first, "url");
		put(m, "\"https://example.com/mcp\"");
	} else if (kind == 1) {
		json_key(m, &first, "disabled");
		put(m, "true");
		json_words(m, &first, "command");
	} else if (strncmp(shape, "opencode", 8) == 0) {
		json_key(m, &first, "type");
		put(m, "\"local\"");
		json_key(m, &first, "command");
		JSON_LIST(m, 1 + maker_pick(m, 4), json_commands);
	} else if (strcmp(shape, "zed-object") == 0) {
		json_zed_command(m, &first);
	} else {
		json_words(m, &first, "command");
	}
	if (maker_chance(m, 40))
		json_noise(m, &first);
	json_close(m);
}

static void json_servers(struct maker *m, const char *shape)
{
	unsigned count = 1 + maker_pick(m, 4);
	bool first = true;

	put(m, "{");
	m->depth++;
	for (unsigned i = 0; i < count; i++) {
		json_key(m, &first, ONE(m, names)); /* names may come twice */
		json_server(m, shape);
	}
	json_close(m);
}

static void json_file(struct maker *m, const char *shape)
{
	static const char *const keys[][2] = {
		{ "mcpServers", "mcpServers" }, { "servers", "servers" },
		{ "zed", "context_servers" },   { "zed-object", "context_servers" },
		{ "opencode1", "mcp" },         { "opencode2", "mcp" }
	};
	bool first = true, inner = true;

	put(m, "{");
	m->depth++;
	if (maker_chance(m, 30))
		json_noise(m, &first);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i][0], shape) == 0)
			json_key(m, &first, keys[i][1]);
	if (strcmp(shape, "opencode2") == 0) {
		put(m, "{");
		m->depth++;
		json_key(m, &inner, "servers");
	}
	json_servers(m, shape);
	if (strcmp(shape, "opencode2") == 0)
		json_close(m);
	if (maker_chance(m, 30))
		json_noise(m, &first);
	json_close(m);
	put(m, m->nl);
}

static const char *const toml_commands[] = {
	"\"npx\"",       "'npx'",           "\"\"\"npx\"\"\"", "'''uvx'''",
	"\"\\u006epx\"", "'C:\\x'",         "\"a b\"",         "\"\"\"a\\\n   b\"\"\"",
	"'cat -u'",      "\"caf\xc3\xa9\"", "\"q\\\"x\"",
};
static const char *const toml_args[] = {
	"\"-y\"",           "'--'",   "'run'",  "\"a\\\"b\"", "'\\'", "\"\"",
	"\"\"\"x\ny\"\"\"", "'# no'", "'[no]'", "\"a,b\"",
};

static void toml_comment(struct maker *m)
{
	if (m->comments && maker_chance(m, 15))
		put(m, " # command = \"no\" ]");
	put(m, m->nl);
}

static void toml_list(struct maker *m)
{
	unsigned count = maker_pick(m, 4);
	bool lines = maker_chance(m, 40);

	put(m, "[");
	for (unsigned i = 0; i < count; i++) {
		if (lines)
			toml_comment(m);
		put(m, maker_chance(m, 50) ? "" : "  ");
		put(m, ONE(m, toml_args));
		put(m, maker_chance(m, 70) ? "" : " ");
		if (i + 1 < count || maker_chance(m, 20))
			put(m, ",");
	}
	if (lines)
		toml_comment(m);
	put(m, maker_chance(m, 70) ? "" : "\t");
	put(m, "]");
}

static void toml_equals(struct maker *m, const char *prefix, const char *key)
{
	static const char *const equals[] = { " = ", "=", "  =\t" };

	put(m, m->tight ? "" : m->indent);
	put(m, prefix);
	put(m, key);
	put(m, ONE(m, equals));
}

static void toml_table(struct maker *m, const char *prefix)
{
	bool args = maker_chance(m, 70), args_first = maker_chance(m, 30);

	if (args && args_first) {
		toml_equals(m, prefix, "args");
		toml_list(m);
		toml_comment(m);
	}
	if (maker_chance(m, 30)) {
		toml_equals(m, prefix, "startup_timeout_sec");
		put(m, "10.5");
		toml_comment(m);
	}
	toml_equals(m, prefix, maker_chance(m, 80) ? "command" : "\"command\"");
	put(m, ONE(m, toml_commands));
	toml_comment(m);
	if (maker_chance(m, 10)) {
		toml_equals(m, prefix, "enabled");
		put(m, "false");
		toml_comment(m);
	}
	if (args && !args_first) {
		toml_equals(m, prefix, "args");
		toml_list(m);
		toml_comment(m);
	}
}

static void toml_inline(struct maker *m)
{
	put(m, maker_chance(m, 50) ? "{ " : "{");
	put(m, "command = ");
	put(m, ONE(m, toml_commands));
	if (maker_chance(m, 60)) {
		put(m, ", args=");
		put(m, maker_chance(m, 50) ? "['a', 'b']" : "[]");
	}
	put(m, maker_chance(m, 50) ? ", env = { command = 'no' } }" : "}");
	toml_comment(m);
}

static void toml_file(struct maker *m)
{
	static const char *const kinds[] = { "files", "\"a b\"", "'x.y'", "server-1" };
	char text[80];

	put(m, "model = \"x\"");
	toml_comment(m);
	put(m, "when = 1979-05-27 07:32:00Z");
	toml_comment(m);
	if (maker_chance(m, 30)) {
		snprintf(text, sizeof(text), "mcp_servers.dotted%u.", maker_pick(m, 9));
		toml_table(m, text);
	}
	if (maker_chance(m, 30)) {
		put(m, "[ mcp_servers . \"one line\" ]");
		toml_comment(m);
		toml_table(m, "");
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (maker_chance(m, 30))
			continue;
		put(m, m->nl);
		snprintf(text, sizeof(text), "[mcp_servers.%s]", kinds[i]);
		put(m, text);
		toml_comment(m);
		toml_table(m, "");
		if (maker_chance(m, 30)) {
			snprintf(text, sizeof(text), "[mcp_servers.%s.env]", kinds[i]);
			put(m, text);
			toml_comment(m);
			toml_equals(m, "", "command");
			put(m, "'no'");
			toml_comment(m);
		}
	}
	if (maker_chance(m, 50)) {
		put(m, "[profiles.x]");
		toml_comment(m);
		put(m, "command = 'no'");
		toml_comment(m);
	}
}

static void toml_inline_file(struct maker *m)
{
	put(m, "[mcp_servers]");
	toml_comment(m);
	put(m, "one = ");
	toml_inline(m);
	put(m, "two = ");
	toml_inline(m);
	put(m, "three.command = ");
	put(m, ONE(m, toml_commands));
	toml_comment(m);
}

static const char *const yaml_commands[] = { "npx",           "'npx'",         "\"npx\"",
					     "/usr/bin/node", "\"\\u006epx\"", "'it''s'",
					     "caf\xc3\xa9",   "a b",           "cat -u",
					     "\"a, b\"" };
static const char *const yaml_args[] = { "-y",      "'--'",   "run",      "\"a\\\"b\"", "''",
					 "\"x,y\"", "'# no'", "\"[no]\"", "caf\xc3\xa9" };

static void yaml_comment(struct maker *m)
{
	if (m->comments && maker_chance(m, 15))
		put(m, "  # cmd: no");
	put(m, m->nl);
}

/* args of the map whose members have `margin` spaces before them */
static void yaml_list(struct maker *m, const char *margin)
{
	unsigned count = maker_pick(m, 4);
	const char *extra = maker_chance(m, 50) ? "  " : "";

	put(m, margin);
	put(m, "args:");
	if (count == 0 || maker_chance(m, 40)) {
		put(m, maker_chance(m, 70) ? " [" : " [ ");
		for (unsigned i = 0; i < count; i++) {
			put(m, i ? ", " : "");
			put(m, ONE(m, yaml_args));
		}
		put(m, maker_chance(m, 70) ? "]" : " ]");
		yaml_comment(m);
		return;
	}
	yaml_comment(m);
	for (unsigned i = 0; i < count; i++) {
		put(m, margin);
		put(m, extra);
		put(m, maker_chance(m, 80) ? "- " : "-   ");
		put(m, ONE(m, yaml_args));
		yaml_comment(m);
	}
}

static void yaml_server(struct maker *m, const char *margin, const char *key, bool first)
{
	bool args = maker_chance(m, 70), args_first = maker_chance(m, 30) && !first;

	if (args && args_first)
		yaml_list(m, margin);
	put(m, first ? "" : margin);
	put(m, key);
	put(m, maker_chance(m, 80) ? ": " : ":   ");
	put(m, ONE(m, yaml_commands));
	yaml_comment(m);
	if (maker_chance(m, 40)) {
		put(m, margin);
		put(m, "timeout: 300");
		yaml_comment(m);
	}
	if (args && !args_first)
		yaml_list(m, margin);
}

static void yaml_goose(struct maker *m)
{
	static const char *const kinds[] = { "files", "\"a b\"", "'x.y'", "caf\xc3\xa9" };

	put(m, "GOOSE_MODEL: x");
	yaml_comment(m);
	put(m, "extensions:");
	yaml_comment(m);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (i && maker_chance(m, 30))
			continue;
		put(m, "  ");
		put(m, kinds[i]);
		put(m, ":");
		yaml_comment(m);
		put(m, maker_chance(m, 85) ? "    enabled: true" : "    enabled: false");
		yaml_comment(m);
		put(m, "    type: stdio");
		yaml_comment(m);
		yaml_server(m, "    ", "cmd", false);
	}
	put(m, "  developer:");
	put(m, m->nl);
	put(m, "    type: builtin");
	yaml_comment(m);
	put(m, "  flow: {type: stdio, cmd: npx");
	put(m, maker_chance(m, 50) ? "}" : ", args: [x]}");
	yaml_comment(m);
}

static void yaml_continue(struct maker *m)
{
	unsigned count = 1 + maker_pick(m, 3);

	put(m, "name: x");
	yaml_comment(m);
	put(m, "mcpServers:");
	yaml_comment(m);
	for (unsigned i = 0; i < count; i++) {
		bool first = maker_chance(m, 30);

		put(m, "  - ");
		if (!first) {
			put(m, "name: server");
			yaml_comment(m);
		}
		yaml_server(m, "    ", "command", first);
	}
}

void corpus_make(uint64_t seed, struct sample *out)
{
	static const char *const shapes[CORPUS_SHAPES] = { "mcpServers", "servers",   "zed",
							   "zed-object", "opencode1", "opencode2",
							   "codex",      "goose",     "continue" };
	static const char *const indents[] = { "  ", "    ", "\t", "" };
	struct maker m = { .state = seed, .out = &out->text };

	*out = (struct sample){ .shape = shapes[seed % CORPUS_SHAPES],
				.text = BUF_INIT(BUF_ANY_SIZE) };
	out->format = strcmp(out->shape, "codex") == 0 ? FORMAT_TOML
		      : strcmp(out->shape, "goose") == 0 || strcmp(out->shape, "continue") == 0
			      ? FORMAT_YAML
			      : FORMAT_JSON;
	out->suffix = out->format == FORMAT_TOML   ? ".toml"
		      : out->format == FORMAT_YAML ? ".yaml"
						   : ".json";
	m.nl = maker_chance(&m, 30) ? "\r\n" : "\n";
	if (out->format == FORMAT_JSON && maker_chance(&m, 15))
		m.nl = "";
	m.indent = ONE(&m, indents);
	m.comments = maker_chance(&m, 60);
	m.tight = maker_chance(&m, 50);
	if (maker_chance(&m, 15))
		put(&m, "\xef\xbb\xbf");
	if (out->format == FORMAT_JSON)
		json_file(&m, out->shape);
	else if (out->format == FORMAT_TOML && maker_chance(&m, 75))
		toml_file(&m);
	else if (out->format == FORMAT_TOML)
		toml_inline_file(&m);
	else if (strcmp(out->shape, "goose") == 0)
		yaml_goose(&m);
	else
		yaml_continue(&m);
}

void corpus_done(struct sample *s)
{
	buf_done(&s->text);
}
