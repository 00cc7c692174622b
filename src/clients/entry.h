/* entry.h - one MCP server in a config file: its command, and whether killick holds the server.
 *
 * Nine shapes of configs are known: a map of servers below mcpServers (most clients), servers (VS
 * Code), context_servers (Zed, with a command that is a string or an object), mcp and mcp.servers
 * (opencode 1 and 2, with the command and its arguments in one list), mcp_servers (Codex, TOML),
 * extensions (goose, YAML), and a list of servers below mcpServers (Continue, YAML); also
 * projects.*.mcpServers (local scope of Claude Code) and amp.mcpServers (Amp).
 *
 * Life: entries_find -> read the list -> entries_done. The nodes belong to the list; the text
 * belongs to the caller. Threads: any.  Blocking: looks for programs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "keeper/conceal.h"
#include "node.h"

enum format { FORMAT_JSON, FORMAT_TOML, FORMAT_YAML };

enum entry_keys { /* where the servers are in a file, as bits */
		  KEYS_MCP_SERVERS = 1,
		  KEYS_SERVERS = 2,
		  KEYS_CONTEXT_SERVERS = 4,
		  KEYS_MCP = 8,
		  KEYS_AMP = 16,
		  KEYS_PROJECTS = 32,
		  KEYS_MCP_SERVERS_TOML = 64,
		  KEYS_EXTENSIONS = 128,
		  KEYS_ANY = 255,
};

enum entry_state {
	ENTRY_BARE,     /* starts a program that killick does not hold */
	ENTRY_WRAPPED,  /* starts with `killick run`, or with `killick connect` and a command */
	ENTRY_REMOTE,   /* has an address and no program */
	ENTRY_DISABLED, /* killick does not hold the server, and the server is switched off */
	ENTRY_OTHER,    /* left alone; `why` says why */
};

struct entry {
	char *name;
	char *scope; /* the project of a server in the local scope of Claude Code; NULL: none */
	enum entry_keys shape; /* the key below which the server was found */
	struct node *server;   /* the whole value of the server */
	struct node *home;     /* the map with command and args: server, or its command (old Zed) */
	struct node *command;  /* a string, or the list of all words; NULL: none */
	struct node *args;     /* NULL: none */
	enum entry_state state;
	bool disabled;
	/* why the server is left alone (ENTRY_OTHER) or cannot be unwrapped (ENTRY_WRAPPED); valid
	 * as long as the list */
	const char *why;
	char *options_text; /* allocated text of `why`, if `why` names options; else NULL */
	bool hub;           /* ENTRY_WRAPPED: the verb is `connect`: the hub holds the server */
	bool lost; /* ENTRY_WRAPPED: its killick is not there, so the client cannot start it */
	/* ENTRY_WRAPPED: index of the first word of the server's own command; 0: the server cannot
	 * be unwrapped, because killick has options or the bytes cannot be moved */
	size_t inner;
	size_t verb;   /* ENTRY_WRAPPED with `inner`: index of the word `run` or `connect` */
	size_t behind; /* ENTRY_WRAPPED: index of the word behind `--`: a shell, or `inner` */
	/* ENTRY_WRAPPED with `inner` and `hub`: index of the value of this option; 0: none */
	size_t server_name, share, idle;
	unsigned line;
};

struct entries {
	struct entry *list;
	size_t count;
	struct node *root; /* for TOML and YAML; NULL: JSON */
};

/* Find the servers of a text. Returns 0, or -EBADMSG with *fault set and *out empty. */
int entries_find(const char *text, size_t len, enum format format, unsigned keys,
		 struct entries *out, struct fault *fault);
void entries_done(struct entries *e);

/* The number of words that the client executes: the command and its arguments. A word that is no
 * string counts, too. */
size_t entry_word_count(const struct entry *e);
struct node *entry_word(const struct entry *e, size_t i); /* NULL: i is too large */
/* Is member i of the server a key by which its client places the server, with a value that means
 * another machine, or a value that is not understood? Returns the name of the environment: the
 * value, or a word for a value that is no string; NULL: the member does not place the server
 * elsewhere. */
const char *entry_place(const struct entry *e, size_t i);
/* Does any member of the server, which is a map, place it elsewhere? */
bool entry_is_elsewhere(const struct entry *e);
/* Write the words on one line, for people; the words of killick itself are left out, and secrets
 * are hidden unless `secrets` is true. */
void entry_line(const struct entry *e, bool secrets, char *out, size_t size);
/* Add the next word of a command, with its secret hidden unless `secrets` is true. */
void entry_word_shown(struct conceal *c, const char *word, bool secrets, struct line *out);

/* Is the command one string of several words, such as "npx -y foo", and not the path of a program
 * with a space in its name? Some clients split such a string, others give it to a shell. The answer
 * does not depend on PATH, which is another one when a client runs: a string whose first word has
 * no slash is a line, and only for a path the files are asked. */
bool entry_is_one_string(const struct entry *e);
/* The same for a client on Windows, judged by the text alone: the program of such a line may have
 * an extension that the line does not name. */
bool entry_is_windows_line(const struct entry *e);
/* The words before a command that is one string: they start a shell, which splits the string, as
 * clients do, and appends the arguments. NULL ends the list. */
extern const char *const entry_shell[];
