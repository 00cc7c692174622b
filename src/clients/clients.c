/* clients.c - see clients.h */
#include "clients.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"

#define CODE_STORAGE(id_)                                                                          \
	"+/Code/User/globalStorage/" id_ " +/Code@-@Insiders/User/globalStorage/" id_              \
	" +/VSCodium/User/globalStorage/" id_

static const struct client clients[] = {
	{ "claude-code", "Claude Code", KEYS_MCP_SERVERS | KEYS_PROJECTS, false,
	  "~/.claude.json .mcp.json", "CLAUDE_CONFIG_DIR", "~" },
	{ "claude-desktop", "Claude Desktop", KEYS_MCP_SERVERS, true,
	  "+/Claude/claude_desktop_config.json", NULL, NULL },
	{ "codex", "Codex", KEYS_MCP_SERVERS_TOML, false, "~/.codex/config.toml .codex/config.toml",
	  "CODEX_HOME", "~/.codex" },
	{ "vscode", "VS Code", KEYS_SERVERS, true,
	  "+/Code/User/mcp.json +/Code/User/profiles/*/mcp.json +/Code@-@Insiders/User/mcp.json "
	  "+/Code@-@Insiders/User/profiles/*/mcp.json +/VSCodium/User/mcp.json .vscode/mcp.json",
	  NULL, NULL },
	{ "copilot", "Copilot CLI", KEYS_MCP_SERVERS, false,
	  "~/.copilot/mcp-config.json .github/mcp.json", "COPILOT_HOME", "~/.copilot" },
	{ "cursor", "Cursor", KEYS_MCP_SERVERS, true, "~/.cursor/mcp.json .cursor/mcp.json", NULL,
	  NULL },
	{ "windsurf", "Windsurf", KEYS_MCP_SERVERS, true,
	  "~/.codeium/windsurf/mcp_config.json ~/.codeium/mcp_config.json", NULL, NULL },
	{ "gemini", "Gemini CLI", KEYS_MCP_SERVERS, false,
	  "~/.gemini/settings.json .gemini/settings.json", NULL, NULL },
	{ "antigravity", "Antigravity", KEYS_MCP_SERVERS, true,
	  "~/.gemini/config/mcp_config.json ~/.gemini/antigravity/mcp_config.json", NULL, NULL },
	{ "opencode", "opencode", KEYS_MCP, false,
	  "+/opencode/opencode.json +/opencode/opencode.jsonc +/opencode/config.json opencode.json "
	  "opencode.jsonc .opencode/opencode.json .opencode/opencode.jsonc",
	  NULL, NULL },
	{ "goose", "goose", KEYS_EXTENSIONS, false, "+/goose/config.yaml", NULL, NULL },
	{ "zed", "Zed", KEYS_CONTEXT_SERVERS, true, "+/zed/settings.json .zed/settings.json", NULL,
	  NULL },
	{ "cline", "Cline", KEYS_MCP_SERVERS, true,
	  "~/.cline/data/settings/cline_mcp_settings.json " CODE_STORAGE(
		  "saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
	  NULL, NULL },
	{ "roo", "Roo Code", KEYS_MCP_SERVERS, true,
	  ".roo/mcp.json " CODE_STORAGE("rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
	  NULL, NULL },
	{ "kilo", "Kilo Code", KEYS_MCP_SERVERS, true,
	  ".kilocode/mcp.json " CODE_STORAGE("kilocode.kilo-code/settings/mcp_settings.json"), NULL,
	  NULL },
	{ "kiro", "Kiro", KEYS_MCP_SERVERS, true,
	  "~/.kiro/settings/mcp.json .kiro/settings/mcp.json", NULL, NULL },
	{ "continue", "Continue", KEYS_MCP_SERVERS, true,
	  "~/.continue/config.yaml ~/.continue/mcpServers/*.yaml ~/.continue/mcpServers/*.json "
	  ".continue/mcpServers/*.yaml .continue/mcpServers/*.json",
	  NULL, NULL },
	{ "lmstudio", "LM Studio", KEYS_MCP_SERVERS, true, "~/.lmstudio/mcp.json", NULL, NULL },
	{ "junie", "Junie", KEYS_MCP_SERVERS, true, "~/.junie/mcp/mcp.json .junie/mcp/mcp.json",
	  NULL, NULL },
	{ "qwen", "Qwen Code", KEYS_MCP_SERVERS, false, "~/.qwen/settings.json .qwen/settings.json",
	  NULL, NULL },
	{ "amp", "Amp", KEYS_AMP, false, "+/amp/settings.json .amp/settings.json", NULL, NULL },
};
enum { CLIENTS = sizeof(clients) / sizeof(clients[0]), ABOVE_MAX = 64 };

const struct client *clients_get(const char *name)
{
	for (size_t i = 0; i < CLIENTS; i++)
		if (strcmp(clients[i].name, name) == 0)
			return &clients[i];
	return NULL;
}

const struct client *clients_at(size_t i)
{
	return i < CLIENTS ? &clients[i] : NULL;
}

void clients_names(char *out, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < CLIENTS && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s", i ? ", " : "",
					clients[i].name);
}

enum format clients_format(const char *path)
{
	const char *dot = strrchr(path, '.');

	if (dot && strcmp(dot, ".toml") == 0)
		return FORMAT_TOML;
	if (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0))
		return FORMAT_YAML;
	return FORMAT_JSON;
}

/* Get the next pattern of a list, with a space for each @. Returns false at the end of the list. */
static bool clients_next(const char **list, char *out, size_t size)
{
	size_t n;

	*list += strspn(*list, " ");
	n = strcspn(*list, " ");
	if (!n)
		return false;
	snprintf(out, size, "%.*s", (int)n, *list);
	*list += n;
	for (char *at = out; (at = strchr(at, '@')) != NULL;)
		*at = ' ';
	return true;
}

const struct client *clients_of_path(const char *path)
{
	char pattern[256];

	for (size_t i = 0; i < CLIENTS; i++) {
		const char *list = clients[i].files;

		while (clients_next(&list, pattern, sizeof(pattern))) {
			const char *tail = pattern + strspn(pattern, "~+/");
			size_t n = strlen(tail), len = strlen(path);

			if (len >= n && strcmp(path + len - n, tail) == 0 &&
			    (len == n || path[len - n - 1] == '/'))
				return &clients[i];
		}
	}
	return NULL;
}

static bool clients_have(const struct client_files *f, const struct stat *st)
{
	for (size_t i = 0; i < f->count; i++) {
		struct stat other;

		if (stat(f->list[i].path, &other) == 0 && other.st_ino == st->st_ino &&
		    other.st_dev == st->st_dev)
			return true;
	}
	return false;
}

/* Add a file that exists and is not in the list yet. */
static void clients_add_file(const struct client *c, const char *path, bool project,
			     struct client_files *out)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || clients_have(out, &st))
		return;
	out->list = mem_grow(out->list, out->count + 1, sizeof(*out->list));
	out->list[out->count++] =
		(struct client_file){ .client = c, .path = mem_dup(path), .project = project };
}

/* Add the file, or the files that match. Only patterns of the table may be expanded: a directory of
 * the user may have the name [id]. */
static void clients_add(const struct client *c, const char *path, bool pattern, bool project,
			struct client_files *out)
{
	glob_t found = { .gl_pathc = 0 };

	if (!pattern) {
		clients_add_file(c, path, project, out);
		return;
	}
	if (glob(path, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		clients_add_file(c, found.gl_pathv[i], project, out);
	globfree(&found);
}

static const char *clients_variable(const char *name)
{
	const char *value = name ? getenv(name) : NULL;

	return value && *value == '/' ? value : NULL;
}

/* Replace the beginning of a pattern for a file of the user. Returns false if the directory is
 * unknown or the path is too long. */
static bool clients_user_path(const struct client *c, const char *pattern, char *out, size_t size)
{
	const char *home = clients_variable("HOME"), *config = clients_variable("XDG_CONFIG_HOME");
	const char *moved = clients_variable(c->home_var);
	size_t n = c->home_dir ? strlen(c->home_dir) : 0;

	if (moved && c->home_dir && strncmp(pattern, c->home_dir, n) == 0 && pattern[n] == '/')
		return snprintf(out, size, "%s%s", moved, pattern + n) < (int)size;
	if (*pattern == '+' && config)
		return snprintf(out, size, "%s%s", config, pattern + 1) < (int)size;
	if (!home)
		return false;
	return snprintf(out, size, "%s%s%s", home, *pattern == '+' ? "/.config" : "", pattern + 1) <
	       (int)size;
}

/* Add the files of one client in the home directory, or in the directory `project`. */
static void clients_look(const struct client *c, const char *project, struct client_files *out)
{
	const char *list = c->files;
	char pattern[256], path[PATH_MAX];

	while (clients_next(&list, pattern, sizeof(pattern))) {
		bool user = *pattern == '~' || *pattern == '+', any = strchr(pattern, '*');

		if (user && !project && clients_user_path(c, pattern, path, sizeof(path)))
			clients_add(c, path, any, false, out);
		if (!user && project &&
		    snprintf(path, sizeof(path), "%s/%s", project, pattern) < (int)sizeof(path))
			clients_add(c, path, any, true, out);
	}
}

/* Go to the parent directory. Returns false at the top of the project. */
static bool clients_go_up(char *dir)
{
	const char *home = clients_variable("HOME");
	char git[PATH_MAX + 8];
	char *slash = strrchr(dir, '/');

	snprintf(git, sizeof(git), "%s/.git", dir);
	if (access(git, F_OK) == 0 || slash == dir || (home && strcmp(home, dir) == 0))
		return false;
	*slash = '\0';
	return true;
}

/* Is dir inside a git work tree? If not, only the working directory is the project. */
static bool clients_is_below_git(const char *start)
{
	char dir[PATH_MAX], git[PATH_MAX + 8];

	snprintf(dir, sizeof(dir), "%s", start);
	do {
		snprintf(git, sizeof(git), "%s/.git", dir);
		if (access(git, F_OK) == 0)
			return true;
	} while (clients_go_up(dir));
	return false;
}

void clients_find(const char *only, struct client_files *out)
{
	char dir[PATH_MAX];
	bool tree;

	*out = (struct client_files){ .count = 0 };
	for (size_t i = 0; i < CLIENTS; i++)
		if (!only || strcmp(only, clients[i].name) == 0)
			clients_look(&clients[i], NULL, out);
	if (!getcwd(dir, sizeof(dir)) || *dir != '/')
		return;
	tree = clients_is_below_git(dir);
	do {
		for (size_t i = 0; i < CLIENTS; i++)
			if (!only || strcmp(only, clients[i].name) == 0)
				clients_look(&clients[i], dir, out);
	} while (tree && clients_go_up(dir));
}

void clients_done(struct client_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].path);
	mem_drop(&f->list);
	f->count = 0;
}
