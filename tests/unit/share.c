/* share.c - the rule of sharing: words for state, verdicts, and differences of keys. */
#include "session/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../t.h"
#include "session/look.h"
#include "session/share_words.h"

TEST(words_for_state_are_found_in_names)
{
	static const struct {
		const char *name, *word;
	} table[] = {
		{ "browser_navigate", "browser" },
		{ "playwright_navigate", "playwright" },
		{ "puppeteer_navigate", "puppeteer" },
		{ "sequentialthinking", "thinking" },
		{ "takeScreenshot", "screenshot" },
		{ "list_tabs", "tab" },
		{ "list-processes", "process" },
		{ "openPage", "page" },
		{ "runSSHCommand", "ssh" },
		{ "git.commit", "commit" },
		{ "BEGIN", "begin" },
		{ "db/begin", "begin" },
		{ "activate_project", "project" },
		{ "projectSwitch", "project" },
		{ "get_project", NULL },
		{ "set_title", NULL },
		{ "read_file", NULL },
		{ "search", NULL },
		{ "table", NULL },        /* tab is no word of it */
		{ "homepagerank", NULL }, /* page is too short to be looked for inside */
		{ "pagination", NULL },
		{ "committee_members", NULL },
		{ "blogindex", NULL },
		{ "", NULL },
		{ "___", NULL },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *word = share_stateful_word(table[i].name);

		STREQ(word ? word : "-", table[i].word ? table[i].word : "-");
	}
}

TEST(packages_are_known_by_the_command)
{
	static const struct {
		char *argv[6];
		enum share_state state; /* SHARE_STATE_UNKNOWN: not on the list */
	} table[] = {
		{ { "npx", "-y", "@modelcontextprotocol/server-memory" }, SHARE_STATE_NONE },
		{ { "npx", "-y", "@modelcontextprotocol/server-memory@2026.8.31" },
		  SHARE_STATE_NONE },
		{ { "/usr/bin/npx", "@playwright/mcp@latest", "--headless" }, SHARE_STATE_KEPT },
		{ { "uvx", "mcp-server-time" }, SHARE_STATE_NONE },
		{ { "python3", "-m", "mcp_server_fetch" }, SHARE_STATE_NONE },
		{ { "npm", "exec", "--", "chrome-devtools-mcp" }, SHARE_STATE_KEPT },
		{ { "node", "/x/node_modules/@modelcontextprotocol/server-github/dist/index.js" },
		  SHARE_STATE_NONE },
		{ { "/opt/bin/github-mcp-server", "stdio" }, SHARE_STATE_NONE },
		{ { "mcp-other", "/srv/server-memory" }, SHARE_STATE_UNKNOWN },
		{ { "npx", "other", "server-memory" }, SHARE_STATE_UNKNOWN },
		{ { "npx", "server-memory-plus" }, SHARE_STATE_UNKNOWN },
		{ { "npx" }, SHARE_STATE_UNKNOWN },
		{ { NULL }, SHARE_STATE_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		enum share_state state = SHARE_STATE_UNKNOWN;
		const char *name = share_known_package(table[i].argv, &state);

		EQ(state, table[i].state);
		EQ(name != NULL, state != SHARE_STATE_UNKNOWN);
	}
}

#define RULE    CONFIG_SHARE_RULE
#define NEVER   CONFIG_SHARE_NEVER
#define SAME    CONFIG_SHARE_IDENTICAL
#define AUTO_   CONFIG_SHARE_AUTO
#define TOOLS   "{\"tools\":{}}"
#define READS   "{\"tools\":[{\"name\":\"read\",\"annotations\":{\"readOnlyHint\":true}}]}"
#define WRITES  "{\"tools\":[{\"name\":\"write\"}]}"
#define BROWSES "{\"tools\":[{\"name\":\"read\"},{\"name\":\"open_tab\"}]}"
#define MUX(w)  "{\"tools\":{},\"experimental\":{\"x-mux\":{\"sharing\":\"" w "\"}}}"

struct row {
	enum config_share word;
	enum client_era era;
	const char *capabilities, *tools;
	unsigned features;
	bool asked;
	char *program;
	enum share_answer answer;
	enum share_state state;
	const char *why; /* a part of the sentence */
};

static void judge_row(const struct row *r)
{
	char *argv[] = { r->program ? r->program : "server", NULL };
	struct share_facts f = { .word = r->word,
				 .argv = argv,
				 .capabilities = r->capabilities,
				 .era = r->era,
				 .tools = { r->tools, r->tools ? strlen(r->tools) : 0 },
				 .features = r->features,
				 .asked = r->asked };
	struct share_verdict v = share_judge(&f);

	if (v.answer != r->answer || v.state != r->state || !strstr(v.why, r->why))
		FAIL("answer %d state %d: %s", v.answer, v.state, v.why);
}

TEST(the_first_line_of_the_rule_that_applies_decides)
{
	static const struct row table[] = {
		{ NEVER, ERA_MODERN, TOOLS, READS, 0, false, NULL, SHARE_NO, SHARE_STATE_NONE,
		  "\"never\"" },
		{ NEVER, ERA_LEGACY, NULL, NULL, 0, false, NULL, SHARE_NO, SHARE_STATE_UNKNOWN,
		  "\"never\"" },
		{ SAME, ERA_LEGACY, NULL, NULL, 7, true, NULL, SHARE_YES, SHARE_STATE_UNKNOWN,
		  "\"identical\"" },
		{ SAME, ERA_LEGACY, TOOLS, BROWSES, 0, false, NULL, SHARE_YES, SHARE_STATE_KEPT,
		  "\"identical\"" },
		{ RULE, ERA_LEGACY, NULL, NULL, 0, false, NULL, SHARE_UNKNOWN, SHARE_STATE_UNKNOWN,
		  "handshake" },
		{ RULE, ERA_LEGACY, MUX("shared"), NULL, 0, false, NULL, SHARE_YES,
		  SHARE_STATE_NONE, "\"shared\"" },
		{ RULE, ERA_LEGACY, "{\"x-mux\":{\"sharing\":\"shared\"}}", NULL, 0, false, NULL,
		  SHARE_YES, SHARE_STATE_NONE, "\"shared\"" },
		{ RULE, ERA_MODERN, MUX("isolated"), READS, 0, false, NULL, SHARE_NO,
		  SHARE_STATE_KEPT, "\"isolated\"" },
		{ AUTO_, ERA_LEGACY, MUX("session-aware"), READS, 0, false, NULL, SHARE_NO,
		  SHARE_STATE_KEPT, "session-aware" },
		{ RULE, ERA_MODERN, TOOLS, NULL, 0, false, NULL, SHARE_UNKNOWN, SHARE_STATE_UNKNOWN,
		  "list of tools" },
		{ RULE, ERA_MODERN, TOOLS, WRITES, 7, true, NULL, SHARE_YES, SHARE_STATE_NONE,
		  "modern" },
		{ RULE, ERA_MODERN, "{}", NULL, 0, false, NULL, SHARE_YES, SHARE_STATE_NONE,
		  "modern" },
		{ RULE, ERA_MODERN, TOOLS, BROWSES, 0, false, NULL, SHARE_NO, SHARE_STATE_KEPT,
		  "'open_tab' looks like state (\"tab\")" },
		{ RULE, ERA_MODERN, TOOLS, READS, 0, false, "playwright-mcp", SHARE_NO,
		  SHARE_STATE_KEPT, "known to keep state" },
		{ RULE, ERA_LEGACY, TOOLS, NULL, 0, false, NULL, SHARE_NO, SHARE_STATE_UNKNOWN,
		  "legacy" },
		{ RULE, ERA_LEGACY, TOOLS, READS, 0, false, "server-memory", SHARE_NO,
		  SHARE_STATE_NONE, "legacy" },
		{ RULE, ERA_LEGACY, TOOLS, BROWSES, 0, false, NULL, SHARE_NO, SHARE_STATE_KEPT,
		  "open_tab" },
		{ AUTO_, ERA_LEGACY, TOOLS, NULL, 0, false, NULL, SHARE_UNKNOWN,
		  SHARE_STATE_UNKNOWN, "list of tools" },
		{ AUTO_, ERA_LEGACY, TOOLS, READS, 0, false, NULL, SHARE_YES, SHARE_STATE_NONE,
		  "read-only" },
		{ AUTO_, ERA_LEGACY, TOOLS, WRITES, 0, false, NULL, SHARE_NO, SHARE_STATE_NONE,
		  "'write' is not marked" },
		{ AUTO_, ERA_LEGACY, TOOLS, WRITES, 0, false, "server-memory", SHARE_YES,
		  SHARE_STATE_NONE, "known to keep no state" },
		{ AUTO_, ERA_LEGACY, TOOLS, READS, KILLICK_ELICITATION, false, NULL, SHARE_NO,
		  SHARE_STATE_NONE, "answers requests" },
		{ AUTO_, ERA_LEGACY, TOOLS, READS, 0, true, NULL, SHARE_NO, SHARE_STATE_NONE,
		  "request of its own" },
		{ AUTO_, ERA_LEGACY, TOOLS, BROWSES, 0, false, NULL, SHARE_NO, SHARE_STATE_KEPT,
		  "open_tab" },
		{ AUTO_, ERA_LEGACY, "{", READS, 0, false, NULL, SHARE_YES, SHARE_STATE_NONE,
		  "read-only" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		judge_row(&table[i]);
}

TEST(roots_are_not_declared_to_a_shared_server)
{
	EQ(share_features(KILLICK_ROOTS | KILLICK_ROOTS_CHANGE | KILLICK_SAMPLING),
	   KILLICK_SAMPLING);
	EQ(share_features(KILLICK_ELICITATION), KILLICK_ELICITATION);
}

TEST(the_first_difference_of_two_keys_is_named)
{
	char *argv[] = { "server", "a", "b", NULL }, *other[] = { "server", "a", "c", NULL };
	char *program[] = { "other", NULL };
	char *envp[] = { "A=1", "TOKEN=secret", NULL }, *env2[] = { "A=1", "TOKEN=hidden", NULL };
	char *env3[] = { "A=1", NULL }, *env4[] = { "A=1", "B=2", "TOKEN=secret", NULL };
	char *env5[] = { "TOKEN=secret", NULL };
	struct recipe same = { .argv = argv, .envp = envp }, r;
	struct share_key a = { .recipe = &same, .era = CONFIG_LEGACY }, b = { .recipe = &r };
	char out[200];

#define DIFFERS(text_, ...)                                                                        \
	do {                                                                                       \
		r = same;                                                                          \
		b = a;                                                                             \
		b.recipe = &r;                                                                     \
		__VA_ARGS__;                                                                       \
		EQ(share_difference(&a, &b, out, sizeof(out)), *(text_) != '\0');                  \
		STREQ(out, text_);                                                                 \
	} while (0)
	DIFFERS("", (void)0);
	DIFFERS("", r.name = "another name");
	DIFFERS("the commands differ: server and other", r.argv = program);
	DIFFERS("arguments differ at word 2", r.argv = other);
	DIFFERS("cwd differs: the default and /x", r.cwd = "/x");
	DIFFERS("environment variable TOKEN differs", r.envp = env2);
	DIFFERS("environment variable TOKEN is set for one of them only", r.envp = env3);
	DIFFERS("environment variable B is set for one of them only", r.envp = env4);
	DIFFERS("environment variable A is set for one of them only", r.envp = env5);
	DIFFERS("environment (placement) differs: local and far", r.environment = "far");
	DIFFERS("limits.memory differs: 0 and 512", r.limits[LIMIT_MEMORY] = 512);
	DIFFERS("level differs: auto and cgroup", r.contain = LEVEL_CGROUP);
	DIFFERS("the program file was replaced", b.program.inode = 7);
	DIFFERS("era differs: legacy and auto", b.era = CONFIG_AUTO);
	DIFFERS("features of the client differ: none and sampling roots",
		b.features = KILLICK_SAMPLING | KILLICK_ROOTS);
}

TEST(a_program_is_found_in_the_path_of_the_server)
{
	char *argv[] = { "sh", NULL }, *full[] = { "/bin/sh", NULL };
	char *envp[] = { "PATH=/nowhere:/bin", NULL };
	struct recipe r = { .argv = argv, .envp = envp }, f = { .argv = full, .envp = envp };
	struct look_result a, b;

	look_now(&r, &a);
	look_now(&f, &b);
	OK(a.program.inode && a.program.inode == b.program.inode);
	argv[0] = "there-is-no-such-program";
	look_now(&r, &a);
	EQ(a.program.inode, 0);
}
