/* shapes.c - the client verbs with the configs of other MCP clients, in every shape. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shell.h"

/* The variables that a zoo server needs: '{' and '}' around them for JSON, TOML and flow YAML. */
static const char *zoo_env(const char *equals)
{
	static const char *const names[] = { "ZOO_AUDIT", "ZOO_FIFO", "ZOO_PIDS", "ZOO_LIFE_MS" };
	static char text[2048];
	size_t len = (size_t)snprintf(text, sizeof(text), "{");

	for (size_t i = 0; i < 4; i++) {
		const char *value = getenv(names[i]);

		if (value)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\"%s\"%s\"%s\"",
						len > 1 ? ", " : "", names[i], equals, value);
	}
	snprintf(text + len, sizeof(text) - len, "}");
	return text;
}

/* Write a file of a shape: a format with the program and its variables as %s. */
static void write_shape(const char *path, const char *format, const char *equals)
{
	char text[8192];

	make_dirs(path);
	/* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the formats are below */
	snprintf(text, sizeof(text), format, zoo(), zoo_env(equals));
	write_file(path, text);
}

static const struct {
	const char *path, *format, *equals, *title;
} shapes[] = {
	{ ".claude.json",
	  "{\"projects\": {\"/elsewhere\": {\"mcpServers\": {\"no\": {\"command\": \"no\"}}}},\n"
	  "\"mcpServers\": {\"s\": {\"command\": \"%s\", \"args\": [\"mcp\", \"good\"], \"env\": "
	  "%s}}}",
	  ": ", "Claude Code" },
	{ ".cursor/mcp.json",
	  "{\"mcpServers\": {\"s\": {\"command\": \"%s\", \"args\": [\"mcp\", \"good\"], \"env\": "
	  "%s}}}",
	  ": ", "Cursor" },
	{ ".config/Code/User/mcp.json",
	  "{\"servers\": {\"s\": {\"command\": \"%s\", \"args\": [\"mcp\", \"good\"], \"env\": "
	  "%s}}}",
	  ": ", "VS Code" },
	{ ".codex/config.toml",
	  "[mcp_servers.s]\ncommand = '%s'\nargs = ['mcp', 'good']\nstartup_timeout_sec = 20\nenv "
	  "= %s\n",
	  " = ", "Codex" },
	{ ".config/opencode/opencode.json",
	  "{\"mcp\": {\"s\": {\"type\": \"local\", \"command\": [\"%s\", \"mcp\", \"good\"], "
	  "\"environment\": %s}}}",
	  ": ", "opencode" },
	{ ".config/opencode/opencode.jsonc",
	  "{\"mcp\": {\"servers\": {\"s\": {\"command\": [\"%s\", \"mcp\", \"good\"], "
	  "\"environment\": %s}}}}",
	  ": ", "opencode" },
	{ ".config/zed/settings.json",
	  "// Zed\n{\"context_servers\": {\"s\": {\"command\": \"%s\", \"args\": [\"mcp\", "
	  "\"good\"], "
	  "\"env\": %s}}}",
	  ": ", "Zed" },
	{ ".zed/settings.json",
	  "{\"context_servers\": {\"s\": {\"command\": {\"path\": \"%s\", \"args\": [\"mcp\", "
	  "\"good\"], \"env\": %s}}}}",
	  ": ", "Zed" },
	{ ".config/goose/config.yaml",
	  "extensions:\n  s:\n    type: stdio\n    cmd: %s\n    args:\n    - mcp\n    - good\n    "
	  "envs: "
	  "%s\n  developer:\n    type: builtin\n",
	  ": ", "goose" },
	{ ".continue/config.yaml",
	  "mcpServers:\n- name: s\n  command: %s\n  args: [mcp, good]\n  env: %s\n", ": ",
	  "Continue" },
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

TEST(config_takes_every_shape, .timeout_ms = TEST_MS)
{
	begin();
	need_yaml();
	for (size_t i = 0; i < SHAPES; i++) {
		write_shape(shapes[i].path, shapes[i].format, shapes[i].equals);
		RUN(0, "status", "--json", "--config", shapes[i].path);
		PRINTS("\"server\":\"s\"");
		OK(!strstr(out, "\"server\":\"no\""));
		RUN(0, "call", "echo", "--config", shapes[i].path, "--args", "{\"text\":\"hi\"}");
		PRINTS("hi");
		STREQ(err, "");
	}
}

TEST(without_a_config_here_that_of_another_client_is_taken_and_named, .timeout_ms = TEST_MS)
{
	char want[200];

	begin();
	need_yaml();
	OK(mkdir("project", 0700) == 0);
	for (size_t i = 0; i < SHAPES; i++) {
		if (strncmp(shapes[i].path, ".zed", 4) == 0)
			continue; /* a file of a project */
		OK(chdir(t_audit.dir) == 0);
		write_shape(shapes[i].path, shapes[i].format, shapes[i].equals);
		OK(chdir("project") == 0);
		RUN(0, "status", "--json");
		PRINTS("\"server\":\"s\"");
		snprintf(want, sizeof(want), "no .mcp.json here: the config is ~/%s, of %s",
			 shapes[i].path, shapes[i].title);
		SAYS(want);
		OK(chdir(t_audit.dir) == 0);
		OK(unlink(shapes[i].path) == 0);
	}
	OK(chdir("project") == 0);
	RUN(64, "tools");
	SAYS("nor the config of another MCP client");
}

TEST(files_of_the_project_come_before_those_of_the_user, .timeout_ms = TEST_MS)
{
	begin();
	make_dirs("project/.zed/x");
	write_shape(".cursor/mcp.json", shapes[1].format, ": ");
	write_shape("project/.zed/settings.json", shapes[7].format, ": ");
	OK(chdir("project") == 0);
	RUN(0, "trust");
	RUN(0, "status", "--json");
	SAYS("the config is ~/project/.zed/settings.json, of Zed");
	CONFIG(".mcp.json", "mine", "good");
	RUN(0, "trust");
	RUN(0, "status", "--json");
	PRINTS("\"server\":\"mine\"");
	STREQ(err, "");
}

TEST(the_local_scope_of_claude_code_is_that_of_this_project, .timeout_ms = TEST_MS)
{
	char format[2048];

	begin();
	make_dirs("project/below/x");
	snprintf(format, sizeof(format),
		 "{\"mcpServers\": {\"s\": {\"command\": \"no\"}},\n\"projects\": {\"%s/project\": "
		 "{\"mcpServers\": {\"s\": {\"command\": \"%%s\", \"args\": [\"mcp\", \"good\"], "
		 "\"env\": %%s}}}, \"/other\": {\"mcpServers\": {\"no\": {\"command\": \"no\"}}}}}",
		 t_audit.dir);
	write_shape(".claude.json", format, ": ");
	OK(chdir("project/below") == 0);
	RUN(0, "call", "echo", "--args", "{\"text\":\"hi\"}");
	PRINTS("hi");
	OK(chdir(t_audit.dir) == 0);
}

TEST(a_wrapped_server_is_started_without_the_second_killick, .timeout_ms = TEST_MS)
{
	begin();
	write_shape("config.toml",
		    "[mcp_servers.s]\ncommand = '/no/killick'\nargs = ['run', '--', '%s', 'mcp', "
		    "'good']\nenv = %s\n",
		    " = ");
	RUN(0, "tools", "--config", "config.toml");
	PRINTS("echo");
}

TEST(a_qualified_tool_starts_only_its_server, .timeout_ms = TEST_MS)
{
	char format[2048];

	begin();
	/* the second one cannot be started, and need not */
	snprintf(format, sizeof(format), "%s[mcp_servers.other]\ncommand = '/no/such/program'\n",
		 shapes[3].format);
	write_shape("config.toml", format, " = ");
	RUN(0, "call", "s__echo", "--config", "config.toml", "--args", "{\"text\":\"hi\"}");
	PRINTS("hi");
	STREQ(err, "");
}

TEST(errors_in_other_shapes_name_file_and_line, .timeout_ms = TEST_MS)
{
	begin();
	write_file("config.toml", "a = 1\n\n[mcp_servers.x\n");
	RUN(65, "tools", "--config", "config.toml");
	SAYS("config.toml:3: ] was expected behind the name of a table");
	write_file("config.toml",
		   "a = 1\n\n[mcp_servers.x]\ncommand = 'x'\nstartup_timeout_sec = -1\n");
	OK(run("tools", "--config", "config.toml", NULL) != 0);
	SAYS("config.toml:3:");
	write_file("config.yaml", "extensions:\n  a: [\n");
	RUN(65, "tools", "--config", "config.yaml");
	SAYS("config.yaml:");
}

TEST(dollars_that_the_client_does_not_expand_stay, .timeout_ms = TEST_MS)
{
	begin();
	write_file("config.toml", "[mcp_servers.x]\ncommand = '/no/${NOT_SET}/x'\n");
	RUN(69, "tools", "--config", "config.toml");
	SAYS("/no/${NOT_SET}/x");
}

TEST(a_broken_config_of_another_client_is_named_with_its_fault, .timeout_ms = TEST_MS)
{
	begin();
	make_dirs(".codex/x");
	make_dirs("project/x");
	write_file(".codex/config.toml", "a = 1\n[mcp_servers.x\n");
	OK(chdir("project") == 0);
	RUN(65, "tools");
	SAYS("/.codex/config.toml:2: ] was expected behind the name of a table");
	OK(!strstr(err, "no config:"));
	OK(chdir(t_audit.dir) == 0);
	write_shape(".cursor/mcp.json", shapes[1].format, ": ");
	OK(chdir("project") == 0);
	RUN(0, "tools");
	SAYS("/.codex/config.toml:2: ] was expected behind the name of a table; the file is not "
	     "used");
	SAYS("the config is ~/.cursor/mcp.json, of Cursor");
	OK(chdir(t_audit.dir) == 0);
}

TEST(status_and_json_name_the_file_of_an_error_in_other_shapes, .timeout_ms = TEST_MS)
{
	begin();
	write_file("config.toml",
		   "a = 1\n\n[mcp_servers.x]\ncommand = 'x'\nstartup_timeout_sec = -1\n");
	OK(run("status", "--config", "config.toml", NULL) != 0);
	PRINTS("config.toml:3:");
	OK(!strstr(out, "config:3:"));
	OK(run("status", "--json", "--config", "config.toml", NULL) != 0);
	PRINTS("config.toml:3:");
	OK(!strstr(out, "\"config:3:"));
}

TEST(a_wrapped_command_of_several_words_keeps_its_shell, .timeout_ms = TEST_MS)
{
	begin();
	write_shape("config.toml",
		    "[mcp_servers.s]\ncommand = '/no/killick'\nargs = ['run', '--', '/bin/sh', "
		    "'-fc', \"eval \\\"$0\\\" '\\\"$@\\\"'\", '%s mcp', 'good']\nenv = %s\n",
		    " = ");
	RUN(0, "status", "--config", "config.toml");
	PRINTS("ready");
	RUN(0, "tools", "--config", "config.toml");
	PRINTS("echo");
}

/* A server that its client runs on another machine, in each shape. With the value of this machine
 * the same server is used here. */
static const struct {
	const char *path, *format, *equals, *there, *here;
} placed[] = {
	{ ".codex/config.toml",
	  "[mcp_servers.s]\ncommand = '%s'\nargs = ['mcp', 'good']\ncwd = '/'\nenv = %s\n", " = ",
	  "environment_id = \"remote\"\n", "environment_id = \"local\"\n" },
	{ ".codex/config.toml",
	  "[mcp_servers.s]\ncommand = '%s'\nargs = ['mcp', 'good']\ncwd = '/'\nenv = %s\n", " = ",
	  "experimental_environment = \"remote\"\n", "experimental_environment = \"local\"\n" },
	{ ".codex/config.toml",
	  "[mcp_servers.s]\ncommand = '%s'\nargs = ['mcp', 'good']\ncwd = '/'\nenv = %s\n", " = ",
	  "environment_id = \"\"\n", "[mcp_servers.s.tools.x]\nenvironment_id = \"remote\"\n" },
	{ ".codex/config.toml",
	  "[mcp_servers.s]\ncommand = '%s'\nargs = ['mcp', 'good']\ncwd = '/'\nenv = %s\n", " = ",
	  "environment_id = 7\n", "host = \"remote\"\n" },
	{ ".config/zed/settings.json",
	  "{\"context_servers\": {\"s\": {\"command\": \"%s\", \"args\": [\"mcp\", \"good\"], "
	  "\"env\": %s, ",
	  ": ", "\"remote\": true}}}", "\"remote\": false}}}" },
	{ ".config/zed/settings.json",
	  "{\"context_servers\": {\"s\": {\"command\": {\"path\": \"%s\", \"args\": [\"mcp\", "
	  "\"good\"], \"env\": %s}, ",
	  ": ", "\"remote\": \"dev.example.com\"}}}", "\"sandbox\": true}}}" },
	{ ".claude.json",
	  "{\"projects\": {}, \"mcpServers\": {\"s\": {\"command\": \"%s\", \"args\": [\"mcp\", "
	  "\"good\"], \"env\": %s, ",
	  ": ", "\"environment\": \"host\"}}}", "\"environment\": null, \"remote\": true}}}" },
	{ ".cursor/mcp.json",
	  "{\"mcpServers\": {\"s\": {\"command\": \"%s\", \"args\": [\"mcp\", \"good\"], "
	  "\"env\": %s, ",
	  ": ", "\"environment_id\": \"host\"}}}", "\"environment_id\": \"local\"}}}" },
	{ ".config/opencode/opencode.json",
	  "{\"mcp\": {\"s\": {\"command\": [\"%s\", \"mcp\", \"good\"], \"env\": %s, ", ": ",
	  "\"environment\": \"host\"}}}", "\"environment\": {\"A\": \"b\"}}}}" },
	{ ".config/amp/settings.json",
	  "{\"amp.mcpServers\": {\"s\": {\"command\": \"%s\", \"args\": [\"mcp\", \"good\"], "
	  "\"env\": %s, ",
	  ": ", "\"environment_id\": \"local\", \"environment_id\": \"host\"}}}",
	  "\"node\": \"x\"}}}" },
	{ ".config/goose/config.yaml",
	  "extensions:\n  s:\n    cmd: %s\n    args: [mcp, good]\n    envs: %s\n", ": ",
	  "    type: frontend\n", "    type: stdio\n" },
	{ ".continue/config.yaml",
	  "mcpServers:\n- name: s\n  command: %s\n  args: [mcp, good]\n  env: %s\n", ": ",
	  "  environment_id: host\n", "  container: x\n" },
};
enum { PLACED = sizeof(placed) / sizeof(placed[0]) };

static void write_placed(size_t i, const char *value)
{
	char format[2048];

	snprintf(format, sizeof(format), "%s%s", placed[i].format, value);
	write_shape(placed[i].path, format, placed[i].equals);
}

TEST(a_server_for_another_machine_never_runs_here, .timeout_ms = TEST_MS)
{
	begin();
	need_yaml();
	OK(mkdir("project", 0700) == 0);
	for (size_t i = 0; i < PLACED; i++) {
		write_placed(i, placed[i].there);
		if (run("call", "echo", "--config", placed[i].path, "text=hi", NULL) == 0)
			FAIL("%s, %s: %s", placed[i].path, placed[i].there, out);
		if (strcmp(placed[i].there, "    type: frontend\n") != 0)
			SAYS("environment");
		OK(chdir("project") == 0);
		if (run("call", "echo", "text=hi", NULL) == 0)
			FAIL("found: %s, %s: %s", placed[i].path, placed[i].there, out);
		OK(chdir(t_audit.dir) == 0);
		OK(unlink(placed[i].path) == 0);
	}
	EQ(started(), 0);
}

TEST(a_key_that_only_looks_like_a_place_does_not_stop_a_server, .timeout_ms = TEST_MS)
{
	begin();
	need_yaml();
	for (size_t i = 0; i < PLACED; i++) {
		write_placed(i, placed[i].here);
		RUN(0, "call", "echo", "--config", placed[i].path, "text=hi");
		PRINTS("hi");
		OK(unlink(placed[i].path) == 0);
	}
}

/* Gemini CLI and Qwen Code use the URL, other clients the command. */
TEST(a_server_with_a_url_and_a_command_never_runs_here, .timeout_ms = TEST_MS)
{
	static const char *const files[][2] = { { ".gemini/settings.json", "mcpServers" },
						{ ".config/amp/settings.json", "amp.mcpServers" } };
	char format[512];

	begin();
	for (size_t i = 0; i < 2; i++) {
		snprintf(format, sizeof(format),
			 "{\"%s\": {\"s\": {\"command\": \"%%s\", \"args\": [\"mcp\", \"good\"], "
			 "\"env\": %%s, \"url\": \"https://far.example/mcp\"}}}",
			 files[i][1]);
		write_shape(files[i][0], format, ": ");
		RUN(65, "call", "echo", "--config", files[i][0], "text=hi");
		SAYS("the server has a 'url' and a 'command'");
	}
	EQ(started(), 0);
}

TEST(wrap_leaves_a_server_for_another_machine_alone, .timeout_ms = TEST_MS)
{
	begin();
	need_yaml();
	for (size_t i = 0; i < PLACED; i++) {
		static char before[TEXT_MAX];
		FILE *f;

		write_placed(i, placed[i].there);
		f = fopen(placed[i].path, "re");
		OK(f);
		before[fread(before, 1, sizeof(before) - 1, f)] = '\0';
		OK(fclose(f) == 0);
		RUN(0, "wrap", "--yes", placed[i].path);
		if (!strstr(out, "the server runs on another machine") &&
		    !strstr(out, "part of the client"))
			FAIL("%s, %s: %s", placed[i].path, placed[i].there, out);
		RUN(0, "wrap", "--hub", "--yes", placed[i].path);
		OK(file_has(placed[i].path, before));
		OK(unlink(placed[i].path) == 0);
	}
	/* a killick that somebody else put there is the one of the other machine */
	write_file("config.toml", "[mcp_servers.s]\ncommand = 'killick'\nargs = ['run', '--', "
				  "'x']\nenvironment_id = 'host'\ncwd = '/'\n");
	RUN(0, "wrap", "--hub", "--yes", "config.toml");
	OK(file_has("config.toml", "args = ['run', '--', 'x']"));
}
