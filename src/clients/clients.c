/* clients.c - see clients.h */
#include "clients.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"
#include "os/dirs.h"
#include "os/file.h"
#include "os/identity.h"

#define CODE_STORAGE(id_)                                                                          \
	"+/Code/User/globalStorage/" id_ " +/Code@-@Insiders/User/globalStorage/" id_              \
	" +/VSCodium/User/globalStorage/" id_

static const struct client clients[] = {
	{ "claude-code", "Claude Code", KEYS_MCP_SERVERS | KEYS_PROJECTS, false,
	  "~/.claude.json .mcp.json", "CLAUDE_CONFIG_DIR", "~", NULL },
	{ "claude-desktop", "Claude Desktop", KEYS_MCP_SERVERS, true,
	  "+/Claude/claude_desktop_config.json", NULL, NULL,
	  "+/Claude/claude_desktop_config.json "
	  "%/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json" },
	{ "codex", "Codex", KEYS_MCP_SERVERS_TOML, false, "~/.codex/config.toml .codex/config.toml",
	  "CODEX_HOME", "~/.codex", NULL },
	{ "vscode", "VS Code", KEYS_SERVERS, true,
	  "+/Code/User/mcp.json +/Code/User/profiles/*/mcp.json +/Code@-@Insiders/User/mcp.json "
	  "+/Code@-@Insiders/User/profiles/*/mcp.json +/VSCodium/User/mcp.json .vscode/mcp.json",
	  NULL, NULL, NULL },
	{ "copilot", "Copilot CLI", KEYS_MCP_SERVERS, false,
	  "~/.copilot/mcp-config.json .github/mcp.json", "COPILOT_HOME", "~/.copilot", NULL },
	{ "cursor", "Cursor", KEYS_MCP_SERVERS, true, "~/.cursor/mcp.json .cursor/mcp.json", NULL,
	  NULL, NULL },
	{ "windsurf", "Windsurf", KEYS_MCP_SERVERS, true,
	  "~/.codeium/windsurf/mcp_config.json ~/.codeium/mcp_config.json", NULL, NULL, NULL },
	{ "gemini", "Gemini CLI", KEYS_MCP_SERVERS, false,
	  "~/.gemini/settings.json .gemini/settings.json", NULL, NULL, NULL },
	{ "antigravity", "Antigravity", KEYS_MCP_SERVERS, true,
	  "~/.gemini/config/mcp_config.json ~/.gemini/antigravity/mcp_config.json", NULL, NULL,
	  NULL },
	{ "opencode", "opencode", KEYS_MCP, false,
	  "+/opencode/opencode.json +/opencode/opencode.jsonc +/opencode/config.json opencode.json "
	  "opencode.jsonc .opencode/opencode.json .opencode/opencode.jsonc",
	  "XDG_CONFIG_HOME", "~/.config",
	  "~/.config/opencode/opencode.json ~/.config/opencode/opencode.jsonc "
	  "~/.config/opencode/config.json opencode.json opencode.jsonc .opencode/opencode.json "
	  ".opencode/opencode.jsonc" },
	{ "goose", "goose", KEYS_EXTENSIONS, false, "+/goose/config.yaml", NULL, NULL,
	  "+/Block/goose/config/config.yaml" },
	{ "zed", "Zed", KEYS_CONTEXT_SERVERS, true, "+/zed/settings.json .zed/settings.json", NULL,
	  NULL, "+/Zed/settings.json .zed/settings.json" },
	{ "cline", "Cline", KEYS_MCP_SERVERS, true,
	  "~/.cline/data/settings/cline_mcp_settings.json " CODE_STORAGE(
		  "saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
	  NULL, NULL, NULL },
	{ "roo", "Roo Code", KEYS_MCP_SERVERS, true,
	  ".roo/mcp.json " CODE_STORAGE("rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
	  NULL, NULL, NULL },
	{ "kilo", "Kilo Code", KEYS_MCP_SERVERS, true,
	  ".kilocode/mcp.json " CODE_STORAGE("kilocode.kilo-code/settings/mcp_settings.json"), NULL,
	  NULL, NULL },
	{ "kiro", "Kiro", KEYS_MCP_SERVERS, true,
	  "~/.kiro/settings/mcp.json .kiro/settings/mcp.json", NULL, NULL, NULL },
	{ "continue", "Continue", KEYS_MCP_SERVERS, true,
	  "~/.continue/config.yaml ~/.continue/mcpServers/*.yaml ~/.continue/mcpServers/*.json "
	  ".continue/mcpServers/*.yaml .continue/mcpServers/*.json",
	  NULL, NULL, NULL },
	{ "lmstudio", "LM Studio", KEYS_MCP_SERVERS, true, "~/.lmstudio/mcp.json", NULL, NULL,
	  NULL },
	{ "junie", "Junie", KEYS_MCP_SERVERS, true, "~/.junie/mcp/mcp.json .junie/mcp/mcp.json",
	  NULL, NULL, NULL },
	{ "qwen", "Qwen Code", KEYS_MCP_SERVERS, false, "~/.qwen/settings.json .qwen/settings.json",
	  NULL, NULL, NULL },
	{ "amp", "Amp", KEYS_AMP, false, "+/amp/settings.json .amp/settings.json", NULL, NULL,
	  "~/.config/amp/settings.json .amp/settings.json" },
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

/* Is the path that of the pattern? A * is any part of a name that does not begin with a dot. */
static bool clients_matches(const char *path, const char *pattern)
{
	for (; *pattern && *pattern != '*'; path++, pattern++)
		if (*path != *pattern && !(*path == '\\' && *pattern == '/'))
			return false;
	if (!*pattern)
		return !*path;
	if (*path == '.')
		return false;
	for (size_t n = strcspn(path, "/\\") + 1; n-- > 0; path++)
		if (clients_matches(path, pattern + 1))
			return true;
	return false;
}

/* Does the path end with the names of the pattern? */
static bool clients_ends_with(const char *path, const char *pattern)
{
	for (;; path++) {
		if (clients_matches(path, pattern))
			return true;
		path += strcspn(path, "/\\");
		if (!*path)
			return false;
	}
}

static bool clients_has_file(const char *list, const char *path)
{
	char pattern[256];

	while (list && clients_next(&list, pattern, sizeof(pattern)))
		if (clients_ends_with(path, pattern + strspn(pattern, "~+%/")))
			return true;
	return false;
}

const struct client *clients_of_path(const char *path)
{
	for (size_t i = 0; i < CLIENTS; i++)
		if (clients_has_file(clients[i].files, path) ||
		    clients_has_file(clients[i].files_on_windows, path))
			return &clients[i];
	return NULL;
}

/* --- the paths of one client --- */

/* The directory that the first character of a pattern stands for, and what follows it; NULL: the
 * machine has no such directory. */
static const char *clients_start(const struct machine *m, char mark, const char **out_then)
{
	const char *config;

	*out_then = "";
	if (m->system == MACHINE_WINDOWS && mark != '~')
		return machine_directory(m, mark == '+' ? "APPDATA" : "LOCALAPPDATA");
	config = mark == '+' ? machine_directory(m, "XDG_CONFIG_HOME") : NULL;
	if (mark == '+' && !config)
		*out_then = "/.config";
	return config ? config : machine_home(m);
}

static bool clients_is_users(const char *pattern)
{
	return strchr("~+%", *pattern) != NULL;
}

/* Write each / of the path from `start` on as the separator. */
static void clients_separate(struct buf *path, size_t start, char separator)
{
	for (char *p = path->data + start; p < path->data + path->len; p++)
		if (*p == '/')
			*p = separator;
}

/* A pattern of the user's files with its beginning replaced. NULL: there is no such directory. */
static char *clients_user_path(const struct client *c, const struct machine *m, const char *pattern)
{
	const char *moved = machine_directory(m, c->home_var), *start, *then = "", *rest;
	size_t n = c->home_dir ? strlen(c->home_dir) : 0;
	AUTO(buf_done) struct buf path = BUF_INIT(BUF_ANY_SIZE);

	if (moved && n && strncmp(pattern, c->home_dir, n) == 0 && pattern[n] == '/') {
		start = moved;
		rest = pattern + n;
	} else {
		start = clients_start(m, *pattern, &then);
		rest = pattern + 1;
	}
	if (!start)
		return NULL;
	buf_adds(&path, start);
	n = path.len;
	buf_adds(&path, then);
	buf_adds(&path, rest);
	if (m->system == MACHINE_WINDOWS)
		clients_separate(&path, n, '\\');
	return buf_take(&path);
}

static char *clients_project_path(const char *project, const char *pattern)
{
	struct buf path = BUF_INIT(BUF_ANY_SIZE);
	size_t n;

	buf_addf(&path, "%s%c", project, PATH_SEPARATOR);
	n = path.len;
	buf_adds(&path, pattern);
	clients_separate(&path, n, PATH_SEPARATOR);
	return buf_take(&path);
}

static const char *clients_column(const struct client *c, const struct machine *m)
{
	return m->system == MACHINE_WINDOWS && c->files_on_windows ? c->files_on_windows : c->files;
}

char **clients_paths(const struct client *c, const struct machine *m)
{
	const char *list = clients_column(c, m);
	char pattern[256], **paths = NULL;

	while (clients_next(&list, pattern, sizeof(pattern))) {
		char *path = clients_is_users(pattern) ? clients_user_path(c, m, pattern)
						       : mem_dup(pattern);

		if (path)
			strings_add(&paths, path);
	}
	return paths;
}

/* --- files that exist --- */

static bool clients_have(const struct client_files *f, const char *path, const struct identity *id)
{
	for (size_t i = 0; i < f->count; i++) {
		struct identity other;

		if (strcmp(f->list[i].path, path) == 0 ||
		    (identity_of_path(f->list[i].path, &other) == 0 &&
		     identity_is_same(&other, id)))
			return true;
	}
	return false;
}

bool clients_is_home(const char *dir)
{
	const char *home = machine_home(&machine_here);
	struct identity a, b;

	return home && (strcmp(home, dir) == 0 ||
			(identity_of_path(home, &a) == 0 && identity_of_path(dir, &b) == 0 &&
			 identity_is_same(&a, &b)));
}

/* Add a file that exists and is not in the list yet. */
static void clients_add_file(const struct client *c, const char *path, bool project,
			     struct client_files *out)
{
	struct identity id;

	if (identity_of_path(path, &id) < 0 || !id.regular || clients_have(out, path, &id))
		return;
	out->list = mem_grow(out->list, out->count + 1, sizeof(*out->list));
	out->list[out->count++] =
		(struct client_file){ .client = c, .path = mem_dup(path), .project = project };
}

static int clients_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a directory that begin and end with these texts, sorted; a * is no leading dot. */
static char **clients_names_in(const char *dir, const char *begin, size_t begin_len,
			       const char *end, size_t end_len)
{
	char **all = file_names(dir), **names = NULL;

	for (char **name = all; name && *name; name++) {
		size_t len = strlen(*name);

		if (**name != '.' && len >= begin_len + end_len &&
		    strncmp(*name, begin, begin_len) == 0 &&
		    strncmp(*name + len - end_len, end, end_len) == 0)
			strings_add(&names, mem_dup(*name));
	}
	strings_free(all);
	if (names)
		qsort(names, strings_count(names), sizeof(*names), clients_by_name);
	return names;
}

/* Add the files for a path in which the name with the last * stands for any such name. (Directories
 * of the user before it may have a * that means itself.) */
static void clients_add_matches(const struct client *c, const char *path, bool project,
				struct client_files *out)
{
	const char *star = strrchr(path, '*'), *rest = star + 1 + strcspn(star + 1, "/\\");
	AUTO(mem_drop) char *before = mem_text(path, (size_t)(star - path));
	size_t dir_len = (size_t)(path_name(before, machine_paths(&machine_here)) - before);
	AUTO(mem_drop) char *dir = mem_text(path, dir_len);
	char **names = clients_names_in(dir, before + dir_len, strlen(before) - dir_len, star + 1,
					(size_t)(rest - star - 1));

	for (char **name = names; name && *name; name++) {
		AUTO(buf_done) struct buf found = BUF_INIT(BUF_ANY_SIZE);

		buf_addf(&found, "%s%s%s", dir, *name, rest);
		clients_add_file(c, found.data, project, out);
	}
	strings_free(names);
}

/* Add the files of one client in the home directory, or in the directory `project`. */
static void clients_look(const struct client *c, const char *project, struct client_files *out)
{
	const char *list = clients_column(c, &machine_here);
	size_t before = out->count;
	char pattern[256];

	while (clients_next(&list, pattern, sizeof(pattern))) {
		AUTO(mem_drop) char *path = NULL;
		bool user = clients_is_users(pattern);

		if (user && !project)
			path = clients_user_path(c, &machine_here, pattern);
		if (!user && project)
			path = clients_project_path(project, pattern);
		if (path && strchr(pattern, '*'))
			clients_add_matches(c, path, !user, out);
		else if (path)
			clients_add_file(c, path, !user, out);
	}
	if (project && before < out->count && clients_is_home(project))
		while (before < out->count)
			out->list[before++].in_home = true;
}

void clients_find_in(const char *dir, struct client_files *out)
{
	*out = (struct client_files){ .count = 0 };
	for (size_t i = 0; i < CLIENTS; i++)
		clients_look(&clients[i], dir, out);
}

/* Is this directory the top of a git work tree? */
static bool clients_has_git(const char *dir)
{
	AUTO(buf_done) struct buf git = BUF_INIT(BUF_ANY_SIZE);

	buf_addf(&git, "%s/.git", dir);
	return file_exists(git.data);
}

/* Go to the parent directory. Returns false at the top of the project. */
static bool clients_go_up(char *dir)
{
	const char *home = machine_home(&machine_here);

	return !clients_has_git(dir) && !(home && strcmp(home, dir) == 0) && path_go_up(dir);
}

/* Is dir inside a git work tree? If not, only the working directory is the project. */
static bool clients_is_below_git(const char *start)
{
	AUTO(mem_drop) char *dir = mem_dup(start);

	do
		if (clients_has_git(dir))
			return true;
	while (clients_go_up(dir));
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
	if (!dirs_current(dir, sizeof(dir)) || path_kind(dir) != machine_paths(&machine_here))
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
