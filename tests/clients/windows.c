/* windows.c - clients on Windows, looked at from any machine: the paths of their files, the command
 * that wrap writes, and the commands that configs for Windows have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../t.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"
#include "clients/clients.h"
#include "clients/configfile.h"

#define HOME    "C:\\Users\\Ann Lee"
#define ROAMING HOME "\\AppData\\Roaming"
#define LOCAL   HOME "\\AppData\\Local"

static const char *extra[2]; /* "NAME=value" of the test */
static const char *programs; /* the paths of all programs, with | around each */

static const char *variable(const char *name)
{
	static const char *const usual[] = { "USERPROFILE=" HOME, "APPDATA=" ROAMING,
					     "LOCALAPPDATA=" LOCAL, "HOME=/c/Users/Ann Lee" };
	size_t len = strlen(name);

	for (size_t i = 0; i < 6; i++) {
		const char *v = i < 2 ? extra[i] : usual[i - 2];

		if (v && strncmp(v, name, len) == 0 && v[len] == '=')
			return v[len + 1] ? v + len + 1 : NULL;
	}
	return NULL;
}

static bool has_program(const char *path)
{
	char text[300];

	snprintf(text, sizeof(text), "|%s|", path);
	return programs && strstr(programs, text);
}

static const struct machine windows = { MACHINE_WINDOWS, variable, has_program };

/* The paths of a client with | between them; until the next call. */
static const char *paths(const char *client)
{
	static char out[4096];
	char **list = clients_paths(clients_get(client), &windows);
	size_t len = 0;

	out[0] = '\0';
	for (char **p = list; p && *p; p++)
		len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%s", len ? "|" : "", *p);
	strings_free(list);
	return out;
}

#define STORAGE(id_)                                                                               \
	ROAMING "\\Code\\User\\globalStorage\\" id_ "|" ROAMING                                    \
		"\\Code - Insiders\\User\\globalStorage\\" id_ "|" ROAMING                         \
		"\\VSCodium\\User\\globalStorage\\" id_

TEST(the_files_of_every_client_on_windows)
{
	static const char *const cases[][2] = {
		{ "claude-code", HOME "\\.claude.json|.mcp.json" },
		{ "claude-desktop", ROAMING "\\Claude\\claude_desktop_config.json|" LOCAL
					    "\\Packages\\Claude_pzs8sxrjxfjjc\\LocalCache\\Roaming"
					    "\\Claude\\claude_desktop_config.json" },
		{ "codex", HOME "\\.codex\\config.toml|.codex/config.toml" },
		{ "vscode", ROAMING "\\Code\\User\\mcp.json|" ROAMING
				    "\\Code\\User\\profiles\\*\\mcp.json|" ROAMING
				    "\\Code - Insiders\\User\\mcp.json|" ROAMING
				    "\\Code - Insiders\\User\\profiles\\*\\mcp.json|" ROAMING
				    "\\VSCodium\\User\\mcp.json|.vscode/mcp.json" },
		{ "copilot", HOME "\\.copilot\\mcp-config.json|.github/mcp.json" },
		{ "cursor", HOME "\\.cursor\\mcp.json|.cursor/mcp.json" },
		{ "windsurf", HOME "\\.codeium\\windsurf\\mcp_config.json|" HOME
				   "\\.codeium\\mcp_config.json" },
		{ "gemini", HOME "\\.gemini\\settings.json|.gemini/settings.json" },
		{ "antigravity", HOME "\\.gemini\\config\\mcp_config.json|" HOME
				      "\\.gemini\\antigravity\\mcp_config.json" },
		{ "opencode", HOME "\\.config\\opencode\\opencode.json|" HOME
				   "\\.config\\opencode\\opencode.jsonc|" HOME
				   "\\.config\\opencode\\config.json|opencode.json|opencode.jsonc|"
				   ".opencode/opencode.json|.opencode/opencode.jsonc" },
		{ "goose", ROAMING "\\Block\\goose\\config\\config.yaml" },
		{ "zed", ROAMING "\\Zed\\settings.json|.zed/settings.json" },
		{ "cline", HOME "\\.cline\\data\\settings\\cline_mcp_settings.json|" STORAGE(
				   "saoudrizwan.claude-dev\\settings\\cline_mcp_settings.json") },
		{ "roo", ".roo/mcp.json|" STORAGE(
				 "rooveterinaryinc.roo-cline\\settings\\mcp_settings.json") },
		{ "kilo", ".kilocode/mcp.json|" STORAGE(
				  "kilocode.kilo-code\\settings\\mcp_settings.json") },
		{ "kiro", HOME "\\.kiro\\settings\\mcp.json|.kiro/settings/mcp.json" },
		{ "continue",
		  HOME "\\.continue\\config.yaml|" HOME "\\.continue\\mcpServers\\*.yaml|" HOME
		       "\\.continue\\mcpServers\\*.json|.continue/mcpServers/*.yaml|"
		       ".continue/mcpServers/*.json" },
		{ "lmstudio", HOME "\\.lmstudio\\mcp.json" },
		{ "junie", HOME "\\.junie\\mcp\\mcp.json|.junie/mcp/mcp.json" },
		{ "qwen", HOME "\\.qwen\\settings.json|.qwen/settings.json" },
		{ "amp", HOME "\\.config\\amp\\settings.json|.amp/settings.json" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		STREQ(paths(cases[i][0]), cases[i][1]);
	OK(!clients_at(sizeof(cases) / sizeof(cases[0]))); /* these are all clients */
}

TEST(variables_move_the_files_of_a_client_on_windows)
{
	extra[0] = "CODEX_HOME=D:\\codex";
	STREQ(paths("codex"), "D:\\codex\\config.toml|.codex/config.toml");
	extra[0] = "CODEX_HOME=/d/codex"; /* as a shell of another system writes it */
	STREQ(paths("codex"), HOME "\\.codex\\config.toml|.codex/config.toml");
	extra[0] = "CODEX_HOME=codex";
	STREQ(paths("codex"), HOME "\\.codex\\config.toml|.codex/config.toml");
	extra[0] = "CLAUDE_CONFIG_DIR=\\\\server\\share\\claude";
	STREQ(paths("claude-code"), "\\\\server\\share\\claude\\.claude.json|.mcp.json");
	extra[0] = "COPILOT_HOME=D:/copilot";
	STREQ(paths("copilot"), "D:/copilot\\mcp-config.json|.github/mcp.json");
	extra[0] = "XDG_CONFIG_HOME=D:\\config";
	OK(strstr(paths("opencode"), "D:\\config\\opencode\\opencode.json|D:\\config\\opencode") ==
	   paths("opencode"));
	STREQ(paths("zed"), ROAMING "\\Zed\\settings.json|.zed/settings.json");
}

TEST(files_in_directories_that_are_not_known_are_left_out)
{
	extra[0] = "APPDATA=";
	STREQ(paths("zed"), ".zed/settings.json");
	extra[1] = "USERPROFILE=";
	STREQ(paths("claude-code"), ".mcp.json");
	STREQ(paths("claude-desktop"), LOCAL "\\Packages\\Claude_pzs8sxrjxfjjc\\LocalCache\\Roaming"
					     "\\Claude\\claude_desktop_config.json");
}

TEST(clients_are_known_by_the_path_of_a_file_of_windows)
{
	STREQ(clients_of_path(HOME "\\.cursor\\mcp.json")->name, "cursor");
	STREQ(clients_of_path(ROAMING "\\Code - Insiders\\User\\mcp.json")->name, "vscode");
	STREQ(clients_of_path(ROAMING "\\Block\\goose\\config\\config.yaml")->name, "goose");
	STREQ(clients_of_path("/mnt/c/Users/a/AppData/Roaming/Zed/settings.json")->name, "zed");
	STREQ(clients_of_path(".codex\\config.toml")->name, "codex");
	STREQ(clients_of_path(HOME "\\.continue\\mcpServers\\a.yaml")->name, "continue");
	OK(!clients_of_path("C:\\x\\my.json"));
	OK(!clients_of_path("C:\\x\\not.mcp.json"));
}

/* Where clients find killick with this PATH; "!": nowhere. */
static const char *found(const char *path, const char *has)
{
	static char out[300], variable_[400];

	snprintf(variable_, sizeof(variable_), "PATH=%s", path);
	extra[0] = variable_;
	programs = has;
	return machine_find_killick(&windows, out, sizeof(out)) ? out : "!";
}

TEST(clients_find_killick_by_its_name_only_as_an_exe)
{
	STREQ(found("C:\\a;C:\\b b", "|C:\\b b\\killick.exe|"), "C:\\b b\\killick.exe");
	STREQ(found("C:\\a;;C:\\b", "|C:\\a\\killick.exe|C:\\b\\killick.exe|"),
	      "C:\\a\\killick.exe");
	STREQ(found("C:\\npm", "|C:\\npm\\killick.cmd|C:\\npm\\killick|C:\\npm\\killick.ps1|"),
	      "!");
	STREQ(found(".;x;\\x", "|.\\killick.exe|x\\killick.exe|\\x\\killick.exe|"), "!");
	STREQ(found("C:\\c\\_npx\\1\\node_modules\\.bin;C:\\p\\node_modules\\.bin",
		    "|C:\\c\\_npx\\1\\node_modules\\.bin\\killick.exe|"
		    "C:\\p\\node_modules\\.bin\\killick.exe|"),
	      "!");
	STREQ(found("", "|\\killick.exe|"), "!");
	extra[0] = NULL;
	programs = NULL;
	OK(!machine_find_killick(&windows, (char[300]){ 0 }, 300));
	OK(machine_is_npx_cache("C:\\c\\_npx\\1", 11) && !machine_is_npx_cache("C:\\c\\_npx", 9));
}

/* The state of the server in a config with this command and arguments, and why. */
static enum entry_state state_of(const char *members, const char **why)
{
	AUTO(entries_done) struct entries all = { .count = 0 };
	enum entry_state state;
	struct fault fault;
	char text[400];

	snprintf(text, sizeof(text), "{\"mcpServers\": {\"a\": {%s}}}", members);
	EQ(entries_find(text, strlen(text), FORMAT_JSON, KEYS_ANY, &all, &fault), 0);
	EQ(all.count, 1);
	state = all.list[0].state;
	*why = all.list[0].why; /* a constant here */
	return state;
}

TEST(killick_is_known_by_the_names_that_it_has_on_windows)
{
	static const char *const wrapped[] = {
		"\"command\": \"killick.exe\", \"args\": [\"run\", \"--\", \"npx\"]",
		"\"command\": \"C:\\\\Program Files\\\\killick\\\\Killick.EXE\", \"args\": "
		"[\"run\", \"--\", \"npx\"]",
		"\"command\": \"C:/x/killick.cmd\", \"args\": [\"run\", \"--\", \"npx\"]",
		"\"command\": \"npx.cmd\", \"args\": [\"-y\", \"killick\", \"run\", \"--\", "
		"\"x\"]",
	};
	const char *why = NULL;

	for (size_t i = 0; i < sizeof(wrapped) / sizeof(wrapped[0]); i++) {
		EQ(state_of(wrapped[i], &why), ENTRY_WRAPPED);
		OK(!why);
	}
	EQ(state_of("\"command\": \"cmd\", \"args\": [\"/d\", \"/C\", \"killick\", \"run\", "
		    "\"--\", \"npx\"]",
		    &why),
	   ENTRY_WRAPPED);
	STREQ(why, "cmd starts killick: edit it by hand");
	EQ(state_of("\"command\": \"cmd.exe\", \"args\": [\"/c\", \"npx\", \"-y\", \"x\"]", &why),
	   ENTRY_BARE);
	EQ(state_of("\"command\": \"notkillick.exe\", \"args\": [\"run\", \"--\", \"x\"]", &why),
	   ENTRY_BARE);
}

TEST(wrap_on_windows_writes_the_path_of_killick_and_leaves_lines_alone)
{
	static const char text[] =
		"{\"mcpServers\": {\n"
		"\"a\": {\"command\": \"npx -y foo\"},\n"
		"\"b\": {\"command\": \"C:\\\\Program Files\\\\b.exe\", \"args\": [\"x\"]},\n"
		"\"c\": {\"command\": \"cmd\", \"args\": [\"/c\", \"npx\"]}}}\n";
	static const char *const want[] = {
		"+\"b\": {\"command\": \"C:\\\\k\\\\killick.exe\", \"args\": [\"run\", \"--\", "
		"\"C:\\\\Program Files\\\\b.exe\", \"x\"]},\n",
		"+\"c\": {\"command\": \"C:\\\\k\\\\killick.exe\", \"args\": [\"run\", \"--\", "
		"\"cmd\", \"/c\", \"npx\"]}}}\n",
	};
	struct client_file given = { .path = "mcp.json" };
	struct configfile_plan plan = { .action = ACTION_WRAP,
					.system = MACHINE_WINDOWS,
					.absolute = "C:\\k\\killick.exe" };
	AUTO(mem_drop) char *diff = NULL;
	struct configfile c;
	size_t len;
	FILE *f;

	OK(chdir(t_audit.dir) == 0);
	f = fopen("mcp.json", "we");
	OK(f && fputs(text, f) >= 0 && fclose(f) == 0);
	configfile_open(&c, &given);
	STREQ(c.fault, "");
	configfile_plan(&c, &plan);
	EQ(c.change_count, 2);
	EQ(c.entries.list[0].state, ENTRY_OTHER);
	STREQ(c.entries.list[0].why,
	      "the command and its arguments are one string: move the arguments to args");
	f = open_memstream(&diff, &len);
	configfile_diff(&c, "mcp.json", f);
	fclose(f);
	if (!strstr(diff, want[0]) || !strstr(diff, want[1]))
		FAIL("the diff is:\n%s", diff);
	configfile_done(&c);
}
