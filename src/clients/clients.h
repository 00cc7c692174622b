/* clients.h - the MCP clients whose config files killick knows, and where the files are.
 *
 * One table: the name of a client, the files of the user and of a project, the variable that moves
 * them, and where in a file the servers are. Files of plugins and of administrators are not in the
 * table, because their owners write them again.
 *
 * Life: clients_find -> read the list -> clients_done. Threads: any.  Blocking: on the file system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "entry.h"

struct client {
	const char *name;  /* for --only and tables: "claude-code" */
	const char *title; /* "Claude Code" */
	unsigned keys;     /* enum entry_keys */
	bool desktop;      /* started by the desktop: its PATH is not the shell's */
	/* Patterns (glob) of paths, separated by spaces; @ is a space. ~ is the home directory, or
	 * the value of `home_var`; + is ~/.config, or XDG_CONFIG_HOME; else a path in the project.
	 */
	const char *files;
	const char *home_var; /* the variable that replaces `home_dir`; NULL: none */
	const char *home_dir; /* "~/.codex" */
};

struct client_file {
	const struct client *client; /* NULL: not known */
	char *path;
	bool project; /* in the working directory or above, not in the home directory */
};

struct client_files {
	struct client_file *list;
	size_t count;
};

/* The existing config files of this user and of the project in the working directory: that
 * directory and those above it, up to the one with .git. `only`: of this client; NULL: of all. */
void clients_find(const char *only, struct client_files *out);
void clients_done(struct client_files *f);

/* The client with this name; NULL if there is none. */
const struct client *clients_get(const char *name);
/* Client i of the table; NULL behind the last one. */
const struct client *clients_at(size_t i);
/* The client of a file that the user names, by its path; NULL: not known. */
const struct client *clients_of_path(const char *path);
/* All names, with ", " between them. */
void clients_names(char *out, size_t size);
/* The format of a file, by the end of its name; JSON when it says nothing. */
enum format clients_format(const char *path);
