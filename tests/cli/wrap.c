/* wrap.c - `killick wrap` and `killick unwrap` as a user calls them, in a home directory with the
 * configs of eight clients. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shell.h"

static const struct {
	const char *path, *text;
} files[] = {
	{ "home/.claude.json",
	  "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"files\": {\n      \"type\": "
	  "\"stdio\",\n"
	  "      \"command\": \"npx\",\n      \"args\": [\n        \"-y\",\n        "
	  "\"some-server\"\n"
	  "      ],\n      \"env\": {}\n    },\n    \"web\": { \"type\": \"http\", \"url\": "
	  "\"https://example.com/mcp\" }\n  },\n  \"projects\": {\n    \"/src/app\": {\n      "
	  "\"mcpServers\": { \"db\": { \"command\": \"db-mcp\" } }\n    }\n  }\n}\n" },
	{ "home/.config/Claude/claude_desktop_config.json",
	  "{\"mcpServers\":{\"time\":{\"command\":\"uvx\",\"args\":[\"mcp-server-time\"]}}}" },
	{ "home/.codex/config.toml",
	  "model = \"o5\" # best\n\n[mcp_servers.docs]\ncommand = 'npx'\nargs = [\n  \"-y\", # "
	  "yes\n  "
	  "'docs-server',\n]\n\n[mcp_servers.off]\nenabled = false\ncommand = \"x\"\n" },
	{ "home/.config/Code/User/mcp.json",
	  "{\r\n\t// mine\r\n\t\"servers\": {\r\n\t\t\"gh\": {\r\n\t\t\t\"command\": "
	  "\"docker\",\r\n"
	  "\t\t\t\"args\": [\"run\", \"-i\", \"--rm\", \"ghcr.io/github/github-mcp-server\"],\r\n"
	  "\t\t},\r\n\t},\r\n}\r\n" },
	{ "home/.cursor/mcp.json",
	  "\xef\xbb\xbf{ \"mcpServers\" : { \"a\" : { \"command\" : \"x\" , \"args\" : [ ] } } }" },
	{ "home/.config/zed/settings.json",
	  "// Zed\n{\n  \"context_servers\": {\n    \"old\": {\"source\": \"custom\", \"command\": "
	  "{\"path\": \"/opt/z\", \"args\": [\"--x\"]}},\n    \"new\": {\"command\": \"z\"},\n  "
	  "},\n}\n" },
	{ "home/.config/opencode/opencode.json",
	  "{\"mcp\": {\"oc\": {\"type\": \"local\", \"command\": [\"bun\", \"x\", \"oc\"]}}}\n" },
	{ "home/.config/goose/config.yaml", "GOOSE_MODEL: x # model\nextensions:\n  fetch:\n    "
					    "enabled: true\n    type: stdio\n    cmd: "
					    "uvx\n    args:\n    - mcp-server-fetch\n    timeout: "
					    "300\n  developer:\n    type: builtin\n" },
};
enum { FILES = sizeof(files) / sizeof(files[0]), SERVERS = 10 };

/* A home directory, and a directory with killick that is not in PATH yet. */
static void begin_home(void)
{
	static const char *const moved[] = { "XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR",
					     "COPILOT_HOME" };
	char home[200];

	begin();
	for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++)
		unsetenv(moved[i]);
	snprintf(home, sizeof(home), "%s/home", t_audit.dir);
	setenv("HOME", home, 1);
	OK(mkdir("home", 0755) == 0 && mkdir("bin", 0755) == 0 && mkdir("work", 0755) == 0);
	OK(symlink(killick(), "bin/killick") == 0);
}

static void killick_in_path(void)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/bin:/usr/bin:/bin", t_audit.dir);
	setenv("PATH", path, 1);
}

static void write_clients(void)
{
	need_yaml(); /* the home directory has a YAML file */
	begin_home();
	killick_in_path();
	for (size_t i = 0; i < FILES; i++) {
		make_dirs(files[i].path);
		write_file(files[i].path, files[i].text);
	}
}

static const char *contents(const char *path)
{
	static char text[TEXT_MAX];
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (!f)
		FAIL("no file %s", path);
	fclose(f);
	text[n] = '\0';
	return text;
}

static void check_unchanged(void)
{
	for (size_t i = 0; i < FILES; i++)
		STREQ(contents(files[i].path), files[i].text);
}

TEST(wrap_holds_the_servers_of_eight_clients_and_unwrap_restores_the_files, .timeout_ms = TEST_MS)
{
	write_clients();
	RUN(0, "wrap", "--dry-run");
	PRINTS("~/.claude.json");
	PRINTS("db (/src/app)");
	PRINTS("remote");
	PRINTS("disabled");
	PRINTS("\nLeft alone:\n  developer (~/.config/goose/config.yaml:10): part of the client\n");
	PRINTS("--- ~/.claude.json\n");
	PRINTS("\nNothing was changed; `killick wrap` asks and writes.\n");
	PRINTS("+      \"command\": \"killick\",");
	check_unchanged();
	RUN(0, "doctor");
	PRINTS("held by killick: 0, not held: 10; to hold them: killick wrap");
	RUN(0, "wrap", "--yes");
	PRINTS("Wrapped 10 servers in 8 files.");
	OK(strstr(contents("home/.codex/config.toml"),
		  "command = \"killick\"\nargs = [\n  \"run\",\n  \"--\",\n  'npx',\n  \"-y\", # "
		  "yes"));
	OK(strstr(contents("home/.config/goose/config.yaml"),
		  "cmd: \"killick\"\n    args:\n    - \"run\"\n    - \"--\"\n    - uvx\n    - "
		  "mcp-server-fetch"));
	OK(strstr(contents("home/.config/opencode/opencode.json"),
		  "[\"killick\", \"run\", \"--\", \"bun\""));
	for (size_t i = 0; i < FILES; i++) {
		char backup[200];

		snprintf(backup, sizeof(backup), "%s.before-killick", files[i].path);
		STREQ(contents(backup), files[i].text);
	}
	RUN(0, "wrap", "--yes");
	PRINTS("Nothing to wrap.");
	RUN(0, "doctor");
	PRINTS("held by killick: 10, not held: 0");
	RUN(0, "unwrap", "--yes");
	PRINTS("Unwrapped 10 servers in 8 files.");
	check_unchanged();
	RUN(0, "unwrap", "--yes");
	PRINTS("Nothing to unwrap.");
}

TEST(wrap_for_the_hub_takes_over_wrapped_servers_and_unwrap_restores_the_files,
     .timeout_ms = TEST_MS)
{
	write_clients();
	RUN(0, "wrap", "--yes", "--only", "codex");
	RUN(0, "wrap", "--hub", "--dry-run");
	PRINTS("Nothing was changed; `killick wrap --hub` asks and writes.");
	RUN(0, "wrap", "--hub", "--yes");
	PRINTS("Wrapped 10 servers in 8 files.");
	OK(strstr(contents("home/.codex/config.toml"),
		  "command = \"killick\"\nargs = [\n  \"connect\",\n  \"--server\",\n  \"docs\",\n"
		  "  \"--\",\n  'npx',\n  \"-y\", # yes"));
	OK(strstr(contents("home/.config/goose/config.yaml"),
		  "- \"connect\"\n    - \"--server\"\n    - \"fetch\"\n    - \"--\"\n    - uvx"));
	OK(strstr(contents("home/.config/opencode/opencode.json"),
		  "[\"killick\", \"connect\", \"--server\", \"oc\", \"--\", \"bun\""));
	RUN(0, "wrap", "--hub", "--yes");
	PRINTS("Nothing to wrap.");
	RUN(0, "wrap", "--yes");
	PRINTS("wrapped (hub)");
	PRINTS("Nothing to wrap.");
	RUN(0, "doctor");
	PRINTS("held by killick: 10, not held: 0");
	RUN(0, "unwrap", "--yes");
	PRINTS("Unwrapped 10 servers in 8 files.");
	check_unchanged();
	OK(access("home/.codex/config.toml.before-killick", F_OK) < 0);
	RUN(64, "unwrap", "--hub");
	RUN(64, "wrap", "--share", "auto");
	RUN(64, "wrap", "--hub", "--share", "yes");
	RUN(0, "wrap", "--hub", "--share", "auto", "--yes", "--only", "opencode");
	OK(strstr(contents("home/.config/opencode/opencode.json"),
		  "\"--server\", \"oc\", \"--share\", \"auto\", \"--\", \"bun\""));
	RUN(0, "unwrap", "--yes");
	check_unchanged();
	RUN(64, "wrap", "--idle", "5m");
	RUN(64, "wrap", "--hub", "--idle", "soon");
	RUN(64, "wrap", "--hub", "--idle", "0");
	RUN(0, "wrap", "--hub", "--share", "auto", "--idle", "5m", "--yes", "--only", "opencode");
	OK(strstr(contents("home/.config/opencode/opencode.json"),
		  "\"--share\", \"auto\", \"--idle\", \"5m\", \"--\", \"bun\""));
	RUN(0, "unwrap", "--yes");
	check_unchanged();
}

TEST(wrap_for_the_hub_changes_share_and_idle_of_wrapped_servers, .timeout_ms = TEST_MS)
{
	write_clients();
	RUN(0, "wrap", "--hub", "--share", "identical", "--yes");
	RUN(0, "wrap", "--hub", "--share", "identical", "--yes");
	PRINTS("Nothing to wrap.");
	RUN(0, "wrap", "--hub", "--share", "auto", "--idle", "5m", "--dry-run");
	PRINTS("change options");
	RUN(0, "wrap", "--hub", "--share", "auto", "--idle", "5m", "--yes");
	PRINTS("Changed 10 servers in 8 files.");
	OK(strstr(
		contents("home/.codex/config.toml"),
		"  \"docs\",\n  \"--share\",\n  \"auto\",\n  \"--idle\",\n  \"5m\",\n  \"--\",\n"));
	OK(strstr(contents("home/.config/goose/config.yaml"),
		  "    - \"--share\"\n    - \"auto\"\n    - \"--idle\"\n    - \"5m\"\n    - "
		  "\"--\"\n    - uvx"));
	OK(strstr(contents("home/.config/opencode/opencode.json"),
		  "\"oc\", \"--share\", \"auto\", \"--idle\", \"5m\", \"--\", \"bun\""));
	RUN(0, "wrap", "--hub", "--yes"); /* options that are not given stay */
	PRINTS("Nothing to wrap.");
	RUN(0, "wrap", "--hub", "--share", "never", "--yes", "--only", "opencode");
	PRINTS("Changed 1 server in 1 file.");
	OK(strstr(contents("home/.config/opencode/opencode.json"),
		  "\"--share\", \"never\", \"--idle\", \"5m\", \"--\", \"bun\""));
	RUN(0, "unwrap", "--yes");
	PRINTS("Unwrapped 10 servers in 8 files.");
	check_unchanged();
	OK(access("home/.codex/config.toml.before-killick", F_OK) < 0);
}

TEST(options_of_connect_that_wrap_does_not_know_are_named, .timeout_ms = TEST_MS)
{
	static const char text[] =
		"{\"mcpServers\": {\"a\": {\"command\": \"killick\", \"args\": [\"connect\", "
		"\"--session\", \"t\", \"--\", \"x\"]}}}";

	begin_home();
	killick_in_path();
	write_file("home/.claude.json", text);
	RUN(0, "wrap", "--hub", "--yes");
	OK(!strstr(out, "left alone"));
	RUN(0, "wrap", "--hub", "--share", "auto", "--yes");
	PRINTS("left alone");
	PRINTS("it has options of its own: --session; edit it by hand");
	PRINTS("Nothing to wrap.");
	STREQ(contents("home/.claude.json"), text);
}

TEST(the_table_says_which_servers_move_to_the_hub, .timeout_ms = TEST_MS)
{
	begin_home();
	killick_in_path();
	write_file("my.json", "{\"mcpServers\": {\"a\": {\"command\": \"killick\", \"args\": "
			      "[\"run\", \"--\", \"x\"]}}}");
	RUN(0, "wrap", "--hub", "--dry-run", "my.json");
	PRINTS(" move to hub ");
	RUN(0, "wrap", "--hub", "--json", "my.json");
	PRINTS("\"state\":\"move to hub\"");
	RUN(0, "wrap", "--hub", "--yes", "my.json");
	PRINTS("Changed 1 server in 1 file.");
	RUN(0, "unwrap", "--help");
	PRINTS("A server that was wrapped before --hub is unwrapped completely.");
	RUN(0, "unwrap", "--yes", "my.json");
	OK(strstr(contents("my.json"), "{\"command\": \"x\""));
}

TEST(a_dry_run_prints_the_command_that_would_change_the_files, .timeout_ms = TEST_MS)
{
	begin_home();
	killick_in_path();
	write_file("my file.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}");
	RUN(0, "wrap", "--hub", "--idle", "5m", "--dry-run", "my file.json");
	PRINTS("Nothing was changed; `killick wrap --hub --idle 5m 'my file.json'` asks and "
	       "writes.\n");
	RUN(0, "wrap", "--dry-run", "--yes", "my file.json");
	PRINTS("Nothing was changed; `killick wrap --yes 'my file.json'` writes.\n");
	RUN(0, "wrap", "--yes", "my file.json");
	RUN(0, "unwrap", "my file.json", "--server=a", "--dry-run");
	PRINTS("Nothing was changed; `killick unwrap 'my file.json' --server=a` asks and "
	       "writes.\n");
}

TEST(a_server_with_options_of_killick_run_does_not_move_to_the_hub, .timeout_ms = TEST_MS)
{
	static const char text[] =
		"{\"mcpServers\": {\"a\": {\"command\": \"killick\", \"args\": [\"run\", "
		"\"--max-mem\", \"1G\", \"--\", \"x\"]}}}";

	begin_home();
	killick_in_path();
	write_file("home/.claude.json", text);
	RUN(0, "wrap", "--hub", "--yes");
	PRINTS("it has options of its own: --max-mem; edit it by hand");
	PRINTS("Nothing to wrap.");
	STREQ(contents("home/.claude.json"), text);
}

TEST(a_name_that_a_client_would_expand_is_not_written, .timeout_ms = TEST_MS)
{
	begin_home();
	killick_in_path();
	write_file("my.json", "{\"mcpServers\": {\"${HOME}\": {\"command\": \"x\"}, \"-v\": "
			      "{\"command\": \"y\", \"args\": [\"z\"]}}}");
	RUN(0, "wrap", "--hub", "--yes", "my.json");
	STREQ(contents("my.json"), "{\"mcpServers\": {\"${HOME}\": {\"command\": \"killick\", "
				   "\"args\": [\"connect\",\"--\",\"x\"]}, \"-v\": "
				   "{\"command\": \"killick\", \"args\": [\"connect\", \"--\", "
				   "\"y\", \"z\"]}}}");
}

TEST(desktop_clients_get_the_full_path_and_others_the_name, .timeout_ms = TEST_MS)
{
	char want[400];

	write_clients();
	RUN(0, "wrap", "--yes");
	PRINTS("these clients get the full path of killick:");
	snprintf(want, sizeof(want), "\"command\" : \"%s/bin/killick\"", t_audit.dir);
	OK(strstr(contents("home/.cursor/mcp.json"), want));
	OK(strstr(contents("home/.claude.json"), "\"command\": \"killick\""));
	RUN(0, "unwrap", "--yes");
	setenv("PATH", "/usr/bin:/bin", 1);
	RUN(0, "wrap", "--yes");
	PRINTS("killick is not in your PATH, so its full path is written");
	OK(!strstr(contents("home/.claude.json"), "\"command\": \"killick\""));
	OK(strstr(contents("home/.claude.json"), "/killick\",\n      \"args\""));
	RUN(0, "unwrap", "--yes");
	check_unchanged();
}

static void copy(const char *from, const char *to)
{
	char *argv[] = { (char *)"cp", (char *)from, (char *)to, NULL };

	EQ(t_wait_child(t_spawn(argv, (int[]){ -1, -1, -1 }), RUN_MS), 0);
}

TEST(doctor_names_servers_whose_killick_is_gone, .timeout_ms = TEST_MS)
{
	begin_home();
	write_file("home/.claude.json",
		   "{\"mcpServers\": {\"a\": {\"command\": \"/gone/killick\", \"args\": "
		   "[\"run\", \"--\", \"x\"]}}}");
	RUN(0, "doctor");
	PRINTS("claude-code cannot start a: no program /gone/killick");
	PRINTS("to mend it: killick wrap\n");
	PRINTS("held by killick: 0, not held: 1");
	RUN(0, "unwrap", "--yes");
	STREQ(contents("home/.claude.json"),
	      "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": []}}}");
}

TEST(wrap_mends_servers_whose_killick_is_gone, .timeout_ms = TEST_MS)
{
	begin_home();
	killick_in_path();
	write_file("home/.claude.json",
		   "{\"mcpServers\": {\"a\": {\"command\": \"/gone/killick\", \"args\": "
		   "[\"run\", \"--\", \"x\"]}, \"b\": {\"command\": \"/gone/killick\", "
		   "\"args\": [\"connect\", \"--server\", \"b\", \"--\", \"y\"]}, "
		   "\"c\": {\"command\": \"killick\", \"args\": [\"run\", \"--\", \"z\"]}}}");
	RUN(0, "wrap", "--yes");
	PRINTS("Changed 2 servers in 1 file.");
	STREQ(contents("home/.claude.json"),
	      "{\"mcpServers\": {\"a\": {\"command\": \"killick\", \"args\": "
	      "[\"run\", \"--\", \"x\"]}, \"b\": {\"command\": \"killick\", "
	      "\"args\": [\"connect\", \"--server\", \"b\", \"--\", \"y\"]}, "
	      "\"c\": {\"command\": \"killick\", \"args\": [\"run\", \"--\", \"z\"]}}}");
	RUN(0, "doctor");
	PRINTS("held by killick: 3, not held: 0");
	/* a name that PATH does not have any more */
	setenv("PATH", "/usr/bin:/bin", 1);
	RUN(0, "doctor");
	PRINTS("claude-code cannot start a: no program killick in PATH");
	RUN(0, "wrap", "--dry-run");
	PRINTS("mend");
}

TEST(killick_in_the_cache_of_npx_is_not_written, .timeout_ms = TEST_MS)
{
	static const char cache[] = "home/.npm/_npx/1/node_modules/.bin";
	char path[600], program[300], *argv[] = { program, (char *)"wrap", (char *)"--yes", NULL };
	struct child c;

	begin_home();
	make_dirs("home/.npm/_npx/1/node_modules/.bin/x");
	write_file("home/.claude.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}");
	snprintf(path, sizeof(path), "%s/killick-more", cache);
	snprintf(program, sizeof(program), "%s-more", killick());
	copy(program, path);
	snprintf(program, sizeof(program), "%s/%s/killick", t_audit.dir, cache);
	copy(killick(), program);
	snprintf(path, sizeof(path), "%s/%s:/usr/bin:/bin", t_audit.dir, cache);
	setenv("PATH", path, 1);
	c = start(argv, -1);
	EQ(finish(&c), 69);
	SAYS("install it with 'npm install -g killick' and try again");
	OK(!file_has("home/.claude.json", "killick"));
	RUN(0, "wrap", "--yes"); /* another killick, which is not in PATH */
	PRINTS("killick is not in your PATH, so its full path is written");
	OK(!file_has("home/.claude.json", "_npx"));
}

TEST(only_server_and_file_choose_what_is_wrapped, .timeout_ms = TEST_MS)
{
	write_clients();
	RUN(0, "wrap", "--yes", "--only", "zed", "--server", "new");
	PRINTS("Wrapped 1 server in 1 file.");
	OK(strstr(contents("home/.config/zed/settings.json"), "\"path\": \"/opt/z\""));
	RUN(0, "unwrap", "--yes", "home/.config/zed/settings.json");
	check_unchanged();
	write_file("my.json", "{\"servers\": {\"a\": {\"command\": \"x\", \"args\": [\"y\"]}}}");
	RUN(0, "wrap", "--yes", "my.json");
	STREQ(contents("my.json"), "{\"servers\": {\"a\": {\"command\": \"killick\", \"args\": "
				   "[\"run\", \"--\", \"x\", \"y\"]}}}");
	check_unchanged();
	RUN(64, "wrap", "--only", "emacs");
	SAYS("unknown client 'emacs'; known are claude-code, claude-desktop, codex");
	RUN(65, "wrap", "--yes", "no-such-file");
	SAYS("cannot read no-such-file: No such file or directory; the file is left alone");
	RUN(64, "wrap", "--", "x");
}

TEST(project_files_are_found_up_to_the_top_of_the_work_tree, .timeout_ms = TEST_MS)
{
	begin_home();
	killick_in_path();
	make_dirs("work/.git/x");
	make_dirs("work/[id]/.vscode/x");
	write_file("work/.mcp.json", "{\"mcpServers\": {\"top\": {\"command\": \"x\"}}}");
	write_file("work/[id]/.vscode/mcp.json",
		   "{\"servers\": {\"below\": {\"command\": \"x\"}}}");
	write_file(".mcp.json", "{\"mcpServers\": {\"above\": {\"command\": \"x\"}}}");
	OK(chdir("work/[id]") == 0);
	RUN(0, "wrap", "--dry-run");
	PRINTS("top");
	PRINTS("below");
	OK(!strstr(out, "above"));
	OK(chdir(t_audit.dir) == 0);
}

TEST(a_file_of_continue_is_known_by_its_directory, .timeout_ms = TEST_MS)
{
	static const char text[] = "mcpServers:\n  - name: a\n    command: npx\n";
	char want[400];

	need_yaml();
	begin_home();
	killick_in_path();
	make_dirs("work/p[id]/.continue/mcpServers/x");
	OK(chdir("work/p[id]") == 0);
	write_file(".continue/mcpServers/a.yaml", text);
	snprintf(want, sizeof(want), "command: \"%s/bin/killick\"", t_audit.dir);
	RUN(0, "wrap", "--yes", ".continue/mcpServers/a.yaml");
	if (!strstr(contents(".continue/mcpServers/a.yaml"), want))
		FAIL("no '%s' in: %s", want, contents(".continue/mcpServers/a.yaml"));
	RUN(0, "unwrap", "--yes", ".continue/mcpServers/a.yaml");
	STREQ(contents(".continue/mcpServers/a.yaml"), text);
	RUN(0, "wrap", "--dry-run"); /* the brackets of the directory are no pattern */
	PRINTS(" continue\n");
	OK(chdir(t_audit.dir) == 0);
}

TEST(a_variable_moves_the_files_of_a_client, .timeout_ms = TEST_MS)
{
	char dir[200];

	need_yaml();
	begin_home();
	killick_in_path();
	snprintf(dir, sizeof(dir), "%s/other", t_audit.dir);
	make_dirs("other/claude/x");
	make_dirs("other/goose/x");
	setenv("CODEX_HOME", dir, 1);
	setenv("XDG_CONFIG_HOME", dir, 1);
	write_file("other/config.toml", "[mcp_servers.a]\ncommand = 'x'\n");
	write_file("other/goose/config.yaml", "extensions:\n  g:\n    cmd: x\n");
	snprintf(dir, sizeof(dir), "%s/other/claude", t_audit.dir);
	setenv("CLAUDE_CONFIG_DIR", dir, 1);
	write_file("other/claude/.claude.json", "{\"mcpServers\": {\"c\": {\"command\": \"x\"}}}");
	RUN(0, "wrap", "--yes");
	PRINTS("Wrapped 3 servers in 3 files.");
}

TEST(mode_and_link_stay_and_the_backup_is_beside_the_file, .timeout_ms = TEST_MS)
{
	struct stat st;

	begin_home();
	killick_in_path();
	make_dirs("dotfiles/x");
	make_dirs("home/.cursor/x");
	write_file("dotfiles/cursor.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}");
	OK(chmod("dotfiles/cursor.json", 0640) == 0);
	OK(symlink("../../dotfiles/cursor.json", "home/.cursor/mcp.json") == 0);
	RUN(0, "wrap", "--yes");
	OK(lstat("home/.cursor/mcp.json", &st) == 0 && S_ISLNK(st.st_mode));
	OK(stat("dotfiles/cursor.json", &st) == 0);
	EQ(st.st_mode & 07777, 0640);
	EQ(st.st_uid, geteuid());
	OK(stat("dotfiles/cursor.json.before-killick", &st) == 0);
	EQ(st.st_mode & 07777, 0640);
	OK(file_has("dotfiles/cursor.json", "/bin/killick"));
	OK(access("home/.cursor/mcp.json.before-killick", F_OK) < 0);
}

TEST(the_owner_of_a_file_stays, .timeout_ms = TEST_MS)
{
	struct stat st;

	if (geteuid() != 0)
		SKIP("only root can make a file of another user");
	begin_home();
	killick_in_path();
	write_file("home/.claude.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}");
	OK(chown("home/.claude.json", 12345, 23456) == 0);
	RUN(0, "wrap", "--yes");
	OK(stat("home/.claude.json", &st) == 0);
	EQ(st.st_uid, 12345);
	EQ(st.st_gid, 23456);
	OK(file_has("home/.claude.json", "killick"));
}

TEST(a_file_that_is_not_understood_is_left_alone_and_the_others_are_wrapped, .timeout_ms = TEST_MS)
{
	write_clients();
	write_file("home/.cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"a\": [}\n");
	write_file("home/.codex/config.toml", "a = 1\n[mcp_servers.x\n");
	RUN(65, "wrap", "--yes");
	SAYS("/home/.cursor/mcp.json:3: ");
	SAYS("/home/.codex/config.toml:2: ] was expected behind the name of a table; the file is "
	     "left "
	     "alone");
	PRINTS("Wrapped 8 servers in 6 files.");
	STREQ(contents("home/.codex/config.toml"), "a = 1\n[mcp_servers.x\n");
	OK(access("home/.codex/config.toml.before-killick", F_OK) < 0);
	RUN(0, "doctor");
	PRINTS("not understood: ");
}

TEST(wrap_asks_once_on_a_terminal, .timeout_ms = TEST_MS)
{
	static const struct {
		const char *answer;
		int status;
	} rows[] = { { "n\n", 1 }, { "\n", 1 }, { "\004", 1 }, { "\003", 1 }, { "y\n", 0 } };

	write_clients();
	for (size_t i = 0; i < 5; i++) {
		struct child c = on_terminal("wrap", NULL);

		listen_for(&c, "Wrap 10 servers in 8 files? [y/N] ");
		OK(write(c.out, rows[i].answer, strlen(rows[i].answer)) > 0);
		EQ(finish(&c), rows[i].status);
		nothing_left();
		if (rows[i].status) {
			check_unchanged();
			PRINTS("\nNothing was changed.");
		}
		for (char *rest = out, *line; (line = strsep(&rest, "\r\n"));)
			if (strncmp(line, "FILE", 4) == 0 && strlen(line) > 80)
				FAIL("%zu columns: %s", strlen(line), line);
	}
	OK(file_has("home/.claude.json", "killick"));
}

TEST(without_a_terminal_wrap_changes_nothing_and_says_so, .timeout_ms = TEST_MS)
{
	write_clients();
	RUN(1, "wrap");
	SAYS("nothing was changed: no terminal to ask on; add '--yes'");
	check_unchanged();
}

TEST(json_has_every_file_and_server, .timeout_ms = TEST_MS)
{
	write_clients();
	RUN(0, "wrap", "--json");
	PRINTS("\"servers\":10");
	PRINTS("\"client\":\"codex\"");
	PRINTS("\"name\":\"db\",\"project\":\"/src/app\"");
	PRINTS("\"state\":\"wrap\"");
	PRINTS("\"written\":false");
	check_unchanged();
	RUN(0, "wrap", "--json", "--yes");
	PRINTS("\"written\":true");
	RUN(0, "doctor", "--json");
	PRINTS("\"clients\":{\"yaml\":true");
	RUN(0, "unwrap", "--json", "--yes");
	check_unchanged();
}

TEST(without_configs_there_is_nothing_to_do, .timeout_ms = TEST_MS)
{
	begin_home();
	killick_in_path();
	RUN(0, "wrap");
	PRINTS("No config file of an MCP client was found");
	RUN(0, "doctor");
	PRINTS("no config file was found here or in your home directory");
	write_file("home/.claude.json", "");
	RUN(0, "unwrap");
	PRINTS("The config file has no MCP servers.");
	RUN(0, "wrap", "--help");
	PRINTS("usage: killick wrap");
	RUN(0, "help", "unwrap");
	PRINTS("usage: killick unwrap");
}

TEST(a_directory_that_cannot_be_written_keeps_its_file, .timeout_ms = TEST_MS)
{
	if (geteuid() == 0)
		SKIP("root can write to every directory");
	write_clients();
	OK(chmod("home/.cursor", 0555) == 0);
	RUN(75, "wrap", "--yes", "--only", "cursor");
	SAYS("cannot write");
	OK(chmod("home/.cursor", 0755) == 0);
	check_unchanged();
}

static void write_large(const char *path, size_t size)
{
	static const char item[] =
		"{\"display\": \"a \\\"prompt\\\" {[\", \"pastedContents\": {}},\n";
	FILE *f = fopen(path, "we");

	OK(f);
	fputs("{\"projects\": {\"/a\": {\"mcpServers\": {\"first\": {\"command\": \"x\"}}, "
	      "\"history\": [\n",
	      f);
	for (size_t n = 0; n < size; n += sizeof(item) - 1)
		fputs(item, f);
	fputs("{}]}}, \"mcpServers\": {\"last\": {\"command\": \"y\", \"args\": []}}}\n", f);
	OK(fclose(f) == 0);
}

static bool same_files(const char *a, const char *b)
{
	char *argv[] = { (char *)"cmp", (char *)a, (char *)b, NULL };

	return t_wait_child(t_spawn(argv, (int[]){ -1, -1, -1 }), RUN_MS) == 0;
}

TEST(a_config_of_60_mb_is_wrapped_in_bounded_time_and_memory, .timeout_ms = 120000)
{
	enum { SIZE = 60 << 20 };
	struct rusage use;
	double begin_ms, cpu_ms;

	begin_home();
	killick_in_path();
	write_large("home/.claude.json", SIZE);
	write_large("copy", SIZE);
	begin_ms = t_now_ms();
	RUN(0, "wrap", "--yes");
	PRINTS("Wrapped 2 servers in 1 file.");
	OK(strlen(out) < 4000);
	RUN(0, "unwrap", "--yes");
	OK(getrusage(RUSAGE_CHILDREN, &use) == 0);
	cpu_ms = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 +
		 (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e3;
	t_note("wrap and unwrap of 60 MB: %.0f ms, %.0f ms of CPU time, at most %ld KiB",
	       t_now_ms() - begin_ms, cpu_ms, use.ru_maxrss);
	OK(same_files("home/.claude.json", "copy"));
#if T_PATIENCE == 1
	OK(use.ru_maxrss < 300 * 1024); /* the old and the new text, with room for growth */
#endif
	OK(cpu_ms < 15000 * T_PATIENCE); /* the time of the clock depends on the machine */
}

TEST(unwrap_leaves_servers_with_options_of_their_own_alone, .timeout_ms = TEST_MS)
{
	static const char text[] = "{\"mcpServers\": {\"a\": {\"command\": \"killick\", \"args\": "
				   "[\"run\",\"--on\",\"ssh://host\",\"--\",\"node\",\"s.js\"]}}}";

	begin_home();
	killick_in_path();
	write_file("home/.claude.json", text);
	RUN(0, "unwrap", "--yes");
	PRINTS("left alone");
	PRINTS("it has options of its own: --on; edit it by hand");
	PRINTS("Nothing to unwrap.");
	STREQ(contents("home/.claude.json"), text);
	RUN(0, "wrap", "--yes");
	PRINTS("wrapped");
	PRINTS("Nothing to wrap.");
	STREQ(contents("home/.claude.json"), text);
}

static const char two_servers[] = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}, \"b\": "
				  "{\"command\": \"y\"}}}";

TEST(the_first_copy_is_kept_until_the_last_server_is_unwrapped, .timeout_ms = TEST_MS)
{
	begin_home();
	killick_in_path();
	write_file("home/.claude.json", two_servers);
	RUN(0, "wrap", "--yes", "--server", "a");
	PRINTS("The file as it was before:\n  ~/.claude.json.before-killick\n");
	RUN(0, "wrap", "--yes", "--server", "b");
	PRINTS("  ~/.claude.json.before-killick\n");
	STREQ(contents("home/.claude.json.before-killick"), two_servers);
	OK(access("home/.claude.json.before-killick.1", F_OK) < 0);
	RUN(0, "unwrap", "--yes", "--server", "a");
	STREQ(contents("home/.claude.json.before-killick"), two_servers);
	RUN(0, "unwrap", "--yes");
	OK(!strstr(out, "before"));
	STREQ(contents("home/.claude.json"), two_servers);
	OK(access("home/.claude.json.before-killick", F_OK) < 0);
}

TEST(a_file_of_the_user_with_the_name_of_the_copy_stays, .timeout_ms = TEST_MS)
{
	begin_home();
	killick_in_path();
	write_file("home/.claude.json", two_servers);
	write_file("home/.claude.json.before-killick", "mine");
	RUN(0, "wrap", "--yes");
	PRINTS("  ~/.claude.json.before-killick.1\n");
	STREQ(contents("home/.claude.json.before-killick"), "mine");
	STREQ(contents("home/.claude.json.before-killick.1"), two_servers);
	RUN(0, "unwrap", "--yes");
	PRINTS("This copy differs from the restored file and was not removed:\n  "
	       "~/.claude.json.before-killick\n");
	STREQ(contents("home/.claude.json.before-killick"), "mine");
	OK(access("home/.claude.json.before-killick.1", F_OK) < 0);
}

TEST(the_copy_of_a_file_in_a_git_work_tree_is_in_the_state_directory, .timeout_ms = TEST_MS)
{
	char copied[700];
	struct stat st;

	begin_home();
	killick_in_path();
	unsetenv("XDG_STATE_HOME");
	make_dirs("work/.git/x");
	write_file("work/.mcp.json", two_servers);
	OK(chmod("work/.mcp.json", 0644) == 0 && chdir("work") == 0);
	RUN(0, "wrap", "--yes");
	PRINTS("~/.local/state/killick/backups/%2F");
	OK(access(".mcp.json.before-killick", F_OK) < 0);
	OK(sscanf(strstr(out, "backups/%2F"), "%600s", copied) == 1);
	OK(chdir("../home/.local/state/killick") == 0);
	OK(stat(copied, &st) == 0);
	EQ(st.st_mode & 07777, 0600);
	OK(stat("backups", &st) == 0);
	EQ(st.st_mode & 07777, 0700);
	STREQ(contents(copied), two_servers);
	OK(chdir(t_audit.dir) == 0 && chdir("work") == 0);
	RUN(0, "unwrap", "--yes");
	STREQ(contents(".mcp.json"), two_servers);
	OK(chdir("../home/.local/state/killick") == 0);
	OK(access(copied, F_OK) < 0);
	OK(chdir(t_audit.dir) == 0);
}

TEST(wrong_names_are_answered_with_the_right_ones, .timeout_ms = TEST_MS)
{
	begin_home();
	killick_in_path();
	write_file("home/.claude.json", two_servers);
	write_file("a.json", "not JSON");
	RUN(65, "wrap", "a.json");
	STREQ(out, "");
	RUN(65, "wrap", "none.json");
	STREQ(out, "");
	RUN(64, "wrap", "codex");
	SAYS("there is no file 'codex'; for the files of this client write '--only codex'");
	RUN(64, "wrap", "--server", "nope");
	SAYS("no server 'nope'; there are a, b");
	RUN(64, "wrap", "--only", "claude");
	SAYS("unknown client 'claude'; did you mean 'claude-code'?; known are claude-code");
	RUN(64, "wrap", "--only", "cursr");
	SAYS("did you mean 'cursor'?");
}

TEST(the_table_has_commands_and_file_names_at_60_columns, .timeout_ms = TEST_MS)
{
	static const unsigned short widths[] = { 80, 60 };

	write_clients();
	for (size_t i = 0; i < 2; i++) {
		struct child c;

		columns = widths[i];
		c = on_terminal("wrap", "--dry-run", NULL);
		EQ(finish(&c), 0);
		PRINTS("COMMAND");
		PRINTS("mcp-server");
		PRINTS("_config.json");
		PRINTS("settings.json");
		PRINTS("part of the");
		*strstr(out, "--- ") = '\0';
		for (char *rest = out, *line; (line = strsep(&rest, "\r\n"));)
			if (strlen(line) > columns && !strstr(line, "/killick"))
				FAIL("%zu columns: %s", strlen(line), line);
	}
}

static void git(const char *const *words)
{
	char *argv[12] = { (char *)"git", (char *)"-C", (char *)"work" };

	for (size_t i = 0; i < 8 && words[i]; i++)
		argv[i + 3] = (char *)words[i];
	EQ(t_wait_child(t_spawn(argv, (int[]){ -1, -1, -1 }), RUN_MS), 0);
}
#define GIT(...) git((const char *const[]){ __VA_ARGS__, NULL })

TEST(a_file_that_git_tracks_is_left_alone_unless_it_is_named, .timeout_ms = TEST_MS)
{
	static const char *const versions[] = { "2", "4" };

	if (access("/usr/bin/git", X_OK) < 0)
		SKIP("git is not installed");
	begin_home();
	killick_in_path();
	make_dirs("work/.cursor/x");
	make_dirs("work/.vscode/x");
	write_file("work/.mcp.json", two_servers);
	write_file("work/.cursor/mcp.json", two_servers);
	GIT("init", "-q");
	for (size_t i = 0; i < 2; i++) {
		GIT("add", ".mcp.json");
		GIT("update-index", "--index-version", versions[i]);
		OK(chdir("work") == 0);
		RUN(0, "wrap", "--yes", "--dry-run");
		PRINTS("Left alone:\n");
		PRINTS(".mcp.json: git tracks the file, so other people would get the change");
		RUN(0, "wrap", "--yes");
		STREQ(contents(".mcp.json"), two_servers);
		OK(file_has(".cursor/mcp.json", "killick"));
		RUN(0, "wrap", "--yes", ".mcp.json");
		OK(file_has(".mcp.json", "killick"));
		RUN(0, "unwrap", "--yes");
		STREQ(contents(".mcp.json"), two_servers);
		OK(chdir(t_audit.dir) == 0);
	}
	/* a linked work tree has its own index */
	GIT("-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x");
	GIT("worktree", "add", "-q", "../linked");
	OK(chdir("linked") == 0);
	RUN(0, "wrap", "--yes");
	PRINTS("git tracks the file");
	STREQ(contents(".mcp.json"), two_servers);
	OK(chdir(t_audit.dir) == 0);
}

TEST(a_read_only_file_is_left_alone, .timeout_ms = TEST_MS)
{
	begin_home();
	killick_in_path();
	write_file("home/.claude.json", two_servers);
	OK(chmod("home/.claude.json", 0444) == 0);
	RUN(0, "wrap", "--yes");
	PRINTS("~/.claude.json: the file is read-only; make it writable and try again");
	PRINTS("Nothing to wrap.");
	STREQ(contents("home/.claude.json"), two_servers);
}

TEST(the_diff_shows_carriage_returns_and_the_byte_order_mark, .timeout_ms = TEST_MS)
{
	begin_home();
	killick_in_path();
	write_file(
		"home/.claude.json",
		"\xef\xbb\xbf{\"mcpServers\": {\r\n \"a\": {\r\n  \"command\": \"x\"\r\n }}}\r\n");
	RUN(0, "wrap", "--dry-run");
	PRINTS(" <U+FEFF>{\"mcpServers\": {^M\n");
	PRINTS("-  \"command\": \"x\"^M\n");
	PRINTS("+  \"command\": \"killick\",^M\n+  \"args\": [\"run\",\"--\",\"x\"]^M\n");
}

/* The number of files in the home directory beside the config. */
static size_t count_others(void)
{
	DIR *d = opendir("home");
	struct dirent *e;
	size_t count = 0;

	OK(d);
	while ((e = readdir(d)) != NULL)
		count += e->d_type == DT_REG && strcmp(e->d_name, ".claude.json") != 0;
	closedir(d);
	return count;
}

/* Has the process written this many bytes? True, too, if it has ended. */
static bool has_written(pid_t pid, long long bytes)
{
	char path[40], line[80];
	long long n = bytes;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "wchar: %lld", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n >= bytes;
}

TEST(a_wrap_that_is_killed_while_it_writes_leaves_no_file_beside_the_config, .timeout_ms = 120000)
{
	static const char left[] = "home/..claude.json.killick-0123456789abcdef";
	char *argv[] = { (char *)killick(), (char *)"wrap", (char *)"--yes", NULL };
	struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

	begin_home();
	killick_in_path();
	write_large("copy", 30 << 20);
	/* the copy of the old file has 30 MB, and then the new file */
	for (long long mb = 5; mb < 60; mb += 15) {
		struct child c;

		write_large("home/.claude.json", 30 << 20);
		c = start(argv, -1);
		while (!has_written(c.pid, mb << 20))
			sched_yield();
		kill(c.pid, SIGKILL);
		finish(&c);
		/* the copy is complete, or not there */
		EQ(count_others(), access("home/.claude.json.before-killick", F_OK) == 0);
		if (count_others())
			OK(same_files("copy", "home/.claude.json.before-killick"));
		unlink("home/.claude.json.before-killick");
	}
	/* on a file system without unnamed files, an old one is removed by the next wrap */
	write_file(left, "x");
	OK(utimensat(AT_FDCWD, left, old, 0) == 0);
	write_file("home/.claude.json", two_servers);
	RUN(0, "wrap", "--yes");
	OK(access(left, F_OK) < 0);
}

TEST(unwrap_all_finds_the_files_of_other_projects, .timeout_ms = TEST_MS)
{
	begin_home();
	killick_in_path();
	unsetenv("XDG_STATE_HOME");
	make_dirs("one/x");
	make_dirs("two/x");
	write_file("one/.mcp.json", two_servers);
	write_file("two/.mcp.json", two_servers);
	write_file("home/.claude.json", two_servers);
	OK(chdir("one") == 0);
	RUN(0, "wrap", "--yes");
	OK(chdir("../two") == 0);
	RUN(0, "wrap", "--yes");
	OK(chdir("../work") == 0);
	RUN(0, "unwrap", "--dry-run");
	PRINTS("2 more files with wrapped servers: `killick unwrap --all` lists them.");
	RUN(0, "unwrap", "--yes", "--all");
	PRINTS("Unwrapped 6 servers in 3 files.");
	OK(chdir(t_audit.dir) == 0);
	STREQ(contents("one/.mcp.json"), two_servers);
	STREQ(contents("two/.mcp.json"), two_servers);
	STREQ(contents("home/.claude.json"), two_servers);
	RUN(0, "unwrap", "--all");
	PRINTS("Nothing to unwrap.");
}
