/* entry.c - see entry.h */
#include "entry.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "json_tree.h"
#include "machine.h"
#include "toml_tree.h"
#include "yaml_tree.h"

/* Clients expand ${NAME} and $NAME. These words have neither, so they reach the shell unchanged. */
const char *const entry_shell[] = { "/bin/sh", "-fc", "eval \"$0\" '\"$@\"'", NULL };

bool entry_is_one_string(const struct entry *e)
{
	const char *text = node_string(e->command);
	size_t first;

	if (!text || !strpbrk(text, " \t"))
		return false;
	first = strcspn(text, " \t");
	if (strcspn(text, "/\\") > first) /* a name, or spaces in front of it */
		return text[strspn(text, " \t")] != '\0';
	if (machine_here.has_program(text))
		return false;
	return machine_has_program(&machine_here, text, first);
}

bool entry_is_windows_line(const struct entry *e)
{
	const char *text = node_string(e->command);

	return text && strcspn(text, " \t") < strcspn(text, "\\/");
}

size_t entry_word_count(const struct entry *e)
{
	if (!e->command)
		return 0;
	if (e->command->kind == NODE_LIST)
		return e->command->count;
	return 1 + (e->args ? e->args->count : 0);
}

struct node *entry_word(const struct entry *e, size_t i)
{
	if (i >= entry_word_count(e))
		return NULL;
	if (e->command->kind == NODE_LIST)
		return e->command->items[i];
	return i ? e->args->items[i - 1] : e->command;
}

void entry_word_shown(struct conceal *c, const char *word, bool secrets, struct line *out)
{
	struct conceal_part p = conceal_word(c, word);

	if (secrets)
		line_add(out, "%s", word);
	else if (strpbrk(word, " \t") && !p.len) /* perhaps several words in one string */
		conceal_text(out, word);
	else
		line_add(out, "%.*s%s%s", (int)p.at, word, p.len ? CONCEALED : "",
			 word + p.at + p.len);
}

void entry_line(const struct entry *e, bool secrets, char *out, size_t size)
{
	struct conceal c = { .before = NULL };
	size_t len = 0;

	*out = '\0';
	for (size_t i = e->state == ENTRY_WRAPPED ? e->inner : 0; i < entry_word_count(e); i++) {
		const struct node *word = entry_word(e, i);
		struct line l;

		if (!word->text || len + 2 >= size)
			continue;
		if (len)
			out[len++] = ' ';
		line_init(&l);
		entry_word_shown(&c, word->text, secrets, &l);
		text_clean(l.text, l.len, out + len, size - len);
		len += strlen(out + len);
	}
}

/* Is the word the program `name`, with or without a directory, and an extension of Windows? */
static bool entry_word_is(const struct entry *e, size_t i, const char *name)
{
	static const char *const extensions[] = { ".exe", ".cmd", ".bat" };
	const char *text = node_string(entry_word(e, i));
	size_t len = strlen(name);

	if (!text)
		return false;
	text = path_name(text, PATH_WINDOWS);
	if (strcmp(text, name) == 0)
		return true;
	for (size_t k = 0; k < sizeof(extensions) / sizeof(extensions[0]); k++)
		if (strncasecmp(text, name, len) == 0 && strcasecmp(text + len, extensions[k]) == 0)
			return true;
	return false;
}

/* The index of the word behind `cmd /c`, which configs for Windows have before programs that are
 * batch files; 0: the command is another program. */
static size_t entry_behind_cmd(const struct entry *e)
{
	const char *text = "/";

	if (!entry_word_is(e, 0, "cmd"))
		return 0;
	for (size_t i = 1; text && *text == '/'; i++) {
		text = node_string(entry_word(e, i));
		if (text && strcasecmp(text, "/c") == 0)
			return i + 1;
	}
	return 0;
}

/* Returns the index of the word behind `killick`; 0: the command is another program. */
static size_t entry_behind_killick(const struct entry *e)
{
	const char *text;
	size_t i = entry_behind_cmd(e);

	if (entry_word_is(e, i, "killick"))
		return i + 1;
	if (!entry_word_is(e, i, "npx") && !entry_word_is(e, i, "bunx"))
		return 0;
	i++;
	while (node_is(entry_word(e, i), "-y") || node_is(entry_word(e, i), "--yes"))
		i++;
	text = node_string(entry_word(e, i));
	if (text && strncmp(text, "killick", 7) == 0 && (!text[7] || text[7] == '@'))
		return i + 1;
	return 0;
}

/* Is the command a killick that is not there? A path of another system cannot be looked at. */
static bool entry_is_lost(const struct entry *e)
{
	const char *text = node_string(entry_word(e, 0));
	char found[PATH_MAX];

	if (!text || !entry_word_is(e, 0, "killick") || entry_is_elsewhere(e))
		return false;
	if (path_kind(text) == PATH_NATIVE)
		return !machine_here.has_program(text);
	return !strpbrk(text, "/\\") && !machine_find_killick(&machine_here, found, sizeof(found));
}

/* Is the command "killick run -- npx foo" in one string? */
static bool entry_is_wrapped_string(const struct entry *e)
{
	const char *text = node_string(entry_word(e, 0));
	size_t first = text ? strcspn(text, " ") : 0;
	bool hub = text && strncmp(text + first, " connect ", 9) == 0 && strstr(text, " -- ");

	return text && (hub || strncmp(text + first, " run ", 5) == 0) && first >= 7 &&
	       strncmp(text + first - 7, "killick", 7) == 0 &&
	       (first == 7 || text[first - 8] == '/');
}

/* Returns the index behind the words of entry_shell, if wrap put these words at index i; otherwise
 * i. */
static size_t entry_skip_shell(const struct entry *e, size_t i)
{
	size_t n = 0;

	while (entry_shell[n] && node_is(entry_word(e, i + n), entry_shell[n]))
		n++;
	return entry_shell[n] || !entry_word(e, i + n) ? i : i + n;
}

/* Returns why the map of a server cannot be edited, or NULL. In YAML other maps may take members
 * from this map, or this map takes members from other maps, and an edit would hide them. */
static const char *entry_map_obstacle(const struct entry *e)
{
	return e->server->fixed ? e->server->fixed : e->home->fixed;
}

/* Returns the index behind `--server NAME`, `--share WORD` and `--idle TIME`, the options that wrap
 * writes, and stores the indexes of their values. */
static size_t entry_skip_options(struct entry *e, size_t i)
{
	const struct {
		const char *name;
		size_t *value;
	} options[] = { { "--server", &e->server_name },
			{ "--share", &e->share },
			{ "--idle", &e->idle } };

	for (size_t k = 0; e->hub && k < sizeof(options) / sizeof(options[0]); k++) {
		if (!node_is(entry_word(e, i), options[k].name) ||
		    node_is(entry_word(e, i + 1), "--"))
			continue;
		*options[k].value = i + 1;
		i += 2;
	}
	return i;
}

/* Set `why` to a sentence that names the options between the verb and `--`. Their values are left
 * out, because they may be secret. wrap writes no such options, so unwrap would lose them. */
static void entry_name_options(struct entry *e, size_t from, size_t to)
{
	struct buf text = BUF_INIT(BUF_ANY_SIZE);
	const char *comma = "it has options of its own: ";

	for (; from < to; from++) {
		const char *word = node_string(entry_word(e, from));
		char clean[64];

		if (!word || *word != '-')
			continue;
		text_clean(word, strcspn(word, "="), clean, sizeof(clean));
		buf_adds(&text, comma);
		buf_adds(&text, clean);
		comma = ", ";
	}
	buf_adds(&text,
		 text.len ? "; edit it by hand" : "it has words of its own: edit it by hand");
	e->why = e->options_text = buf_take(&text);
}

/* Is the command `killick ...`? Then set the state, too. */
static bool entry_check_wrapped(struct entry *e)
{
	size_t i = entry_behind_killick(e), count = entry_word_count(e), options;

	if (!i && entry_is_wrapped_string(e)) {
		e->state = ENTRY_WRAPPED;
		e->why = "killick is in the same string as the command: edit it by hand";
		return true;
	}
	if (!i)
		return false;
	e->state = ENTRY_OTHER;
	e->why = "the command is killick itself";
	e->verb = i;
	e->hub = node_is(entry_word(e, i), "connect");
	if (!e->hub && !node_is(entry_word(e, i), "run"))
		return true;
	options = i = entry_skip_options(e, i + 1);
	while (i < count && !node_is(entry_word(e, i), "--"))
		i++;
	if (i + 1 >= count)
		return true;
	e->state = ENTRY_WRAPPED;
	e->lost = entry_is_lost(e);
	e->why = entry_map_obstacle(e);
	if (!e->why && entry_behind_cmd(e))
		e->why = "cmd starts killick: edit it by hand";
	if (i > options)
		entry_name_options(e, options, i);
	if (e->why)
		return true;
	e->behind = i + 1;
	i = entry_skip_shell(e, i + 1);
	if (!node_string(entry_word(e, i)) || entry_word(e, i)->fixed)
		e->why = "its own command cannot be moved back: edit it by hand";
	else
		e->inner = i;
	return true;
}

static bool entry_is_remote(const struct entry *e)
{
	static const char *const types[] = { "http", "sse",    "streamable-http", "streamable_http",
					     "ws",   "remote", "streamableHttp",  "websocket" };
	static const char *const addresses[] = { "url", "serverUrl", "httpUrl", "uri" };
	const struct node *type = node_get(e->server, "type");

	if (!type)
		type = node_get(e->server, "transport");
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (node_is(type, types[i]))
			return true;
	if (node_get(e->server, "command") || node_get(e->server, "cmd"))
		return false;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		if (node_string(node_get(e->server, addresses[i])))
			return true;
	return false;
}

/* The keys by which clients place a server. A server that is to run elsewhere must never run here
 * instead. The other clients of clients.c have no such key in their source or documentation
 * (November 2026; of Windsurf, Antigravity, LM Studio, Amp and Claude Desktop no schema was found):
 * their servers run where the client runs. Gemini CLI and Qwen Code prefer a URL to a command;
 * config_server.c refuses a server that has both.
 * Names that only look like a place are not in the table: `environment` of opencode has variables,
 * `host` is an address of a URL, `sandboxEnabled` of VS Code is a means of containment on this
 * machine. */
static const struct {
	const char *key;
	unsigned shapes;  /* enum entry_keys: where the key has this meaning */
	const char *flag; /* the key is true or false: what true means; NULL: the key has a name */
} entry_places[] = {
	/* Codex: the id of an environment in environments.toml; absent means "local" */
	{ "environment_id", KEYS_ANY, NULL },
	/* Codex: the older name of environment_id */
	{ "experimental_environment", KEYS_ANY, NULL },
	/* killick-config(5); users write it into the files of other clients, too */
	{ "environment", KEYS_ANY, NULL },
	/* Zed: run the server on the machine of a remote project, instead of this machine */
	{ "remote", KEYS_CONTEXT_SERVERS, "remote" },
};

const char *entry_place(const struct entry *e, size_t i)
{
	const struct node *n = e->server->items[i];
	size_t k = 0, count = sizeof(entry_places) / sizeof(entry_places[0]);

	while (k < count && !(n->name && strcmp(n->name, entry_places[k].key) == 0 &&
			      e->shape & entry_places[k].shapes))
		k++;
	if (k == count || n->kind == NODE_NULL || node_is(n, "local") || node_is_bool(n, false))
		return NULL;
	if (entry_places[k].flag)
		return entry_places[k].flag;
	if (strcmp(n->name, "environment") == 0 && n->kind == NODE_MAP)
		return NULL; /* variables */
	return node_string(n) ? node_string(n) : "?";
}

bool entry_is_elsewhere(const struct entry *e)
{
	for (size_t i = 0; i < e->server->count; i++)
		if (entry_place(e, i))
			return true;
	return false;
}

/* Find command and args. Returns the reason why the server is left alone, or NULL. */
static const char *entry_find_command(struct entry *e)
{
	struct node *type = node_get(e->server, "type");
	const char *name = node_get(e->server, "cmd") ? "cmd" : "command";
	bool stdio = !node_string(type) || node_is(type, "stdio") || node_is(type, "local");

	e->home = e->server;
	if (!stdio && e->shape == KEYS_EXTENSIONS) /* goose starts no command for other types */
		return "part of the client";
	e->command = node_get(e->server, name);
	if (e->command && e->command->kind == NODE_MAP) { /* the old form of Zed */
		e->home = e->command;
		name = "path";
		e->command = node_get(e->home, name);
	}
	e->args = node_get(e->home, "args");
	if (!e->command && !stdio)
		return "part of the client";
	if (!e->command)
		return "there is no command";
	if (node_times(e->home, name) > 1 || node_times(e->home, "args") > 1)
		return "a key is defined twice";
	if (e->command->kind == NODE_LIST && e->command->count == 0)
		return "the command is empty";
	if (e->command->kind != NODE_STRING && e->command->kind != NODE_LIST)
		return e->command->fixed ? "the command is an alias"
					 : "the command is not a string";
	if (e->command->kind == NODE_STRING && !*e->command->text)
		return "the command is empty";
	if (e->args && e->args->kind != NODE_LIST)
		return "args is not a list";
	if (e->command->kind == NODE_LIST && e->command->block)
		return "the command is a list without brackets";
	return NULL;
}

/* Returns why the bytes of the command cannot become an argument, or NULL. */
static const char *entry_obstacle(const struct entry *e)
{
	const char *why = entry_map_obstacle(e);

	if (why)
		return why;
	if (e->command->fixed)
		return e->command->fixed;
	if (e->args && e->args->fixed)
		return e->args->fixed;
	return entry_is_elsewhere(e) ? "the server runs on another machine" : NULL;
}

static void entry_judge(struct entry *e)
{
	e->disabled = node_is_bool(node_get(e->server, "disabled"), true) ||
		      node_is_bool(node_get(e->server, "enabled"), false);
	e->state = ENTRY_OTHER;
	if (e->server->kind != NODE_MAP) {
		e->why = e->server->fixed ? e->server->fixed : "the server is not an object";
		return;
	}
	if (entry_is_remote(e)) {
		e->state = ENTRY_REMOTE;
		return;
	}
	e->why = entry_find_command(e);
	if (e->why || entry_check_wrapped(e))
		return;
	e->why = entry_obstacle(e);
	if (!e->why)
		e->state = e->disabled ? ENTRY_DISABLED : ENTRY_BARE;
}

static void entries_add(struct entries *out, enum entry_keys shape, struct node *server,
			const char *name, const char *scope)
{
	struct entry *e;

	out->list = mem_grow(out->list, out->count + 1, sizeof(*out->list));
	e = &out->list[out->count++];
	*e = (struct entry){
		.shape = shape, .server = server, .name = mem_dup(name), .scope = mem_dup(scope)
	};
	entry_judge(e);
}

/* Add the members of an object of servers. */
static void entries_of_json(struct entries *out, enum entry_keys shape, const char *text,
			    struct json servers, const char *scope)
{
	struct json_iter it = json_iter(servers);

	while (it.object && json_each(&it)) {
		AUTO(mem_drop) char *name = NULL;

		if (json_string(it.key, &name))
			entries_add(out, shape, json_tree(text, it.value), name, scope);
	}
}

/* Add the servers below the key mcp. opencode has the servers directly in it, or below "servers".
 * Other clients use the key for other things, so a member counts only if it has a command or a
 * URL. */
static void entries_of_mcp(struct entries *out, const char *text, struct json mcp)
{
	struct json_iter it = json_iter(mcp);

	while (it.object && json_each(&it)) {
		AUTO(mem_drop) char *name = NULL;
		struct json v = it.value;

		if (json_is(it.key, "servers") && !json_get(v, "command").at &&
		    json_type(json_get(v, "type")) != JSON_STRING) {
			entries_of_json(out, KEYS_MCP, text, v, NULL);
		} else if (json_type(v) == JSON_OBJECT &&
			   (json_get(v, "command").at || json_get(v, "url").at) &&
			   json_string(it.key, &name)) {
			entries_add(out, KEYS_MCP, json_tree(text, v), name, NULL);
		}
	}
}

static void entries_of_projects(struct entries *out, const char *text, struct json projects)
{
	struct json_iter it = json_iter(projects);

	while (it.object && json_each(&it)) {
		AUTO(mem_drop) char *scope = NULL;
		struct json_iter members = json_iter(it.value);

		if (!json_string(it.key, &scope))
			continue;
		while (members.object && json_each(&members))
			if (json_is(members.key, "mcpServers"))
				entries_of_json(out, KEYS_PROJECTS, text, members.value, scope);
	}
}

static int entries_find_json(const char *text, size_t len, unsigned keys, struct entries *out,
			     struct fault *fault)
{
	static const struct {
		const char *key;
		enum entry_keys shape;
	} maps[] = { { "mcpServers", KEYS_MCP_SERVERS },
		     { "servers", KEYS_SERVERS },
		     { "context_servers", KEYS_CONTEXT_SERVERS },
		     { "amp.mcpServers", KEYS_AMP } };
	struct json_fault why;
	struct json root;
	struct json_iter it;
	int r = json_check(text, len, JSON_RELAXED, &root, &why);

	if (r < 0)
		return fault_set(fault, text, why.offset, "%s", why.reason);
	it = json_iter(root);
	while (it.object && json_each(&it)) {
		for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
			if (keys & maps[i].shape && json_is(it.key, maps[i].key))
				entries_of_json(out, maps[i].shape, text, it.value, NULL);
		if (keys & KEYS_MCP && json_is(it.key, "mcp"))
			entries_of_mcp(out, text, it.value);
		else if (keys & KEYS_PROJECTS && json_is(it.key, "projects"))
			entries_of_projects(out, text, it.value);
	}
	return 0;
}

/* Add the servers below a key of the root of TOML or YAML: a map, or a list of maps with names. */
static void entries_of_root(struct entries *out, enum entry_keys shape, const char *key)
{
	for (size_t i = 0; out->root->kind == NODE_MAP && i < out->root->count; i++) {
		struct node *servers = out->root->items[i];

		if (!servers->name || strcmp(servers->name, key) != 0)
			continue;
		for (size_t k = 0; k < servers->count; k++) {
			struct node *s = servers->items[k];
			const char *name = servers->kind == NODE_MAP
						   ? s->name
						   : node_string(node_get(s, "name"));

			entries_add(out, shape, s, name ? name : "?", NULL);
		}
	}
}

static void entries_set_lines(struct entries *out, const char *text)
{
	size_t at = 0;
	unsigned line = 1;

	for (size_t i = 0; i < out->count; i++) {
		struct entry *e = &out->list[i];
		size_t here = e->server->key.len ? e->server->key.at : e->server->span.at;

		if (here < at) { /* tables of TOML may be in any order */
			at = 0;
			line = 1;
		}
		line += fault_line(text + at, here - at) - 1;
		at = here;
		e->line = line;
	}
}

int entries_find(const char *text, size_t len, enum format format, unsigned keys,
		 struct entries *out, struct fault *fault)
{
	struct entries found = { .count = 0 };
	int r;

	*out = found;
	if (format == FORMAT_JSON)
		r = entries_find_json(text, len, keys, &found, fault);
	else if (format == FORMAT_TOML)
		r = toml_tree(text, len, &found.root, fault);
	else
		r = yaml_tree(text, len, &found.root, fault);
	if (r < 0)
		return r;
	if (found.root && keys & KEYS_MCP_SERVERS_TOML && format == FORMAT_TOML)
		entries_of_root(&found, KEYS_MCP_SERVERS_TOML, "mcp_servers");
	if (found.root && keys & KEYS_EXTENSIONS && format == FORMAT_YAML)
		entries_of_root(&found, KEYS_EXTENSIONS, "extensions");
	if (found.root && keys & KEYS_MCP_SERVERS && format == FORMAT_YAML)
		entries_of_root(&found, KEYS_MCP_SERVERS, "mcpServers");
	entries_set_lines(&found, text);
	*out = found;
	return 0;
}

void entries_done(struct entries *e)
{
	for (size_t i = 0; i < e->count; i++) {
		if (!e->root) /* otherwise the nodes belong to the root */
			node_free(e->list[i].server);
		free(e->list[i].name);
		free(e->list[i].scope);
		free(e->list[i].options_text);
	}
	mem_drop(&e->list);
	e->count = 0;
	node_drop(&e->root);
}
